"""Stretches of a long picture: as many windows in a row as one can look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from headrace.sdk.observing.history import SeenElement, SeenPane
from headrace.windowing.time.timestamps import END_OF_TIME_MICROS

WINDOWS: Final = 24
MOMENTS: Final = 5
"""The minimum number of windows of a stretch, and of moments of processing time with panes."""

PANES_OF_STRETCH: Final = 160
"""The maximum number of panes and retractions of a stretch."""

ALL_WINDOWS: Final = ""
FIRST_WINDOWS: Final = "first windows"
BUSIEST_WINDOWS: Final = "windows with most firings"
LAST_WINDOWS: Final = "last windows"


@attrs.frozen
class Stretch:
    """Some windows in a row.

    Attributes:
        name: which windows they are; empty for all.
        panes: their panes, in order of emission.
        elements: the elements with event times in them.
    """

    name: str
    panes: tuple[SeenPane, ...]
    elements: tuple[SeenElement, ...]


def stretches(elements: Iterable[SeenElement], panes: Iterable[SeenPane]) -> list[Stretch]:
    """Return the windows with most firings, the first and the last ones; or all, if they are few."""
    elements, panes = list(elements), list(panes)
    windows = sorted(by_window := _by_window(panes))
    whole = Stretch(ALL_WINDOWS, tuple(panes), tuple(elements))
    if len(windows) <= 2 * WINDOWS:
        return [whole]
    chosen = {
        BUSIEST_WINDOWS: _busiest(windows, by_window),
        FIRST_WINDOWS: _enough(windows, by_window),
        LAST_WINDOWS: _enough(windows[::-1], by_window),
    }
    return [_stretch(name, some, elements, panes) for name, some in chosen.items()]


Window = tuple[int, int]


def _by_window(panes: Iterable[SeenPane]) -> dict[Window, list[SeenPane]]:
    found: dict[Window, list[SeenPane]] = {}
    for seen in panes:
        found.setdefault((seen.pane.start, seen.pane.end), []).append(seen)
    return found


def _enough(windows: Sequence[Window], by_window: dict[Window, list[SeenPane]]) -> list[Window]:
    return list(_until_enough(windows, by_window))


def _busiest(windows: Sequence[Window], by_window: dict[Window, list[SeenPane]]) -> list[Window]:
    """Return windows with panes at many moments, or else with many panes; of equals, those in the middle."""

    def rank(start: int) -> tuple[int, int, int]:
        some = [
            seen for window in _enough(windows[start:], by_window) for seen in by_window[window]
        ]
        moments = len({seen.now for seen in some})
        return min(moments, MOMENTS), len(some), -abs(start - len(windows) // 2)

    return _enough(windows[max(range(0, len(windows), WINDOWS // 2), key=rank) :], by_window)


def _until_enough(
    windows: Sequence[Window], by_window: dict[Window, list[SeenPane]]
) -> Iterator[Window]:
    moments: set[int] = set()
    lines = 0
    for number, window in enumerate(windows):
        lines += len(by_window[window])
        enough = number >= WINDOWS and len(moments) >= MOMENTS
        if number and (enough or lines > PANES_OF_STRETCH or _is_far(window, windows[:number])):
            return
        moments |= {seen.now for seen in by_window[window]}
        yield window


def _is_far(window: Window, before: Sequence[Window]) -> bool:
    """Return whether the gap before a window is longer than all windows before it together."""
    start, end = min(one[0] for one in before), max(one[1] for one in before)
    return max(window[0] - end, start - window[1]) > end - start


def _stretch(
    name: str, windows: Sequence[Window], elements: Sequence[SeenElement], panes: Sequence[SeenPane]
) -> Stretch:
    chosen = frozenset(windows)
    start = min(window[0] for window in windows)
    end = max((window[1] for window in windows if window[1] < END_OF_TIME_MICROS), default=start)
    return Stretch(
        name,
        tuple(p for p in panes if (p.pane.start, p.pane.end) in chosen),
        tuple(e for e in elements if start <= e.element.timestamp < end),
    )
