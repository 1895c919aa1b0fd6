"""Late data: dropped by the grouping, per window, counted, and sent to the late output."""

from itertools import pairwise

import attrs
import pytest

import headrace as hr
from headrace.windowing import WindowFn
from headrace.windowing.window import interval
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

TOO_LATE = [watermark(15), arrive(at(1, "a")), END]


@pytest.mark.parametrize("lateness", [0, 5])
def test_an_element_lives_until_its_window_and_the_lateness_are_over(play, lateness):
    windows = into(FIXED, lateness=lateness)
    last = 10 - MICRO + lateness
    in_time = play([watermark(last), arrive(at(1, "a")), END], windows, words())
    assert (in_time.values, in_time.dropped) == (["a"], 0)
    too_late = play([watermark(10 + lateness), arrive(at(1, "a")), END], windows, words())
    assert (too_late.values, too_late.dropped) == ([], 1)


def test_what_counts_is_the_window_and_not_the_timestamp(play):
    behind_the_watermark = [watermark(9), arrive(at(1, "a")), END]
    assert play(behind_the_watermark, into(FIXED), words()).values == ["a"]


def test_what_came_in_time_is_not_dropped_later(play):
    played = play([arrive(at(1, "a")), watermark(8), watermark(100), END], into(FIXED), words())
    assert (played.values, played.dropped) == (["a"], 0)


def test_elements_come_before_the_watermark_that_comes_with_them(play):
    """What a grouping sends as the watermark passes reaches the next one before it does."""
    played = play(
        [arrive(at(1, "a")), watermark(50), END], into(FIXED), "one" >> words(), "two" >> words()
    )
    assert (played.values, played.dropped) == (["a"], 0)


def test_a_sliding_element_lives_in_one_window_and_not_in_another(play):
    played = play([watermark(20), arrive(at(15, "a")), END], into(SLIDING), words())
    assert played.windows == [("a", (10, 30))]
    assert played.dropped == 1


def test_dropped_elements_are_counted_in_each_window(play):
    played = play([watermark(30), arrive(at(15, "a"), at(16, "b")), END], into(SLIDING), words())
    assert (played.values, played.dropped) == ([], 4)


def test_nothing_is_dropped_before_a_grouping(play):
    assert play(TOO_LATE, into(FIXED), hr.Map(lambda pair: pair)).values == ["a"]


def test_nothing_is_dropped_where_nothing_is_grouped(play):
    played = play(TOO_LATE, into(FIXED), hr.Filter(bool), hr.Reshuffle())
    assert (played.values, played.dropped) == (["a"], 0)


def test_each_grouping_goes_by_its_own_windows(play):
    """An element too late for the windows of one collection is not for those of another."""
    played = play(TOO_LATE, into(FIXED), "wide" >> into(hr.window.FixedWindows(100)), words())
    assert played.windows == [("a", (0, 100))]


def test_each_grouping_goes_by_its_own_input_watermark(play):
    """The source is at 10, but a pane of the first grouping holds the second at 3."""
    first = into(FIXED, timestamp_combiner=hr.window.TimestampCombiner.OUTPUT_AT_EARLIEST)
    second = "narrow" >> into(hr.window.FixedWindows(2))
    events = [arrive(at(3, "a")), watermark(10), END]
    played = play(events, first, "first" >> words(), second, "second" >> words())
    assert (played.windows, played.dropped) == ([("a", (2, 4))], 0)


@pytest.mark.parametrize("grouping", [hr.GroupByKey(), words()], ids=["group", "combine"])
def test_the_late_output_has_what_was_too_late_for_fixed_windows(play, grouping):
    windows = into(FIXED, late_output_tag="late")
    events = [arrive(at(1, "a")), watermark(10), arrive(at(2, "b"), at(12, "c")), END]
    played = play(events, windows, "group" >> grouping, late=True)
    assert played.values == ["a", "c"]
    assert played.late_windows == [("b", (0, 10))]


def test_the_late_output_has_each_expired_sliding_window(play):
    windows = into(SLIDING, late_output_tag="late")
    played = play(
        [watermark(20), arrive(at(15, "a"), at(5, "b")), END], windows, words(), late=True
    )
    assert played.windows == [("a", (10, 30))]
    assert sorted(played.late_windows) == [("a", (0, 20)), ("b", (-10, 10)), ("b", (0, 20))]


def test_the_late_output_has_what_was_too_late_for_sessions(play):
    windows = into(SESSIONS, late_output_tag="late")
    events = [arrive(at(0, "a")), watermark(20), arrive(at(5, "b"), at(15, "c")), END]
    played = play(events, windows, words(), late=True)
    assert played.windows == [("a", (0, 10)), ("c", (15, 25))]
    assert played.late_windows == [("b", (5, 15))]


def test_a_late_element_keeps_key_and_timestamp(play):
    windows = into(FIXED, late_output_tag="late")
    played = play([watermark(10), arrive(at(2, "a", key="x")), END], windows, words(), late=True)
    (late,) = played.late
    assert (late.value, float(late.timestamp), late.diff) == (("x", "a"), 2, 1)


def test_a_session_goes_on_as_long_as_it_is_alive(play):
    """The late element's own window is over, but not the session that it falls into."""
    events = [arrive(at(0, "a"), at(8, "b")), watermark(13), arrive(at(2, "c")), END]
    played = play(events, into(SESSIONS), words())
    assert (played.windows, played.dropped) == ([("abc", (0, 18))], 0)


def test_late_elements_do_not_bring_back_a_session(play):
    events = [arrive(at(0, "a")), watermark(16), arrive(at(5, "b")), arrive(at(14, "c")), END]
    played = play(events, into(SESSIONS), words())
    assert (played.windows, played.dropped) == ([("a", (0, 10)), ("c", (14, 24))], 1)


@attrs.frozen
class Offers(WindowFn):
    """An offer stands for as many seconds as it says, but not beyond the next one."""

    def assign(self, context):
        start = context.timestamp.micros
        return [interval(start, start + int(context.element[1]) * 1_000_000)]

    def merge(self, merge_context):
        windows = merge_context.windows
        for window, after in pairwise(windows):
            if after[0] < window[1]:
                merge_context.merge([window], interval(window[0], after[0]))

    def reach(self):
        return 10


@pytest.mark.parametrize("reached", [9, 12])
def test_a_dropped_element_has_no_effect_on_merging(play, reached):
    """The offer at 8 would have ended the one at 5, had it not come too late itself."""
    events = [arrive(at(5, "9")), watermark(reached), arrive(at(8, "1")), END]
    played = play(events, into(Offers()), words())
    assert (played.windows, played.dropped) == ([("9", (5, 14))], 1)
    in_time = play([arrive(at(5, "9")), arrive(at(8, "1")), END], into(Offers()), words())
    assert in_time.windows == [("9", (5, 8)), ("1", (8, 9))]
