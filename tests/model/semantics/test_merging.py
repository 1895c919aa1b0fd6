"""Windows that merge: their triggers, watermark holds and contents."""

import pytest

from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.triggers import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterProcessingTime,
    AfterWatermark,
    AtPeriod,
    Repeatedly,
)
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    EARLY_AND_LATE,
    END,
    MICRO,
    RETRACTING,
    SESSIONS,
    arrive,
    at,
    clock,
    into,
    watermark,
    words,
)

APART = [arrive(at(0, "a")), arrive(at(15, "b"))]
"""Two sessions, [0, 10) and [15, 25)."""

BRIDGE = arrive(at(8, "c"))
"""Makes them one, [0, 25)."""


def test_what_sessions_held_is_put_together(play):
    played = play([*APART, BRIDGE, END], into(SESSIONS), words())
    assert played.windows == [("abc", (0, 25))]


def test_all_that_arrives_together_merges_at_once(play):
    together = [arrive(*(at(time, "x") for time in range(0, 100, 9))), END]
    assert play(together, into(SESSIONS), words()).windows == [("x" * 12, (0, 109))]


def test_keys_do_not_merge(play):
    events = [arrive(at(0, "a", key="x"), at(5, "b", key="y")), END]
    played = play(events, into(SESSIONS), words())
    assert sorted(played.windows) == [("a", (0, 10)), ("b", (5, 15))]


def test_counts_add(play):
    counted = into(SESSIONS, Repeatedly(AfterCount(3)))
    assert play(APART, counted, words()).values == []
    assert play([*APART, BRIDGE], counted, words()).values == ["abc"]


def test_delays_take_the_earliest(play):
    delayed = into(SESSIONS, Repeatedly(AfterProcessingTime(10)))
    events = [clock(1), APART[1], clock(4), APART[0], clock(1), BRIDGE, clock(4), clock(1), END]
    assert play(events, delayed, words()).moments == [("abc", 11)]


def test_periods_take_the_earliest(play):
    aligned = into(SESSIONS, Repeatedly(AtPeriod(10)))
    events = [clock(9), APART[0], clock(0.5), APART[1], clock(0.4), BRIDGE, clock(0.1), END]
    assert play(events, aligned, words()).moments == [("abc", 10)]


def test_a_count_that_fired_in_one_session_has_fired(play):
    """Once two have come, each counts: [0, 10) has had two, [15, 25) has not."""
    trigger = AfterEach(AfterCount(2), Repeatedly(AfterCount(1)))
    events = [arrive(at(0, "a"), at(1, "A")), arrive(at(15, "b")), BRIDGE]
    played = play(events, into(SESSIONS, trigger), words())
    assert played.values == ["Aa", "bc"]


def test_what_a_closed_session_drops_merges_nothing(play):
    events = [arrive(at(0, "a"), at(1, "A")), arrive(at(15, "b")), BRIDGE, END]
    closing = into(SESSIONS, AfterCount(2))
    played = play(events, closing, words(), flags=["--allow_unsafe_triggers"])
    assert played.windows == [("Aa", (0, 11)), ("b", (15, 25))]
    assert played.dropped == 1


LATE = AfterWatermark(late=AfterCount(1))


def test_a_watermark_trigger_that_finished_in_all_sessions_stays_finished(play):
    events = [*APART, watermark(26), BRIDGE]
    played = play(events, into(SESSIONS, LATE, lateness=50), words())
    assert played.timings == [("a", "ON_TIME"), ("b", "ON_TIME"), ("c", "LATE")]


def test_else_it_waits_for_the_end_of_the_merged_session(play):
    windows = into(SESSIONS, LATE, lateness=50)
    events = [*APART, watermark(12), BRIDGE]
    assert play(events, windows, words()).values == ["a"]
    assert play([*events, watermark(24)], windows, words()).values == ["a"]
    played = play([*events, watermark(25), arrive(at(3, "d"))], windows, words())
    assert played.windows == [("a", (0, 10)), ("bc", (0, 25)), ("d", (0, 25))]


def test_else_it_fires_early_again(play):
    """Both have fired early, one on time; three more are needed for the next early pane."""
    windows = into(SESSIONS, AfterWatermark(early=AfterCount(3)), ACCUMULATING)
    events = [*APART, BRIDGE, arrive(at(9, "d")), arrive(at(9, "e"), at(9, "f"))]
    assert play(events, windows, words()).timings == [("abc", "EARLY"), ("abcdef", "EARLY")]


@pytest.mark.parametrize(
    ("trigger", "values"),
    [
        (AfterAny(AfterCount(3), AfterProcessingTime(60)), ["abc"]),
        (AfterAll(AfterCount(3), AfterProcessingTime(0)), ["abc"]),
        (AfterEach(AfterCount(2), AfterCount(1)), ["abc"]),
    ],
)
def test_parts_of_triggers_merge_each_for_itself(play, trigger, values):
    played = play([*APART, BRIDGE], into(SESSIONS, Repeatedly(trigger)), words())
    assert played.values == values


def test_the_end_of_window_timestamp_is_that_of_the_merged_window(play):
    played = play([*APART, BRIDGE, END], into(SESSIONS), words())
    assert played.times == [("abc", 25 - MICRO)]


def test_a_session_lives_as_long_as_what_it_merged_into(play):
    windows = into(SESSIONS, EARLY_AND_LATE, lateness=5)
    events = [*APART, BRIDGE, watermark(29), arrive(at(1, "d")), watermark(30), arrive(at(2, "e"))]
    played = play(events, windows, words())
    assert (played.values[-1], played.dropped) == ("d", 1)


def test_windows_can_shrink(play):
    """A price is valid until the next one."""
    events = [arrive(at(0, "a")), arrive(at(20, "c")), arrive(at(10, "b")), END]
    played = play(events, into(ValidityWindows()), words())
    assert [window for _, window in played.windows[:2]] == [(0, 10), (10, 20)]
    assert played.values == ["a", "b", "c"]


def test_what_went_out_of_a_window_that_shrank_is_taken_back(play):
    shrinking = into(ValidityWindows(), EARLY_AND_LATE, RETRACTING)
    events = [arrive(at(0, "a")), arrive(at(10, "b")), END]
    played = play(events, shrinking, words())
    first, then, *_ = played.windows
    assert first[0] == "a"
    standing = [w for w in played.windows if (f"-{w[0]}", w[1]) not in played.windows]
    assert then[0] == "b"
    assert [w for w in standing if w[0] == "a"] == [("a", (0, 10))]
