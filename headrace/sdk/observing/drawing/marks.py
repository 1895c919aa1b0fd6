"""The marks of a picture: boxes of windows, lines of panes, dots of elements and steps of the watermark.

All numbers are microseconds. The marks are clipped to the data, so that the global window, whose bounds are
the ends of time, is as wide as the elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

import attrs

from headrace.sdk.observing.history import SeenElement, SeenPane
from headrace.windowing.time.timestamps import END_OF_TIME_MICROS
from headrace.windowing.time.units import SECOND

Bounds = tuple[int, int]


PANE_KINDS: Final = {
    "EARLY": "early pane",
    "ON_TIME": "on-time pane",
    "LATE": "late pane",
    "UNKNOWN": "pane",
}
"""The kind of a line by the timing of its pane."""

RETRACTION: Final = "retraction"
ELEMENT: Final = "element"
LATE_ELEMENT: Final = "late element"
RETRACTED_ELEMENT: Final = "retracted element"


@attrs.frozen
class WindowBox:
    """A window from its first firing to its last one."""

    start: int
    end: int
    first: int
    last: int


@attrs.frozen
class Line:
    """A pane, or the retraction of one: a line across the box of its window."""

    start: int
    end: int
    now: int
    kind: str
    value: Any
    pane_index: int


@attrs.frozen
class Dot:
    """An element."""

    timestamp: int
    now: int
    kind: str
    value: Any


@attrs.frozen
class Marks:
    """The marks of a picture.

    Attributes:
        event_time: the range of the horizontal axis.
        processing_time: the range of the vertical axis.
        boxes: windows.
        lines: panes and retractions, in order of emission.
        dots: elements.
        watermark: the corners of a step line, as (event time, processing time).
        ideal: the ends of the line on which both times are equal; empty if it is outside of the picture.
    """

    event_time: Bounds
    processing_time: Bounds
    boxes: tuple[WindowBox, ...]
    lines: tuple[Line, ...]
    dots: tuple[Dot, ...]
    watermark: tuple[tuple[int, int], ...]
    ideal: tuple[tuple[int, int], ...]


def marks_of(
    elements: Iterable[SeenElement] = (),
    panes: Iterable[SeenPane] = (),
    watermarks: Sequence[tuple[int, int]] = (),
) -> Marks:
    """Return the marks of one key of a grouping.

    Args:
        elements: its elements.
        panes: its panes and retractions, in order of emission.
        watermarks: (processing time, watermark), in order.

    >>> from headrace.sdk.metrics.run_records import PaneRecord
    >>> pane = PaneRecord("k", 5, 59, 0, 60, "ON_TIME", 0, 1)
    >>> marks_of(panes=[SeenPane(70, pane)]).lines
    (Line(start=0, end=60, now=70, kind='on-time pane', value=5, pane_index=0),)
    """
    elements, panes = list(elements), list(panes)
    across = _range(_event_times(elements, panes) or [at for _, at in watermarks if _finite(at)])
    moments = [seen.now for seen in chain[SeenElement | SeenPane](elements, panes)]
    up = _range(moments or [now for now, _ in watermarks])
    up = up[0], up[1] + (up[1] - up[0]) // 20  # room for the value above the last line
    lines = tuple(_line(seen, across) for seen in panes)
    return Marks(
        event_time=across,
        processing_time=up,
        boxes=tuple(_boxes(lines, (up[1] - up[0]) // 16)),
        lines=lines,
        dots=tuple(map(_dot, elements)),
        watermark=tuple(_steps(watermarks, across, up)),
        ideal=_diagonal(across, up),
    )


def _finite(instant: int) -> bool:
    return abs(instant) < END_OF_TIME_MICROS


def _event_times(elements: Iterable[SeenElement], panes: Sequence[SeenPane]) -> list[int]:
    """Return the times that are in the picture; of unbounded windows only if there is nothing else."""
    times = [e.element.timestamp for e in elements]
    times += [bound for p in panes for bound in (p.pane.start, p.pane.end)]
    return [*filter(_finite, times)] or [*filter(_finite, (p.pane.timestamp for p in panes))]


def _range(times: Sequence[int]) -> Bounds:
    """Return a range with a margin around times."""
    first, last = min(times, default=0), max(times, default=0)
    margin = (last - first) // 40 or SECOND
    return first - margin, last + margin


def _clip(instant: int, bounds: Bounds) -> int:
    return min(max(instant, bounds[0]), bounds[1])


def _line(seen: SeenPane, across: Bounds) -> Line:
    pane = seen.pane
    kind = PANE_KINDS[pane.timing] if pane.diff > 0 else RETRACTION
    start, end = _clip(pane.start, across), _clip(pane.end, across)
    return Line(start, end, seen.now, kind, pane.value, pane.pane_index)


def _dot(seen: SeenElement) -> Dot:
    kind = LATE_ELEMENT if seen.late else ELEMENT
    element = seen.element
    return Dot(
        element.timestamp, seen.now, kind if element.diff > 0 else RETRACTED_ELEMENT, element.value
    )


def _boxes(lines: Iterable[Line], room: int) -> list[WindowBox]:
    """Return a box for each window, with room for a value above its last line."""
    fired: dict[Bounds, list[int]] = {}
    for line in lines:
        fired.setdefault((line.start, line.end), []).append(line.now)
    return [WindowBox(*window, min(times), max(times) + room) for window, times in fired.items()]


def _steps(watermarks: Sequence[tuple[int, int]], across: Bounds, up: Bounds) -> Iterator[Bounds]:
    """Yield the corners of the watermark: up while it waits, to the right when it advances."""
    before = [watermark for now, watermark in watermarks if now <= up[0]]
    inside = [(now, watermark) for now, watermark in watermarks if up[0] < now <= up[1]]
    at = _clip(max(before, default=across[0]), across)
    if watermarks:
        yield at, up[0]
    for now, watermark in inside:
        if _clip(watermark, across) > at:
            yield at, now
            at = _clip(watermark, across)
            yield at, now
    if watermarks and at < across[1]:
        yield at, up[1]


def _diagonal(across: Bounds, up: Bounds) -> tuple[Bounds, ...]:
    first, last = max(across[0], up[0]), min(across[1], up[1])
    return ((first, first), (last, last)) if first < last else ()


def thinned(marks: Marks, most: int) -> Marks:
    """Return marks with a limited number of dots, and with the lines of every n-th window only.

    >>> line = Line(0, 60, 70, "pane", 1, 0)
    >>> len(thinned(attrs.evolve(marks_of(), lines=(line,) * 50, dots=()), 10).lines)
    10
    """
    windows = sorted({(line.start, line.end) for line in marks.lines})
    kept = set(windows[:: _every(len(marks.lines), most)])
    lines = tuple(line for line in marks.lines if (line.start, line.end) in kept)
    return attrs.evolve(
        marks,
        boxes=tuple(box for box in marks.boxes if (box.start, box.end) in kept),
        lines=lines[:: _every(len(lines), most)],
        dots=marks.dots[:: _every(len(marks.dots), most)],
    )


def _every(number: int, most: int) -> int:
    return max(-(-number // most), 1)
