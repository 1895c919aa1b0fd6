"""The laws of a window function: windows contain their elements, and merging is consistent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from headrace.sdk.testing.laws.law import LawBroken, Violation
from headrace.sdk.testing.laws.law_runner import Drawn, check_law, drawn_from
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.batch_oracle import merged_windows
from headrace.sdk.testing.strategies.arriving import offsets
from headrace.windowing.time.timestamps import (
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
)
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn, is_window

Dated: TypeAlias = tuple[Any, int]
"""An element and its timestamp in microseconds."""


def check_window_fn(
    window_fn: WindowFn,
    elements: Drawn = (None,),
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    cases: int = 100,
) -> None:
    """Check that a window function has the properties that every runner relies on.

    An element lies in its windows, also after they have merged; the same element always gets the same
    windows; merged windows do not merge again (merging is idempotent); the merged windows depend neither
    on the order of arrival nor on earlier merges.

    Args:
        window_fn: the window function.
        elements: the elements that it may use: some elements, or a Hypothesis strategy.
        unit: timestamps are small multiples of this, or differ from one by a microsecond; seconds,
            timedelta or Duration. A tenth of the length of a window is a good value.
        origin: the start of event time; seconds, datetime or Timestamp.
        cases: number of cases.

    Raises:
        LawBroken: a law does not hold; reports the smallest elements that were found.

    >>> from headrace.windowing.sessions import Sessions
    >>> check_window_fn(Sessions(10))
    """
    start = Timestamp.of(origin).micros
    instants = offsets(duration_micros(unit)).map(lambda apart: start + apart)
    dated = st.lists(st.tuples(drawn_from(elements), instants), min_size=1, max_size=6)

    def law(dated: Sequence[Dated]) -> None:
        for sentence, sides, remedy in _broken(window_fn, dated):
            given = [(element, Timestamp(micros=instant)) for element, instant in dated]
            raise LawBroken(sentence, f"{window_fn!r} and the elements {given!r}", sides, remedy)

    check_law(dated, law, cases)


def _broken(window_fn: WindowFn, dated: Sequence[Dated]) -> Iterator[Violation]:
    for element, instant in dated:
        yield from _badly_assigned(window_fn, element, instant)
    windows = [window for one in dated for window in _assigned(window_fn, *one)]
    targets = merged_windows(window_fn, windows)
    if not window_fn.is_merging():
        return
    for element, instant in dated:
        for window in _assigned(window_fn, element, instant):
            if not _holds(targets[window], instant):
                yield (
                    "an element lies in the window that its own window becomes",
                    {"element": (element, Timestamp(micros=instant)), "became": targets[window]},
                    "merge into windows that contain the elements of the merged windows",
                )
    yield from _badly_merged(window_fn, windows, targets)


def _badly_assigned(window_fn: WindowFn, element: object, instant: int) -> Iterator[Violation]:
    windows, again = (_assigned(window_fn, element, instant) for _ in range(2))
    if windows != again:
        yield (
            "the same element always gets the same windows",
            {"first call": windows, "second call": again},
            "make assign depend only on the element and its timestamp",
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
    targets: dict[BoundedWindow, BoundedWindow],
) -> Iterator[Violation]:
    merged = set(targets.values())
    again = merged_windows(window_fn, merged)
    if set(again.values()) != merged:
        yield (
            "merged windows do not merge again",
            {"merged": sorted(merged), "merged again": sorted(set(again.values()))},
            "merge all related windows at once, including windows that touch the merged one",
        )
    for n in range(1, len(windows)):
        first = merged_windows(window_fn, windows[:n])
        later = merged_windows(window_fn, [*first.values(), *windows[n:]])
        in_steps = {w: later[first.get(w, w)] for w in windows}
        if in_steps != {w: targets[w] for w in windows}:
            yield (
                "merged windows do not depend on earlier merges",
                {"merged in two steps": in_steps, "at once": targets},
                "make merge depend only on the windows, and treat merged windows like others",
            )


def _assigned(window_fn: WindowFn, element: object, instant: int) -> list[BoundedWindow]:
    return list(window_fn.assign(WindowFn.AssignContext(Timestamp(micros=instant), element)))


def _holds(window: BoundedWindow, instant: int) -> bool:
    return bool(window[0] <= instant < window[1])
