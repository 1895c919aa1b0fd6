"""Instants and durations: many forms outside, exact integer microseconds inside."""

from __future__ import annotations

import copy
import math
import pickle
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from headrace.errors import TimeError
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    MAX_TIMESTAMP,
    MIN_MICROS,
    MIN_TIMESTAMP,
    TIME_GRANULARITY,
    Duration,
    Timestamp,
    duration_micros,
    micros,
    micros_of_all,
    positive,
)
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.window import IntervalWindow
from tests.unit.windowing.times import anywhere, instants

SECOND = 1_000_000
years = st.datetimes(timezones=st.timezones())


@given(st.integers(MIN_MICROS // SECOND + 1, MAX_MICROS // SECOND))
def test_whole_seconds_are_exact(seconds: int) -> None:
    assert micros(seconds) == seconds * SECOND
    assert Timestamp(seconds).micros == seconds * SECOND


@given(st.floats(-9.2e12, 9.2e12))
def test_floats_go_to_the_nearest_microsecond(seconds: float) -> None:
    # Up to the quarter of a microsecond that the product with a million may be off.
    assert abs(micros(seconds) - Fraction(seconds) * SECOND) <= Fraction(3, 4)


@given(st.integers(-(2**52), 2**52))
def test_decimal_fractions_of_a_second_survive(instant: int) -> None:
    assert micros(instant / SECOND) == instant


times = st.one_of(
    st.lists(st.integers(-(10**12), 10**12)),
    st.lists(st.floats(-9e12, 9e12)),
    st.lists(st.floats(-1e9, 1e9)),
    st.lists(st.builds(Timestamp, micros=anywhere) | st.integers(0, 9) | st.booleans()),
)


@given(times)
def test_many_instants_convert_like_each(several: list[Any]) -> None:
    assert micros_of_all(several) == [micros(instant) for instant in several]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 1e30, 10**16, "now"])
@pytest.mark.parametrize("right", [1.0, 1])
def test_one_among_many_that_is_not_a_time_is_refused(wrong: Any, right: float) -> None:
    with pytest.raises(TimeError):
        micros_of_all([right, wrong, right])


@given(anywhere, st.integers(0, MAX_MICROS))
def test_timestamps_never_pass_through_floats(instant: int, stretch: int) -> None:
    moment, duration = Timestamp(micros=instant), Duration(micros=stretch)
    assert micros(moment) == instant
    assert (moment + duration).micros == instant + stretch
    assert (moment - duration).micros == instant - stretch
    assert moment + duration - moment == duration
    assert duration + moment == moment + duration


@given(years)
def test_a_zoned_datetime_is_an_instant(moment: datetime) -> None:
    there = Timestamp.of(moment)
    assert there.micros == (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert micros(moment.isoformat()) == there.micros


@given(st.datetimes(timezones=st.just(UTC)))
def test_utc_datetimes_and_strings_come_back(moment: datetime) -> None:
    there = Timestamp.from_utc_datetime(moment)
    assert there.to_utc_datetime(has_tz=True) == moment
    assert there.to_utc_datetime() == moment.replace(tzinfo=None)
    assert Timestamp.from_rfc3339(there.to_rfc3339()) == there


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01 00:00:01+00:00", SECOND),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01T00:00:00.0000019Z", 1),
        ("19700101T000000Z", 0),
    ],
)
def test_iso_strings(text: str, expected: int) -> None:
    assert micros(text) == expected


def test_the_two_noons_of_a_clock_change_differ() -> None:
    one = datetime(2013, 11, 3, 1, 30, tzinfo=ZoneInfo("America/New_York"))
    assert micros(one.replace(fold=1)) - micros(one) == 3600 * SECOND


@pytest.mark.parametrize("naive", [datetime(2013, 1, 1), "2013-01-01T00:00:00", "2013-01-01"])
def test_naive_times_are_refused(naive: datetime | str) -> None:
    with pytest.raises(TimeError, match="no time zone") as refusal:
        micros(naive)
    assert "tzinfo" in refusal.value.remedy


@pytest.mark.parametrize(
    ("nonsense", "message"),
    [
        ("yesterday", "ISO 8601"),
        ("2016-12-31T23:59:60Z", "ISO 8601"),
        (None, "not a time"),
        (date(2013, 1, 1), "not a time"),
        (timedelta(1), "not a time"),
        (Duration(1), "not a time"),
        (math.nan, "not a number"),
        (math.inf, "not a number"),
        (1e30, "outside"),
        (1_357_000_000_000_000, "milli- or microseconds"),
        (Timestamp(micros=MAX_MICROS + 1), "outside"),
    ],
)
def test_what_is_not_a_time_is_refused(nonsense: Any, message: str) -> None:
    with pytest.raises(TimeError, match=message):
        micros(nonsense)


@pytest.mark.parametrize("nonsense", ["60", None, datetime(2013, 1, 1, tzinfo=UTC), Timestamp(1)])
def test_what_is_not_a_duration_is_refused(nonsense: Any) -> None:
    with pytest.raises(TimeError, match="not a duration"):
        duration_micros(nonsense)


def test_durations() -> None:
    assert duration_micros(timedelta(days=1, microseconds=1)) == 86_400_000_001
    assert duration_micros(Duration(1, micros=5)) == 1_000_005
    assert duration_micros(-0.5) == -500_000
    with pytest.raises(TimeError, match="is too long"):
        duration_micros(timedelta.max)


@pytest.mark.parametrize("length", [0, -1, 0.0, timedelta(0), 1e-9])
def test_positive_durations(length: Any) -> None:
    with pytest.raises(TimeError, match="not positive"):
        positive(length)


def test_the_ends_of_time() -> None:
    assert micros(MIN_TIMESTAMP) == -9_223_372_036_854_775_000
    assert micros(MAX_TIMESTAMP) == 9_223_372_036_854_775_000
    with pytest.raises(TimeError):
        micros(MAX_TIMESTAMP.successor())
    with pytest.raises(TimeError):
        micros(MIN_TIMESTAMP.predecessor())
    with pytest.raises(TimeError, match="years 1 to 9999"):
        MAX_TIMESTAMP.to_utc_datetime()
    with pytest.raises(TimeError, match="years 1 to 9999"):
        MIN_TIMESTAMP.to_rfc3339()


def test_integers_that_are_not_ints_count_as_seconds() -> None:
    class Seven:
        def __index__(self) -> int:
            return 7

    assert micros(Seven()) == 7 * SECOND  # type: ignore[arg-type]
    assert micros(True) == SECOND


numbers = st.integers(-(10**6), 10**6) | st.floats(allow_nan=False)
quantities = st.builds(Timestamp, micros=instants) | st.builds(Duration, micros=instants) | numbers


@given(quantities, quantities)
def test_equal_things_have_equal_hashes(one: Any, other: Any) -> None:
    if one == other:
        assert hash(one) == hash(other)


@given(instants)
def test_a_timestamp_equals_its_seconds(instant: int) -> None:
    moment = Timestamp(micros=instant)
    assert moment == float(moment)
    assert hash(moment) == hash(float(moment))
    assert int(moment) == moment.seconds() == instant // SECOND
    assert (moment == int(moment)) == (instant % SECOND == 0)


@given(quantities, quantities)
def test_order_is_total(one: Any, other: Any) -> None:
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (not one > other)
    assert (one >= other) == (not one < other)


def test_timestamps_compare_with_infinity_but_not_with_everything() -> None:
    assert -math.inf < MIN_TIMESTAMP < Timestamp(0) < MAX_TIMESTAMP < math.inf
    assert Timestamp(0) != math.nan
    assert Timestamp(0) != "1970-01-01T00:00:00Z"
    with pytest.raises(
        TypeError, match="'<' not supported between instances of 'Timestamp' and 'str'"
    ):
        assert Timestamp(0) < "later"


def test_a_timestamp_is_taken_as_it_is() -> None:
    instant = Timestamp(5)
    assert Timestamp.of(instant) is instant


def test_what_a_timestamp_does_not_know_may_know_it() -> None:
    assert Timestamp(0) == ANY


def test_microseconds_are_whole() -> None:
    assert type(Timestamp.now().micros) is int
    assert (Duration(micros=9_007_199_254_740_993) * 1).micros == 9_007_199_254_740_993
    assert Timestamp(9_007_199_254_993).micros == 9_007_199_254_993_000_000


def test_all_of_time_is_a_duration() -> None:
    assert duration_micros(Duration(micros=MAX_MICROS)) == MAX_MICROS
    assert duration_micros(Duration(micros=-MAX_MICROS)) == -MAX_MICROS


def test_nothing_has_no_sign() -> None:
    assert repr(Timestamp(0)) == "Timestamp(0)"
    assert repr(Duration(micros=0)) == "Duration(0)"


def test_a_string_that_is_no_time_is_named() -> None:
    with pytest.raises(TimeError, match="the time 'noon' is not in ISO 8601 form") as refusal:
        micros("noon")
    assert refusal.value.remedy == 'write it like "2013-01-01T05:00:00Z"'
    with pytest.raises(TimeError, match=r"\[1\] is not a time"):
        micros([1])  # type: ignore[arg-type]


def test_arithmetic() -> None:
    assert Timestamp(10) + timedelta(seconds=5) == Timestamp(15)
    assert 5 + Timestamp(10) == 15
    assert Timestamp(10) - 2.5 == Timestamp(7.5)
    assert Timestamp(10) % 4 == Duration(2)
    assert Timestamp(-1) % 60 == 59
    assert Duration(90) % 60 == 30
    assert 100 - Duration(30) == Duration(70)
    assert Duration(30) - 100 == -Duration(70)
    assert 2 * Duration(1.5) == Duration(1.5) * 2 == 3
    assert 1 + Duration(2) == Duration(2) + 1 == Duration(3)
    assert Timestamp(0).predecessor() == Timestamp(0) - TIME_GRANULARITY
    with pytest.raises(TimeError):
        Timestamp(1) + Timestamp(2)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (Timestamp(59.999999), "Timestamp(59.999999)"),
        (Timestamp(-0.5), "Timestamp(-0.500000)"),
        (Duration(60), "Duration(60)"),
        (Duration(micros=-1), "Duration(-0.000001)"),
        (MAX_TIMESTAMP, "Timestamp(9223372036854.775000)"),
    ],
)
def test_printing(thing: object, text: str) -> None:
    assert repr(thing) == text


@given(instants)
def test_copies_and_pickles(instant: int) -> None:
    for thing in (Timestamp(micros=instant), Duration(micros=instant)):
        for twin in (copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
            assert twin == thing
            assert type(twin) is type(thing)


@pytest.mark.parametrize("nonsense", ["5", [5], timedelta(5), Duration(5), math.nan])
def test_the_constructor_takes_numbers_alone(nonsense: Any) -> None:
    with pytest.raises(TimeError, match="not a number"):
        Timestamp(nonsense)


def test_timestamped_values_compare_by_value_then_time() -> None:
    early, late = TimestampedValue("a", 1), TimestampedValue("a", "1970-01-01T00:00:02Z")
    assert early < late < TimestampedValue("b", 0)
    assert early == TimestampedValue("a", Timestamp(1)) != late
    assert len({early, TimestampedValue("a", 1.0), late}) == 2
    assert early != ("a", 1)
    assert repr(late) == "TimestampedValue('a', Timestamp(2))"
    assert pickle.loads(pickle.dumps(late)) == late


def test_a_timestamped_value_tells_of_a_naive_time_when_asked() -> None:
    event = TimestampedValue("a", datetime(2013, 1, 1))
    with pytest.raises(TimeError, match="no time zone"):
        _ = event.micros
    with pytest.raises(TimeError, match="no time zone"):
        _ = event.timestamp


def test_neighbours_are_a_microsecond_apart() -> None:
    assert Timestamp(0).successor().micros == 1
    assert Timestamp(0).predecessor().micros == -1


def test_a_product_is_whole_microseconds_and_rounded_down() -> None:
    product = Duration(micros=3) * 0.5
    assert (product.micros, type(product.micros)) == (1, int)


def test_timestamped_values_are_told_apart_by_value_and_time() -> None:
    hashes = {hash(TimestampedValue(value, time)) for value in "ab" for time in (1, 2)}
    assert len(hashes) == 4
    same = TimestampedValue("a", 1)
    assert not same < TimestampedValue("a", 1)


def test_now_is_the_time_of_the_wall_clock_in_whole_microseconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_123_456_789)
    now = Timestamp.now().micros
    assert (now, type(now)) == (1_700_000_000_123_456, int)


class Whole(int):
    """A number of a class of its own, as numpy's are."""


class Stretch(timedelta):
    """A duration of a class of its own, as pandas' is."""


def test_numbers_and_durations_of_derived_classes_are_taken_for_what_they_are() -> None:
    assert duration_micros(Stretch(seconds=2)) == 2_000_000
    exact = micros(Whole(9_007_199_254))  # times a million, a float would round it
    assert (exact, type(exact)) == (9_007_199_254_000_000, int)


def test_what_is_no_time_is_shown_with_what_would_be_one() -> None:
    with pytest.raises(TimeError, match="None is not a time") as no_instant:
        micros(None)  # type: ignore[arg-type]
    with pytest.raises(TimeError, match="'a' is not a duration") as no_duration:
        duration_micros("a")  # type: ignore[arg-type]
    assert no_instant.value.remedy.startswith("use seconds since 1970, a datetime")
    assert "ISO 8601 string or a Timestamp" in no_instant.value.remedy
    assert no_duration.value.remedy == "use seconds, a timedelta or a Duration"
    with pytest.raises(TimeError, match="inf is not a number of seconds") as no_number:
        micros(float("inf"))
    assert no_number.value.remedy == "use a finite number"


@pytest.mark.parametrize(
    ("fine", "text"),
    [
        (Timestamp(1, 500, precision=3), "Timestamp(1.500)"),
        (Timestamp(1, 123456789, precision=9), "Timestamp(1.123456789)"),
        (Timestamp(-1.5, precision=9), "Timestamp(-1.500000000)"),
        (Timestamp(-2, 1_500, 3), "Timestamp(-0.500)"),
        (Timestamp(7, precision=0), "Timestamp(7)"),
    ],
)
def test_other_precisions_are_kept(fine: Timestamp, text: str) -> None:
    assert (str(fine), repr(fine)) == (text, text)
    assert str(pickle.loads(pickle.dumps(fine))) == str(copy.copy(fine)) == text
    assert Timestamp(fine.seconds(), fine.subseconds(), fine.precision()) == fine


def test_precisions_compare_by_their_instants() -> None:
    millis, micros, nanos = (Timestamp(1, 5 * 10 ** (p - 1), precision=p) for p in (3, 6, 9))
    assert millis == micros == nanos == 1.5 == Duration(1.5)
    assert len({millis, micros, nanos, Duration(1.5)}) == 1
    later = nanos.successor()
    assert Duration(1.5) < later > micros < later != micros
    assert 1 < later >= 1.5
    assert Timestamp(2, precision=9) == 2
    assert (later.nanos, later.precision()) == (1_500_000_001, 9)
    assert later.predecessor() == nanos


def test_an_instant_between_microseconds_is_not_a_time_of_a_pipeline() -> None:
    between = Timestamp(1, 123456789, precision=9)
    for use in (
        lambda: between.micros,
        lambda: micros(between),
        between.to_utc_datetime,
        lambda: between % 1,
        lambda: between - between.predecessor(),
        lambda: between.to_precision(3),
    ):
        with pytest.raises(TimeError):
            use()
    with pytest.raises(TimeError, match=r"more than 6 digits") as refusal:
        IntervalWindow(between, 5)
    assert refusal.value.remedy.startswith("use to_precision(6, allow_lossy_conversion=True)")
    assert between.to_precision(6, allow_lossy_conversion=True).micros == 1_123_456
    assert between.to_utc_datetime(allow_lossy_conversion=True).microsecond == 123_456
    assert micros(Timestamp(1, 123_456_000, precision=9)) == 1_123_456


def test_arithmetic_of_other_precisions() -> None:
    fine = Timestamp(1, 123456789, precision=9)
    assert (fine + 1, 1 + fine, fine - 1) == (
        Timestamp(2, 123456789, precision=9),
        Timestamp(2, 123456789, precision=9),
        Timestamp(0, 123456789, precision=9),
    )
    assert fine - (fine - Duration(micros=3)) == Duration(micros=3)
    assert (Timestamp(1, 500, precision=3) + 0.25).micros == 1_750_000
    assert fine.to_precision(9) is fine
    assert Timestamp(1.5).to_precision(3).precision() == 3


@pytest.mark.parametrize("digits", ["1234567", "123456789", "746939251", "123456000"])
@pytest.mark.parametrize("year", ["1969", "2038", "9999"])
def test_long_fractions_of_a_second_are_exact(year: str, digits: str) -> None:
    text = f"{year}-12-31T23:59:59.{digits}Z"
    fine = Timestamp.from_rfc3339(text)
    assert (fine.subseconds(), fine.precision()) == (int(digits), len(digits))
    assert fine.to_rfc3339() == text
    assert Timestamp.from_rfc3339(text.replace(".", ",")) == fine


def test_protos_keep_nanoseconds() -> None:
    for instant in (
        Timestamp(-1.5),
        Timestamp(1, 123456789, 9),
        Timestamp(-1.5, precision=9).predecessor(),
    ):
        assert Timestamp.from_proto(instant.to_proto()) == instant
    assert Timestamp.from_proto(Timestamp(3, 250, 3).to_proto()).precision() == 6
    assert Duration.from_proto(Duration(-1.5).to_proto()) == -1.5
    assert (Duration(-1.5).to_proto().seconds, Timestamp(-1.5).to_proto().seconds) == (-1, -2)
    with pytest.raises(TimeError, match="1001 nanoseconds is not a whole number"):
        Duration.from_proto(SimpleNamespace(seconds=0, nanos=1001))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"precision": 10}, "the precision 10 is not within 0 to 9"),
        ({"precision": -1}, "the precision -1 is not within 0 to 9"),
        ({"precision": 6.0}, "the precision 6.0 is not an int"),
        ({"precision": 9, "micros": 1}, "micros have the precision 6, not 9"),
        ({"subseconds": 1, "micros": 1}, "takes micros or subseconds, not both"),
    ],
)
def test_impossible_precisions_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(TimeError, match=message):
        Timestamp(0, **arguments)
    with pytest.raises(TimeError, match="the precision 10"):
        Timestamp(0).to_precision(10)
    with pytest.raises(TimeError, match="more digits than nanoseconds"):
        Timestamp.from_rfc3339("2016-03-18T23:22:59.1234567891Z")


def test_a_thing_that_is_no_time_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"Duration\(1\) is not a time"):
        Timestamp.of(Duration(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Timestamp\(1\) is not a duration"):
        Duration(1) - Timestamp(1)  # type: ignore[operator]


def test_negative_timestamps_are_in_descending_order() -> None:
    times = [Timestamp(1), Timestamp(1.5), Timestamp(1, 5, precision=9)]
    assert sorted(times, key=lambda time: -time) == sorted(times, reverse=True)
    before = -times[2]
    assert -before == times[2]
