"""What is refused, word for word: what is wrong, and what to do."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from headrace.errors import HeadraceError
from headrace.windowing import (
    BoundedOutOfOrderness,
    BoundedWindow,
    CalendarWindows,
    Duration,
    FixedWindows,
    IntervalWindow,
    Monotonic,
    NonMergingWindowFn,
    Percentile,
    Sessions,
    Timestamp,
    WindowFn,
)
from headrace.windowing.merging import merges
from headrace.windowing.time.timestamps import duration_micros, micros, micros_of_all


@attrs.frozen
class Backwards(NonMergingWindowFn):
    """Assigns windows that end where they start."""

    def assign(self, context: Any) -> list[IntervalWindow]:
        return [IntervalWindow(7, 7)]


@attrs.frozen
class Merging(WindowFn):
    """Merges what it is told to."""

    told: tuple[tuple[tuple[int, ...], tuple[int, int]], ...]

    def assign(self, context: Any) -> list[IntervalWindow]:
        return []

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        for starts, (start, end) in self.told:
            merge_context.merge([seconds(n, n + 1) for n in starts], seconds(start, end))


def seconds(start: int, end: int) -> BoundedWindow:
    return IntervalWindow(start, end)


def merging(*told: Any) -> Any:
    """Let windows of the seconds 0, 1 and 2 be merged as is told."""
    return merges(Merging(told), [], [seconds(n, n + 1) for n in range(3)])


MERGES = "in merge(), pass each of context.windows at most once, with the window it becomes"

REFUSALS = [
    (
        lambda: merging(((0, 1), (2, 2))),
        "Merging(told=(((0, 1), (2, 2)),)) merged [[0.0, 1.0), [1.0, 2.0)] "
        "into [2.0, 2.0), which is not a window with start < end",
        MERGES,
    ),
    (
        lambda: merging(((0, 7), (0, 8))),
        "Merging(told=(((0, 7), (0, 8)),)) merged [[0.0, 1.0), [7.0, 8.0)] "
        "but some of these are not in context.windows",
        MERGES,
    ),
    (
        lambda: merging(((0, 1), (0, 2)), ((1, 2), (1, 3))),
        "Merging(told=(((0, 1), (0, 2)), ((1, 2), (1, 3)))) merged [[1.0, 2.0), [2.0, 3.0)] "
        "but had already merged some of these",
        MERGES,
    ),
    (
        lambda: micros("noon"),
        "the time 'noon' is not in ISO 8601 form, so it cannot be parsed",
        'write it like "2013-01-01T05:00:00Z"',
    ),
    (
        lambda: micros([1]),  # type: ignore[arg-type]
        "[1] is not a time",
        "use seconds since 1970, a datetime with a zone, an ISO 8601 string or a Timestamp",
    ),
    (
        lambda: micros(1e30),
        "the time 1e+30 is outside the range of a timestamp",
        "use seconds since 1970 (not milli- or microseconds)",
    ),
    (
        lambda: micros_of_all([0.0, 1e30]),
        "the time 1e+30 is outside the range of a timestamp",
        "use seconds since 1970 (not milli- or microseconds)",
    ),
    (
        lambda: Timestamp(float("nan")),
        "nan is not a number of seconds",
        "use a finite number",
    ),
    (
        lambda: micros("2013-01-01T05:00:00"),
        "the time 2013-01-01T05:00:00 has no time zone, so it does not identify an instant",
        'add a time zone: datetime(…, tzinfo=UTC) or ZoneInfo("…"), "…Z" in a string',
    ),
    (
        lambda: duration_micros("a"),  # type: ignore[arg-type]
        "'a' is not a duration",
        "use seconds, a timedelta or a Duration",
    ),
    (
        lambda: duration_micros(1e30),
        "the duration 1e+30 is too long",
        "use seconds (not milli- or microseconds)",
    ),
    (
        lambda: micros(Duration(1)),  # type: ignore[arg-type]
        "Duration(1) is not a time",
        "use seconds since 1970, a datetime with a zone, an ISO 8601 string or a Timestamp",
    ),
    (lambda: FixedWindows(0), "the duration 0 is not positive", "use more than 0 seconds"),
    (lambda: Sessions(-1), "the duration -1 is not positive", "use more than 0 seconds"),
    (
        lambda: BoundedOutOfOrderness(-1),
        "the delay Duration(-1) is negative",
        "use 0 seconds or more",
    ),
    (lambda: Monotonic(0), "the duration 0 is not positive", "use more than 0 seconds"),
    (
        lambda: Percentile(101),
        "101 is not a percentile",
        "use a percentage from 1 to 100, such as 95",
    ),
    (lambda: Percentile(95, memory=0), "memory is 0 elements", "use 1 or more"),
    (
        lambda: CalendarWindows.days(1, "UTC", "soon"),
        "'soon' is not a date",
        'write it like "2013-01-31"',
    ),
    (
        lambda: CalendarWindows.days(1, "Nowhere"),
        "unknown time zone 'Nowhere'",
        'use an IANA name such as "Europe/Paris"; pip install tzdata adds missing zones',
    ),
    (
        lambda: CalendarWindows.days(0),
        "0 is not a number of calendar units",
        "use a positive integer",
    ),
    (
        lambda: CalendarWindows.months(1, "UTC", "2013-01-31"),
        "windows of months cannot start on day 31, which some months do not have",
        "use a start day from 1 to 28",
    ),
    (
        lambda: Backwards().assign_column(["a"], [0], [()]),
        "Backwards() assigned [7.0, 7.0), which is not a window with start < end",
        "return windows such as IntervalWindow(start, end), with start < end",
    ),
]


@pytest.mark.parametrize(("make", "wrong", "remedy"), REFUSALS, ids=[row[1] for row in REFUSALS])
def test_what_is_refused(make: Any, wrong: str, remedy: str) -> None:
    with pytest.raises(HeadraceError) as refusal:
        make()
    said = str(refusal.value).splitlines()
    assert (said[0], said[-1]) == (wrong, f"  what to do: {remedy}")
