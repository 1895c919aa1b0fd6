"""The law of a window function: windows hold their elements, and merge alike whenever one looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from headrace.sdk.testing.batch_oracle import united
from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.law_runner import Drawn, drawn_from, try_each
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.strategies.arriving import offsets
from headrace.windowing.time import (
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
)
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn, is_window

Dated: TypeAlias = tuple[Any, int]
"""An element and its timestamp in microseconds."""

Sides: TypeAlias = tuple[str, dict[str, Any], str]
"""A law that is broken, what came out on both sides, and what to do."""


def check_window_fn(
    window_fn: WindowFn,
    elements: Drawn = (None,),
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    cases: int = 100,
) -> None:
    """Check that a window function does what every runner relies on.

    An element lies in its windows, also after they have merged; the same element gets the same windows
    again; windows that have merged do not merge once more (merging is idempotent); and what they become
    does not depend on the order in which they came, nor on what had merged before.

    Args:
        window_fn: the window function.
        elements: what it may look at: some elements, or a Hypothesis strategy that draws one.
        unit: timestamps are small whole numbers of these, or a microsecond beside one; seconds, timedelta
            or Duration. About a tenth of the length of a window is good.
        origin: where event time starts; seconds, datetime or Timestamp.
        cases: how many cases are tried.

    Raises:
        LawBroken: a law does not hold; with the smallest elements that were found.

    >>> from headrace.windowing.sessions import Sessions
    >>> check_window_fn(Sessions(10))
    """
    start = Timestamp.of(origin).micros
    instants = offsets(duration_micros(unit)).map(lambda apart: start + apart)
    dated = st.lists(st.tuples(drawn_from(elements), instants), min_size=1, max_size=6)

    def law(dated: Sequence[Dated]) -> None:
        for says, sides, remedy in _broken(window_fn, dated):
            given = [(element, Timestamp(micros=instant)) for element, instant in dated]
            raise LawBroken(says, f"{window_fn!r} and the elements {given!r}", sides, remedy)

    try_each(dated, law, cases)


def _broken(window_fn: WindowFn, dated: Sequence[Dated]) -> Iterator[Sides]:
    for element, instant in dated:
        yield from _badly_assigned(window_fn, element, instant)
    windows = [window for one in dated for window in _assigned(window_fn, *one)]
    become = united(window_fn, windows)
    if not window_fn.is_merging():
        return
    for element, instant in dated:
        for window in _assigned(window_fn, element, instant):
            if not _holds(become[window], instant):
                yield (
                    "an element lies in the window that its own has become",
                    {"element": (element, Timestamp(micros=instant)), "became": become[window]},
                    "merge into windows that hold the elements of what they are made of",
                )
    yield from _badly_merged(window_fn, windows, become)


def _badly_assigned(window_fn: WindowFn, element: Any, instant: int) -> Iterator[Sides]:
    windows, again = (_assigned(window_fn, element, instant) for _ in range(2))
    if windows != again:
        yield (
            "the same element gets the same windows again",
            {"at first": windows, "again": again},
            "let assign depend on nothing but the element and its timestamp",
        )
    for window in windows:
        if not is_window(window) or not _holds(window, instant):
            yield (
                "an element lies in its windows",
                {"timestamp": Timestamp(micros=instant), "window": window},
                "return windows with start <= timestamp < end",
            )


def _badly_merged(
    window_fn: WindowFn,
    windows: Sequence[BoundedWindow],
    become: dict[BoundedWindow, BoundedWindow],
) -> Iterator[Sides]:
    merged = set(become.values())
    again = united(window_fn, merged)
    if set(again.values()) != merged:
        yield (
            "windows that have merged do not merge once more",
            {"merged": sorted(merged), "merged once more": sorted(set(again.values()))},
            "merge all that belongs together at once, windows that touch the merged one included",
        )
    for n in range(1, len(windows)):
        first = united(window_fn, windows[:n])
        later = united(window_fn, [*first.values(), *windows[n:]])
        in_steps = {w: later[first.get(w, w)] for w in windows}
        if in_steps != {w: become[w] for w in windows}:
            yield (
                "what windows become does not depend on what has merged before",
                {"merged in two steps": in_steps, "at once": become},
                "let merge look at the windows alone, and treat a merged one like any other",
            )


def _assigned(window_fn: WindowFn, element: Any, instant: int) -> list[BoundedWindow]:
    return list(window_fn.assign(WindowFn.AssignContext(Timestamp(micros=instant), element)))


def _holds(window: BoundedWindow, instant: int) -> bool:
    return bool(window[0] <= instant < window[1])
