"""Elements: timestamp, windows, pane and diff of a value, and the bounds of time and windows."""

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import headrace as hr
from headrace.testing import TestPipeline, assert_that, capture, equal_to
from headrace.triggers import AfterWatermark
from headrace.triggers.pane import NO_FIRING
from headrace.windowing import GlobalWindow, GlobalWindows, IntervalWindow, Timestamp
from headrace.windowing.time.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP
from tests.model.semantics.scenarios import (
    END,
    FIXED,
    MICRO,
    SESSIONS,
    SLIDING,
    arrive,
    at,
    into,
    watermark,
    words,
)


def test_a_value_carries_timestamp_windows_pane_and_diff(play):
    (element,) = play([arrive(at(3, "a")), END], into(SLIDING)).elements
    assert element.value == ("k", "a")
    assert element.timestamp == Timestamp(3)
    assert set(element.windows) == {IntervalWindow(-10, 10), IntervalWindow(0, 20)}
    assert element.pane == NO_FIRING
    assert element.diff == 1


@pytest.mark.parametrize(
    "then", [[hr.GroupByKey()], [hr.MapTuple(lambda k, v: (k, v)), hr.GroupByKey()]]
)
def test_an_element_in_two_windows_is_in_new_windows_twice(play, then):
    played = play(
        [arrive(at(3, "a"), at(4, "b")), END], into(SLIDING), "Again" >> into(FIXED), *then
    )
    assert [sorted(values) for _, _, values in played.pairs] == [["a", "a", "b", "b"]]


def test_an_element_in_no_window_is_in_no_new_window(play):
    sparse = into(hr.window.SlidingWindows(2, 10))
    played = play(
        [arrive(at(1, "a"), at(3, "b")), END], sparse, "Again" >> into(FIXED), hr.GroupByKey()
    )
    assert played.pairs == [(1, "k", ["a"])]


@pytest.mark.mode("batch")
def test_a_function_can_ask_for_all_of_it_at_once(runner):
    def seen(_, whole=hr.DoFn.WindowedValueParam):
        return whole.value, whole.timestamp, set(whole.windows), whole.pane_info

    def seen_by_window(_, whole=hr.DoFn.WindowedValueParam, window=hr.DoFn.WindowParam):
        return whole.windows == (window,), window

    with TestPipeline(runner=runner) as p:
        values = p | hr.Create([at(3, "a")]) | hr.WindowInto(SLIDING)
        windows = {IntervalWindow(-10, 10), IntervalWindow(0, 20)}
        assert_that(
            values | hr.Map(seen), equal_to([(("k", "a"), Timestamp(3), windows, NO_FIRING)])
        )
        by_window = values | hr.Map(seen_by_window)
        assert_that(by_window, equal_to([(True, w) for w in windows]), label="by window")


@pytest.mark.mode("batch")
def test_a_new_value_lies_in_the_global_window(runner):
    with TestPipeline(runner=runner) as p:
        captured = capture(p | hr.Create(["a"]))
    (element,) = captured.elements
    assert element.window == GlobalWindow()
    assert element.timestamp == MIN_TIMESTAMP


def test_a_collection_is_a_multiset(play):
    grouped = play([arrive(at(1, "a"), at(1, "a")), END], into(FIXED), hr.GroupByKey())
    assert grouped.values == ["aa"]


@pytest.mark.mode("batch")
def test_a_collection_put_together_with_itself_counts_double(runner):
    with TestPipeline(runner=runner) as p:
        once = p | hr.Create(["a", "b"])
        assert_that((once, once) | hr.Flatten(), equal_to(["a", "a", "b", "b"]))


@settings(
    max_examples=20,
    derandomize=True,  # on Spark the same orders are drawn twice
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.permutations([at(n, letter) for n, letter in enumerate("abcde")]))
def test_order_means_nothing(play, elements):
    in_order = [("ab", (0, 2)), ("cd", (2, 4)), ("e", (4, 6))]
    together = [arrive(*elements), END]
    one_by_one = [*map(arrive, elements), END]
    for events in (together, one_by_one):
        played = play(events, into(hr.window.FixedWindows(2)), words())
        assert sorted(played.windows) == in_order


@pytest.mark.parametrize(("time", "window"), [(9.999999, (0, 10)), (10, (10, 20)), (-1, (-10, 0))])
def test_windows_are_half_open(play, time, window):
    assert play([arrive(at(time, "a")), END], into(FIXED), words()).windows == [("a", window)]


def test_the_last_instant_of_a_window_is_a_microsecond_before_its_end(play):
    played = play([arrive(at(0, "a")), END], into(FIXED), words())
    assert played.times == [("a", 10 - MICRO)]


def test_a_window_has_ended_when_the_watermark_is_past_its_last_instant(play):
    arrived = arrive(at(0, "a"))
    assert play([arrived, watermark(10 - MICRO)], into(FIXED), words()).values == []
    assert play([arrived, watermark(10)], into(FIXED), words()).values == ["a"]


def test_time_is_counted_in_whole_microseconds(play):
    played = play([arrive(at(MICRO, "a"), at(0, "b")), END], into(SESSIONS), hr.GroupByKey())
    assert played.windows == [("ab", (0, 10 + MICRO))]


@pytest.mark.parametrize(
    "instant", [MIN_TIMESTAMP, Timestamp(micros=MAX_TIMESTAMP.micros - 1)], ids=["first", "last"]
)
def test_time_goes_from_its_beginning_to_its_end(play, instant):
    assert play([arrive(at(instant, "a")), END], into(FIXED), words()).values == ["a"]


def test_the_global_window_ends_a_day_before_the_end_of_time(play):
    everything = into(GlobalWindows(), AfterWatermark())
    end = MAX_TIMESTAMP - hr.Duration(86_400)
    last = end - hr.Duration(micros=1)
    assert play([arrive(at(0, "a")), watermark(last)], everything, words()).values == []
    played = play([arrive(at(0, "a")), watermark(end)], everything, words())
    assert played.times == [("a", float(last))]


def test_sessions_that_touch_do_not_merge(play):
    played = play([arrive(at(0, "a"), at(10, "b")), END], into(SESSIONS), words())
    assert played.windows == [("a", (0, 10)), ("b", (10, 20))]


def test_sessions_that_overlap_merge(play):
    played = play([arrive(at(0, "a"), at(10 - MICRO, "b")), END], into(SESSIONS), words())
    assert played.windows == [("ab", (0, 20 - MICRO))]
