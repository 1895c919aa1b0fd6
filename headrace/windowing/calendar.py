"""Calendar windows: days, weeks, months and years in a time zone.

A window starts at midnight in its zone, so a day has 23 or 25 hours when clocks change. There are
no gaps between windows: if midnight occurs twice, the day starts at the first one; if clocks skip
midnight, the day starts at the jump.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from headrace.errors import TimeError, shorten
from headrace.windowing.column import Column
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, micros
from headrace.windowing.window import BoundedWindow, IntervalWindow, interval
from headrace.windowing.window_fn import NonMergingWindowFn, WindowFn, Windows

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

Start: TypeAlias = date | str

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = micros("0002-01-01T00:00:00Z")
_LAST: Final = micros("9998-01-01T00:00:00Z")


def _date(start: Start) -> date:
    if isinstance(start, date):
        return date(start.year, start.month, start.day)  # a datetime is a date, too
    try:
        return date.fromisoformat(start)
    except (TypeError, ValueError):
        raise TimeError(
            f"{shorten(start)} is not a date", remedy='write it like "2013-01-31"'
        ) from None


def _zone_exists(window_fn: object, attribute: object, timezone: str) -> None:
    try:
        _zone(timezone)
    except (KeyError, ValueError, OSError, TypeError):
        raise TimeError(
            f"unknown time zone {shorten(timezone)}",
            remedy='use an IANA name such as "Europe/Paris"; pip install tzdata adds missing zones',
        ) from None


def _at_least_one(window_fn: object, attribute: object, number: int) -> None:
    if not isinstance(number, int) or number < 1:
        raise TimeError(
            f"{shorten(number)} is not a number of calendar units",
            remedy="use a positive integer",
        )


@attrs.frozen
class CalendarWindows(NonMergingWindowFn):
    """Windows of N days, weeks, months or years in a time zone (as Beam Java's).

    Create them with :meth:`days`, :meth:`weeks`, :meth:`months` and :meth:`years`. All time before
    the year 2 is one window, and so is all time after the year 9997.

    Attributes:
        unit: "days" or "months".
        number: number of units in a window.
        timezone: an IANA zone, such as "America/New_York".
        start: a date on which a window starts; other windows are counted from it, in both directions.

    Raises:
        TimeError: the number is not positive, the zone is unknown, or some months do not have the
            day on which windows start.

    >>> new_york = CalendarWindows.days(1, "America/New_York")
    >>> [day] = new_york.assign(WindowFn.AssignContext("2013-03-10T12:00:00-04:00"))
    >>> day.start.to_rfc3339(), day.end.to_rfc3339()  # clocks go forward: 23 hours
    ('2013-03-10T05:00:00Z', '2013-03-11T04:00:00Z')
    """

    unit: Literal["days", "months"]
    number: int = attrs.field(validator=_at_least_one)
    timezone: str = attrs.field(validator=_zone_exists)
    start: date = attrs.field(converter=_date)

    @start.validator
    def _is_in_every_month(self, attribute: object, start: date) -> None:
        if self.unit == "months" and start.day > 28:
            raise TimeError(
                f"windows of months cannot start on day {start.day}, which some months do not have",
                remedy="use a start day from 1 to 28",
            )

    @staticmethod
    def days(
        number: int = 1, timezone: str = "UTC", start: Start = "1970-01-01"
    ) -> CalendarWindows:
        """Return windows of ``number`` days.

        >>> CalendarWindows.days(7, "Europe/Paris").number
        7
        """
        return CalendarWindows("days", number, timezone, start)

    @staticmethod
    def weeks(
        number: int = 1, timezone: str = "UTC", start: Start = "1970-01-05"
    ) -> CalendarWindows:
        """Return windows of ``number`` weeks, which start on Monday by default.

        >>> CalendarWindows.weeks() == CalendarWindows.days(7, start="1970-01-05")
        True
        """
        return CalendarWindows("days", 7 * number, timezone, start)

    @staticmethod
    def months(
        number: int = 1, timezone: str = "UTC", start: Start = "1970-01-01"
    ) -> CalendarWindows:
        """Return windows of ``number`` months.

        >>> CalendarWindows.months(3, start="2013-02-15").start.day
        15
        """
        return CalendarWindows("months", number, timezone, start)

    @staticmethod
    def years(
        number: int = 1, timezone: str = "UTC", start: Start = "1970-01-01"
    ) -> CalendarWindows:
        """Return windows of ``number`` years.

        >>> CalendarWindows.years() == CalendarWindows.months(12)
        True
        """
        return CalendarWindows("months", 12 * number, timezone, start)

    @property
    def single(self) -> bool:
        """Whether every element lies in exactly one window: always."""
        return True

    def assign(self, context: WindowFn.AssignContext) -> Sequence[BoundedWindow]:
        """Return the window around the element's timestamp."""
        return [self._at(context.timestamp.micros)]

    def windows_of(
        self, values: list[Any], timestamps: Column[int], windows: Column[Windows]
    ) -> Column[Windows]:
        """Return the window around each timestamp."""
        if isinstance(timestamps, repeat):
            return repeat((self._at(next(timestamps)),))
        return _by_neighbour(timestamps, self._at)

    def _at(self, instant: int) -> IntervalWindow:
        """Return the window around an instant; the first and the last one reach the ends of time."""
        instant = min(instant, MAX_MICROS - 1)
        inside = min(max(instant, _FIRST), _LAST)
        start, end = self._around(inside)
        if instant < start:
            return interval(MIN_MICROS, start)
        return interval(start, end) if instant < end else interval(end, MAX_MICROS)

    def _around(self, instant: int) -> tuple[int, int]:
        index = self._index_of(_local(instant, _zone(self.timezone)).date())
        # If clocks go back over midnight, they show the previous day again.
        if _bound(self, index + 1) <= instant:
            index += 1
        return _bound(self, index), _bound(self, index + 1)

    def _index_of(self, day: date) -> int:
        """Return the index of the window that contains a day; the one at ``start`` has index 0."""
        start = self.start
        if self.unit == "days":
            return (day - start).days // self.number
        months = 12 * (day.year - start.year) + day.month - start.month - (day.day < start.day)
        return months // self.number

    def _first_day(self, index: int) -> date:
        """Return the day on which the window of an index starts."""
        start = self.start
        if self.unit == "days":
            return start + timedelta(days=index * self.number)
        year, month = divmod(12 * start.year + start.month - 1 + index * self.number, 12)
        return date(year, month + 1, start.day)


@lru_cache(maxsize=4096)
def _bound(window_fn: CalendarWindows, index: int) -> int:
    """Return the instant at which a window starts; outside the calendar it is MIN or MAX."""
    try:
        return _midnight(window_fn._first_day(index), _zone(window_fn.timezone))
    except (OverflowError, ValueError):
        return MIN_MICROS if index < 0 else MAX_MICROS


def _zone(name: str) -> ZoneInfo:
    """Return a time zone; zoneinfo is imported here because it is slow and few programs need it."""
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _midnight(day: date, zone: ZoneInfo) -> int:
    """Return the first instant of a day."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    later = midnight.replace(fold=1)
    first, second = micros(midnight), micros(later)
    if first <= second:
        return first
    # Clocks skip midnight: find the jump, which is the first instant with the new offset.
    after = later.utcoffset()
    instants = range(second, first)
    return second + bisect_left(instants, True, key=lambda t: _local(t, zone).utcoffset() == after)


def _local(instant: int, zone: ZoneInfo) -> datetime:
    return (_EPOCH + timedelta(microseconds=instant)).astimezone(zone)


def _by_neighbour(
    timestamps: list[int], window_at: Callable[[int], IntervalWindow]
) -> list[Windows]:
    """Find the window of each timestamp; try the window of the previous timestamp first."""
    known: list[Windows] = []
    result: list[Windows] = []
    start = end = MIN_MICROS
    for instant in timestamps:
        if not start <= instant < end:
            windows = _find_or_add(known, instant, window_at)
            start, end = windows[0]
        result.append(windows)
    return result


def _find_or_add(
    known: list[Windows], instant: int, window_at: Callable[[int], IntervalWindow]
) -> Windows:
    """Find the window around an instant in a sorted list of known windows; add it if missing."""
    instant = min(instant, MAX_MICROS - 1)
    position = bisect_right(known, ((instant, MAX_MICROS),))
    if position and instant < known[position - 1][0][1]:
        return known[position - 1]
    known.insert(position, (window_at(instant),))
    return known[position]
