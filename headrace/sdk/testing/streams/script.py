"""Scripts: the events of a source, as plain data, for any runner.

Event time and processing time are in microseconds; processing time starts at 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from headrace.errors import PipelineError
from headrace.sdk.elements.row import Row
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.testing.streams.table_stream import TableStream
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, Duration, Timestamp
from headrace.windowing.time.units import SECOND
from headrace.windowing.timestamped_value import TimestampedValue

ScriptRow: TypeAlias = tuple[str | None, int, int, int]
"""Key, value, timestamp in microseconds, diff."""

ScriptEvent: TypeAlias = tuple[str, Any]
"""("elements", rows), ("watermark", microseconds) or ("clock", microseconds).

Rows can also be TimestampedValues of any values.
"""

Script: TypeAlias = Sequence[ScriptEvent]


ONE_KEY: Final = "all"
"""The key of all elements in steps with a single key."""

END_OF_DATES: Final = 250_000_000_000 * SECOND
"""A time in the year 9892: later ones stand for the end of time."""


def bursts(script: Script) -> list[Sequence[Any]]:
    """Return the rows of each event that has elements.

    >>> bursts([("elements", (("a", 1, 0, 1),)), ("watermark", 5)])
    [(('a', 1, 0, 1),)]
    """
    return [what for kind, what in script if kind == "elements"]


def rows_of(script: Script) -> list[Any]:
    """Return all rows in order of arrival."""
    return [row for burst in bursts(script) for row in burst]


def retracts(script: Script) -> bool:
    """Return whether a script has retractions, which a test stream does not support."""
    return any(isinstance(row, tuple) and row[3] < 0 for row in rows_of(script))


def stamped(row: ScriptRow | TimestampedValue[object]) -> TimestampedValue[Any]:
    """Return a row as an element: a pair with its timestamp.

    Raises:
        PipelineError: the row is a retraction; sources have no retractions.
    """
    if isinstance(row, TimestampedValue):
        return row
    key, value, timestamp, diff = row
    if diff != 1:
        raise PipelineError(
            f"the row {row!r} is a retraction, which a source cannot have",
            remedy="draw the script without retractions",
        )
    return TimestampedValue((key, value), Timestamp(micros=timestamp))


def stamped_row(row: ScriptRow) -> TimestampedValue[Row]:
    """Return a row of a script as an element with named fields, one of which is the same in all rows.

    >>> stamped_row(("a", 1, 2_000_000, 1))
    TimestampedValue(Row(key='a', value=1, all='all'), Timestamp(2))
    """
    (key, value), timestamp = stamped(row).value, Timestamp(micros=row[2])
    return TimestampedValue(Row(key=key, value=value, all=ONE_KEY), timestamp)


def stream(script: Script, columns: bool = False) -> TestStream:
    """Return a script as a test stream.

    Args:
        script: the script.
        columns: whether its elements are rows that reach the first steps as columns.

    >>> stream([("elements", (("a", 1, 2_000_000, 1),)), ("watermark", 5_000_000)])
    TestStream(stays_open=True).add_elements([TimestampedValue(('a', 1), 2)]).advance_watermark_to(5)
    """
    result = TableStream(stays_open=True) if columns else TestStream(stays_open=True)
    for kind, what in script:
        if kind == "elements":
            result = result.add_elements(map(stamped_row if columns else stamped, what))
        elif kind == "watermark":
            result = result.advance_watermark_to(Timestamp(micros=what))
        else:
            result = result.advance_processing_time_to(Duration(micros=what))
    return result


def ticking(script: Script, ticks: int = 0) -> tuple[ScriptEvent, ...]:
    """Return a script whose clock advances by one second before each event.

    A clock step of the script becomes one second, too. So all scripts with the same number of events have the
    same clock and can run side by side, and the clock identifies the event.

    Args:
        script: the script.
        ticks: minimum number of seconds by which the clock advances.

    >>> ticking([("watermark", 7), ("clock", 90_000_000)], ticks=3)
    (('clock', 1000000), ('watermark', 7), ('clock', 2000000), ('clock', 3000000))
    """
    return tuple(_ticks(script, ticks))


def _ticks(script: Script, ticks: int) -> Iterator[ScriptEvent]:
    for number, event in enumerate(script, start=1):
        yield "clock", number * SECOND
        if event[0] != "clock":
            yield event
    for number in range(len(script) + 1, ticks + 1):
        yield "clock", number * SECOND


def event_at(now: int) -> int:
    """Return the number, from 0, of the event of a ticking script at a processing time."""
    return now // SECOND - 1


def with_rows(script: Script, rows: Iterable[object]) -> tuple[ScriptEvent, ...]:
    """Return the script with its rows replaced."""
    remaining = iter(rows)
    return tuple(
        (kind, tuple(next(remaining) for _ in what) if kind == "elements" else what)
        for kind, what in script
    )


def ended(script: Script) -> tuple[ScriptEvent, ...]:
    """Return the script with a watermark at the end of time as its last event.

    >>> ended([("watermark", 5)])[1] == ("watermark", MAX_MICROS)
    True
    >>> ended(ended([])) == ended([])
    True
    """
    end = ("watermark", MAX_MICROS)
    return tuple(script) if end in script else (*script, end)


def punctual(script: Script, lateness: int = 0) -> tuple[ScriptEvent, ...]:
    """Return the script with a watermark that is delayed, so that elements are late by at most ``lateness``.

    Args:
        script: the script.
        lateness: how far an element may lie behind the watermark, in microseconds.

    >>> rows = ("a", 1, 9, 1), ("b", 2, 3, 1)
    >>> punctual([("elements", rows[:1]), ("watermark", 5), ("elements", rows[1:])])[1]
    ('watermark', 3)
    """
    events: list[ScriptEvent] = []
    reached = MIN_MICROS
    for n, (kind, what) in enumerate(script):
        if kind != "watermark":
            events.append((kind, what))
            continue
        to_come = min(map(_instant, rows_of(script[n:])), default=MAX_MICROS)
        limit = MAX_MICROS if to_come == MAX_MICROS else to_come + lateness
        if min(what, limit) > reached:
            reached = min(what, limit)
            events.append((kind, reached))
    return tuple(events)


def _instant(row: ScriptRow | TimestampedValue[object]) -> int:
    return row.micros if isinstance(row, TimestampedValue) else row[2]
