"""Scripts as plain data: what arrives when, to be played on any runner.

Event time and the clock are in microseconds throughout; the clock starts at 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from headrace.errors import PipelineError
from headrace.sdk.io.test_stream import TestStream
from headrace.windowing.time import MAX_MICROS, MIN_MICROS, Duration, Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

Row: TypeAlias = tuple[str, int, int, int]
"""Key, value, timestamp in microseconds, diff."""

Event: TypeAlias = tuple[str, Any]
"""("elements", rows), ("watermark", microseconds) or ("clock", microseconds).

In place of rows there may be TimestampedValues of any kind.
"""

Script: TypeAlias = Sequence[Event]

SECOND: Final = 1_000_000


def bursts(script: Script) -> list[Sequence[Any]]:
    """Return the rows that arrive together, burst by burst.

    >>> bursts([("elements", (("a", 1, 0, 1),)), ("watermark", 5)])
    [(('a', 1, 0, 1),)]
    """
    return [what for kind, what in script if kind == "elements"]


def rows_of(script: Script) -> list[Any]:
    """Return all rows in order of arrival."""
    return [row for burst in bursts(script) for row in burst]


def retracts(script: Script) -> bool:
    """Tell whether a script holds retractions, which no test stream does."""
    return any(isinstance(row, tuple) and row[3] < 0 for row in rows_of(script))


def stamped(row: Row | TimestampedValue[Any]) -> TimestampedValue[Any]:
    """Return a row as an element: a pair with its timestamp.

    Raises:
        PipelineError: the row is a retraction; pipelines begin with values.
    """
    if isinstance(row, TimestampedValue):
        return row
    key, value, timestamp, diff = row
    if diff != 1:
        raise PipelineError(
            f"the row {row!r} is a retraction, and a pipeline begins with values",
            remedy="draw the script without retractions",
        )
    return TimestampedValue((key, value), Timestamp(micros=timestamp))


def stream(script: Script) -> TestStream:
    """Return a script as a test stream.

    >>> stream([("elements", (("a", 1, 2_000_000, 1),)), ("watermark", 5_000_000)])
    TestStream().add_elements([TimestampedValue(('a', 1), 2)]).advance_watermark_to(5)
    """
    said = TestStream()
    for kind, what in script:
        if kind == "elements":
            said = said.add_elements(map(stamped, what))
        elif kind == "watermark":
            said = said.advance_watermark_to(Timestamp(micros=what))
        else:
            said = said.advance_processing_time_to(Duration(micros=what))
    return said


def ticking(script: Script, ticks: int = 0) -> tuple[Event, ...]:
    """Return a script whose clock goes by a second before each event, and tells its number.

    A step of the clock is a second like any other. So all scripts with as many events have the same
    clock, and can be played side by side.

    Args:
        script: the script.
        ticks: the clock goes on to so many seconds at least.

    >>> ticking([("watermark", 7), ("clock", 90_000_000)], ticks=3)
    (('clock', 1000000), ('watermark', 7), ('clock', 2000000), ('clock', 3000000))
    """
    return tuple(_ticks(script, ticks))


def _ticks(script: Script, ticks: int) -> Iterator[Event]:
    for number, event in enumerate(script, start=1):
        yield "clock", number * SECOND
        if event[0] != "clock":
            yield event
    for number in range(len(script) + 1, ticks + 1):
        yield "clock", number * SECOND


def event_at(now: int) -> int:
    """Return the number of the event of a ticking script, from 0, in which it was so late."""
    return now // SECOND - 1


def with_rows(script: Script, rows: Iterable[Any]) -> tuple[Event, ...]:
    """Return the script with other rows in its bursts."""
    left = iter(rows)
    return tuple(
        (kind, tuple(next(left) for _ in what) if kind == "elements" else what)
        for kind, what in script
    )


def ended(script: Script) -> tuple[Event, ...]:
    """Return the script with the watermark at the end of time when all has come.

    >>> ended([("watermark", 5)])[1] == ("watermark", MAX_MICROS)
    True
    >>> ended(ended([])) == ended([])
    True
    """
    end = ("watermark", MAX_MICROS)
    return tuple(script) if end in script else (*script, end)


def punctual(script: Script, lateness: int = 0) -> tuple[Event, ...]:
    """Return the script with a watermark that waits, so that no element is later than that.

    Args:
        script: the script.
        lateness: how far an element may lie behind the watermark, in microseconds.

    >>> rows = ("a", 1, 9, 1), ("b", 2, 3, 1)
    >>> punctual([("elements", rows[:1]), ("watermark", 5), ("elements", rows[1:])])[1]
    ('watermark', 3)
    """
    events: list[Event] = []
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


def _instant(row: Row | TimestampedValue[Any]) -> int:
    return row.micros if isinstance(row, TimestampedValue) else row[2]
