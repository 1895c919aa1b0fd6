"""Calendar windows: as clocks on the wall show them, across every change of the clocks."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise, repeat
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from headrace.errors import TimeError
from headrace.windowing.calendar import CalendarWindows
from headrace.windowing.column import uniform
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, Timestamp, micros
from headrace.windowing.window import BoundedWindow, IntervalWindow
from headrace.windowing.window_fn import WindowFn, fact
from headrace.windowing.windows import FixedWindows
from tests.unit.windowing.times import DAY, holds, instants, windows_at

HOUR = 3_600 * 10**6
NEW_YORK = "America/New_York"

zones = st.sampled_from(
    [
        "UTC",
        NEW_YORK,
        "Europe/Paris",
        "Australia/Lord_Howe",  # changes by half an hour
        "America/Sao_Paulo",  # changed at midnight
        "America/St_Johns",  # changed at a minute past midnight
        "Pacific/Apia",  # left out a day
        "Asia/Kathmandu",
    ]
)
starts = st.dates(date(1900, 1, 1), date(2030, 1, 1)).map(
    lambda day: day.replace(day=day.day % 28 + 1)
)
calendars = st.builds(
    lambda make, number, zone, start: make(number, zone, start),
    st.sampled_from(
        [
            CalendarWindows.days,
            CalendarWindows.weeks,
            CalendarWindows.months,
            CalendarWindows.years,
        ]
    ),
    st.integers(1, 5),
    zones,
    starts,
)
modern = st.integers(micros("1900-01-01T00:00:00Z"), micros("2037-01-01T00:00:00Z"))
everywhere = modern | instants


def window_at(window_fn: CalendarWindows, moment: str | int) -> BoundedWindow:
    instant = moment if isinstance(moment, int) else micros(moment)
    (window,) = windows_at(window_fn, instant)
    assert holds(window, instant)
    return window


def spelled(window: BoundedWindow, zone: str) -> tuple[str, str]:
    start, end = (bound.to_utc_datetime(has_tz=True) for bound in (window.start, window.end))
    return tuple(f"{bound.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}" for bound in (start, end))  # type: ignore[return-value]


def hours(window: BoundedWindow) -> float:
    return float((window[1] - window[0]) / HOUR)


# --- across changes of the clocks


@pytest.mark.parametrize(
    ("zone", "noon", "length"),
    [
        (NEW_YORK, "2013-03-09T12:00:00-05:00", 24),
        (NEW_YORK, "2013-03-10T12:00:00-04:00", 23),
        (NEW_YORK, "2013-11-03T12:00:00-05:00", 25),
        ("Europe/Paris", "2013-03-31T12:00:00+02:00", 23),
        ("Europe/Paris", "2013-10-27T12:00:00+01:00", 25),
        ("Australia/Lord_Howe", "2013-10-06T12:00:00+11:00", 23.5),
        ("Australia/Lord_Howe", "2013-04-07T12:00:00+10:30", 24.5),
    ],
)
def test_days_where_clocks_change_are_shorter_or_longer(
    zone: str, noon: str, length: float
) -> None:
    window = window_at(CalendarWindows.days(1, zone), noon)
    day = noon[:10]
    following = str(date.fromisoformat(day) + timedelta(days=1))
    assert spelled(window, zone) == (f"{day} 00:00", f"{following} 00:00")
    assert hours(window) == length


def test_both_hours_that_a_clock_shows_twice_are_in_their_day() -> None:
    days = CalendarWindows.days(1, NEW_YORK)
    assert window_at(days, "2013-11-03T01:30:00-04:00") == window_at(
        days, "2013-11-03T01:30:00-05:00"
    )


def test_a_day_starts_with_the_jump_where_clocks_jump_from_midnight() -> None:
    window = window_at(CalendarWindows.days(1, "America/Sao_Paulo"), "2013-10-20T12:00:00-02:00")
    assert spelled(window, "America/Sao_Paulo") == ("2013-10-20 01:00", "2013-10-21 00:00")
    assert hours(window) == 23


def test_a_day_starts_with_the_jump_where_clocks_jump_over_midnight() -> None:
    window = window_at(CalendarWindows.days(1, "America/Toronto"), "1919-03-31T12:00:00-04:00")
    assert spelled(window, "America/Toronto") == ("1919-03-31 00:30", "1919-04-01 00:00")


def test_a_day_keeps_the_hour_that_comes_again_before_midnight() -> None:
    window = window_at(CalendarWindows.days(1, "America/Sao_Paulo"), "2013-02-16T23:30:00-03:00")
    assert spelled(window, "America/Sao_Paulo") == ("2013-02-16 00:00", "2013-02-17 00:00")
    assert hours(window) == 25


def test_where_midnight_comes_twice_the_first_one_counts() -> None:
    days = CalendarWindows.days(1, "America/St_Johns")
    # At 00:01 clocks went back to 23:01 of the day before.
    again = window_at(days, "2010-11-06T23:30:00-03:30")
    assert again == window_at(days, "2010-11-07T12:00:00-03:30")
    assert again[0] == micros("2010-11-07T00:00:00-02:30")
    assert hours(again) == 25
    havana = window_at(CalendarWindows.days(1, "America/Havana"), "2013-11-03T12:00:00-05:00")
    assert havana[0] == micros("2013-11-03T00:00:00-04:00")


def test_a_day_that_a_zone_left_out_has_no_window() -> None:
    days = CalendarWindows.days(1, "Pacific/Apia")
    before = window_at(days, "2011-12-29T12:00:00-10:00")
    after = window_at(days, before[1])
    assert spelled(after, "Pacific/Apia") == ("2011-12-31 00:00", "2012-01-01 00:00")


# --- days, weeks, months, years


@pytest.mark.parametrize(
    ("window_fn", "bounds"),
    [
        (CalendarWindows.days(), ("2013-08-14", "2013-08-15")),
        (CalendarWindows.days(10, start="2013-08-01"), ("2013-08-11", "2013-08-21")),
        (CalendarWindows.days(10, start="2013-09-01"), ("2013-08-12", "2013-08-22")),
        (CalendarWindows.weeks(), ("2013-08-12", "2013-08-19")),
        (CalendarWindows.weeks(start="2000-01-02"), ("2013-08-11", "2013-08-18")),
        (CalendarWindows.weeks(2, start="2013-08-05"), ("2013-08-05", "2013-08-19")),
        (CalendarWindows.months(), ("2013-08-01", "2013-09-01")),
        (CalendarWindows.months(3), ("2013-07-01", "2013-10-01")),
        (CalendarWindows.months(1, start="2020-02-15"), ("2013-07-15", "2013-08-15")),
        (CalendarWindows.months(1, start=date(2020, 2, 14)), ("2013-08-14", "2013-09-14")),
        (CalendarWindows.years(), ("2013-01-01", "2014-01-01")),
        (CalendarWindows.years(10, start="2001-10-01"), ("2011-10-01", "2021-10-01")),
    ],
)
def test_the_window_around_a_wednesday(window_fn: CalendarWindows, bounds: tuple[str, str]) -> None:
    start, end = bounds
    expected = IntervalWindow(f"{start}T00:00:00Z", f"{end}T00:00:00Z")
    assert window_at(window_fn, "2013-08-14T15:00:00Z") == expected


def test_a_year_starts_at_midnight_in_its_zone() -> None:
    year = window_at(CalendarWindows.years(1, "Asia/Tokyo"), "2012-12-31T15:00:00Z")
    assert spelled(year, "Asia/Tokyo") == ("2013-01-01 00:00", "2014-01-01 00:00")


@given(modern)
def test_days_in_utc_are_fixed_windows(instant: int) -> None:
    assert windows_at(CalendarWindows.days(), instant) == windows_at(FixedWindows(86_400), instant)


# --- what holds in every calendar


@given(calendars, everywhere)
def test_windows_follow_each_other_without_a_gap(window_fn: CalendarWindows, instant: int) -> None:
    window = window_at(window_fn, instant)
    assert MIN_MICROS <= window[0] < window[1] <= MAX_MICROS
    assert window_at(window_fn, window[0]) == window
    assert window_at(window_fn, window.last) == window
    if window[1] < MAX_MICROS:
        assert window_at(window_fn, window[1])[0] == window[1]


@given(calendars, modern)
def test_windows_start_with_a_day_in_their_zone(window_fn: CalendarWindows, instant: int) -> None:
    zone = ZoneInfo(window_fn.timezone)
    start = window_at(window_fn, instant)[0]
    now, before = (
        (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=t)).astimezone(zone)
        for t in (start, start - 1)
    )
    assert now.date() > before.date()
    months = window_fn.unit == "months"
    jumped = (now.hour, now.minute) != (0, 0)
    assert jumped or not months or now.day == window_fn.start.day


@given(calendars, st.lists(everywhere, max_size=20))
def test_a_column_is_what_assign_says_of_each(
    window_fn: CalendarWindows, timestamps: list[int]
) -> None:
    assert window_fn.assign_column(timestamps, timestamps) == [
        tuple(window_fn.assign(WindowFn.AssignContext(Timestamp(micros=t)))) for t in timestamps
    ]


def test_equal_windows_of_a_column_are_one_object() -> None:
    column = CalendarWindows.days().assign_column([1, 2, 3], [5, DAY + 5, 6])
    assert column[0] is column[2]  # type: ignore[index]


@given(calendars, everywhere)
def test_one_timestamp_for_all(window_fn: CalendarWindows, instant: int) -> None:
    column = window_fn.assign_column([1, 2], repeat(instant))
    assert uniform(column)
    assert next(iter(column)) == windows_at(window_fn, instant)


@pytest.mark.parametrize(
    "window_fn",
    [
        CalendarWindows.days(),
        CalendarWindows.years(1, "Asia/Tokyo"),
        CalendarWindows.months(200_000),
        CalendarWindows.days(10**7, NEW_YORK),
    ],
)
def test_far_from_the_calendar_windows_reach_to_the_ends_of_time(
    window_fn: CalendarWindows,
) -> None:
    assert window_at(window_fn, MIN_MICROS)[0] == MIN_MICROS
    assert window_at(window_fn, MAX_MICROS)[1] == MAX_MICROS


# --- calendars as values


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CalendarWindows.days(0), "not a number of calendar units"),
        (lambda: CalendarWindows.days(-1), "not a number of calendar units"),
        (lambda: CalendarWindows.weeks(1.5), "not a number of calendar units"),  # type: ignore[arg-type]
        (lambda: CalendarWindows.days(1, "Mars/Olympus"), "unknown time zone"),
        (lambda: CalendarWindows.days(1, "../../etc/passwd"), "unknown time zone"),
        (lambda: CalendarWindows.days(1, ""), "unknown time zone"),
        (lambda: CalendarWindows.days(1, "UTC", "yesterday"), "not a date"),
        (lambda: CalendarWindows.days(1, "UTC", 5), "not a date"),  # type: ignore[arg-type]
        (lambda: CalendarWindows.months(1, "UTC", "2013-01-31"), "day 31"),
        (lambda: CalendarWindows.years(1, "UTC", "2012-02-29"), "day 29"),
    ],
)
def test_what_is_not_in_the_calendar_is_refused(make: Any, message: str) -> None:
    with pytest.raises(TimeError, match=message) as refusal:
        make()
    assert refusal.value.remedy


def test_equal_arguments_make_equal_calendars() -> None:
    one = CalendarWindows.days(1, NEW_YORK, "2013-01-01")
    assert one == CalendarWindows.days(1, NEW_YORK, date(2013, 1, 1))
    assert one == CalendarWindows.days(1, NEW_YORK, datetime(2013, 1, 1, 15))
    assert one != CalendarWindows.days(1, "UTC", "2013-01-01")
    assert pickle.loads(pickle.dumps(one)) == one
    assert fact(one, "single")
    assert not one.is_merging()


def test_midnight_belongs_to_the_day_that_begins() -> None:
    day = 86_400_000_000
    column = CalendarWindows.days().assign_column(["a"] * 3, [0, day, 2 * day])
    assert [(window[0], window[1]) for (window,) in column] == [
        (0, day),
        (day, 2 * day),
        (2 * day, 3 * day),
    ]


@pytest.mark.parametrize(
    ("zone", "change"),
    [
        ("America/St_Johns", "2010-11-07"),
        ("America/Havana", "2020-11-01"),
        ("America/Juneau", "1867-10-18"),
        ("Asia/Manila", "1844-12-31"),
        ("Pacific/Apia", "2011-12-30"),
        ("Pacific/Kwajalein", "1969-09-30"),
        ("Pacific/Kwajalein", "1993-08-21"),
    ],
)
def test_the_window_holds_its_instant_wherever_clocks_change(zone: str, change: str) -> None:
    """At one minute past midnight, from midnight, by a day forward and by a day back."""
    middle = micros(f"{change}T00:00:00Z")
    moments = range(middle - 2 * DAY, middle + 2 * DAY, DAY // 48)
    windows = [windows_at(CalendarWindows.days(1, zone), instant) for instant in moments]
    for instant, (window,) in zip(moments, windows, strict=True):
        assert holds(window, instant)
    for (one,), (two,) in pairwise(windows):
        assert one == two or one[1] <= two[0]
