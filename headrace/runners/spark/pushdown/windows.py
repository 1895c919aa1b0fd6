"""Windows as columns of Spark's plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from pyspark.sql import DataFrame

from headrace.runners.spark.pushdown.frames import TIME
from headrace.runners.spark.pushdown.panes import WINDOW_END, WINDOW_START
from headrace.runners.spark.pushdown.stays import StaysInPython, require
from headrace.windowing.sessions import Sessions
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

COUNT_OF_ROWS: Final = "count(1)"
"""The aggregate that counts rows."""


class Windowed(NamedTuple):
    """Rows in windows, and expressions of SQL.

    Attributes:
        frame: a row for each window of an element.
        by: the columns of the windows, to group by.
        bounds: the columns of their bounds in microseconds, after that.
        elements: the aggregate that counts the elements; one in several windows counts in the latest.
    """

    frame: DataFrame
    by: list[str]
    bounds: list[str]
    elements: str


def windowed(window_fn: WindowFn, frame: DataFrame) -> Windowed:
    """Return rows in windows.

    Args:
        window_fn: assigns the windows.
        frame: the rows, with their timestamps.

    Raises:
        StaysInPython: Spark's plan has no such windows.
    """
    if isinstance(window_fn, GlobalWindows):
        return Windowed(frame, [], [], COUNT_OF_ROWS)
    require(TIME in frame.columns, "all elements are at the start of time")
    if isinstance(window_fn, FixedWindows):
        size = window_fn.size.micros
        at = f"{_start(window_fn.offset.micros, size)} AS {WINDOW_START}"
        return Windowed(frame, [at], _bounds(size), COUNT_OF_ROWS)
    if isinstance(window_fn, SlidingWindows) and window_fn.size >= window_fn.period:
        starts = f"explode(array_compact(array({', '.join(_starts(window_fn))}))) AS {WINDOW_START}"
        latest = f"count_if({WINDOW_START} > {TIME} - {window_fn.period.micros}L)"
        bounds = _bounds(window_fn.size.micros)
        return Windowed(frame.selectExpr("*", starts), [WINDOW_START], bounds, latest)
    if isinstance(window_fn, Sessions) and (window_fn.fixed_gap or 0) > 1:
        return _in_sessions(frame, window_fn.fixed_gap or 0)
    raise StaysInPython(f"Spark has no windows {window_fn!r}")


def _bounds(size: int) -> list[str]:
    """Return the bounds of windows of a size."""
    return [WINDOW_START, f"{WINDOW_START} + {size}L AS {WINDOW_END}"]


def _start(offset: int, step: int) -> str:
    """Return the last instant of a grid that is not after the time."""
    return f"({TIME} - pmod({TIME} - {offset}L, {step}L))"


def _starts(window_fn: SlidingWindows) -> Iterator[str]:
    """Yield the starts of the windows of a time, the latest first; null for one that ends before it."""
    size, period = window_fn.size.micros, window_fn.period.micros
    last = _start(window_fn.offset.micros, period)
    for back in range(0, size, period):
        start = f"{last} - {back}L"
        yield f"CASE WHEN {start} > {TIME} - {size}L THEN {start} END"


def _in_sessions(frame: DataFrame, gap: int) -> Windowed:
    # Elements that are exactly one gap apart are two sessions, and in Spark one.
    session = (
        f"session_window(timestamp_micros({TIME}), '{gap - 1} microseconds') AS {WINDOW_START}"
    )
    start, end = (f"unix_micros({WINDOW_START}.{name})" for name in ("start", "end"))
    bounds = [f"{start} AS {WINDOW_START}", f"{end} + 1L AS {WINDOW_END}"]
    return Windowed(frame, [session], bounds, COUNT_OF_ROWS)
