"""When panes are emitted: at the end of a bundle, until a trigger finishes, and when the window expires."""

import pytest

import headrace as hr
from headrace.triggers import (
    AfterAny,
    AfterBytes,
    AfterCount,
    AfterElement,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    AtPeriod,
    Never,
    OrFinally,
    Repeatedly,
)
from headrace.windowing import GlobalWindows
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    DISCARDING,
    EACH,
    END,
    FIXED,
    RETRACTING,
    SESSIONS,
    arrive,
    at,
    clock,
    into,
    watermark,
    words,
)

UNSAFE = ["--allow_unsafe_triggers"]
MODES = [DISCARDING, ACCUMULATING, RETRACTING]


def test_what_arrives_together_fires_together(play):
    together = [arrive(at(1, "a"), at(2, "b"), at(3, "c"))]
    assert play(together, into(FIXED, EACH), words()).values == ["abc"]


def test_what_arrives_apart_fires_apart(play):
    apart = [arrive(at(1, "a")), arrive(at(2, "b"))]
    assert play(apart, into(FIXED, EACH), words()).values == ["a", "b"]


def test_a_bundle_is_what_arrives_at_a_key(play):
    together = [arrive(at(1, "a", key="x"), at(2, "b", key="y"), at(3, "c", key="x"))]
    played = play(together, into(FIXED, EACH), words())
    assert sorted(played.pairs) == [(1, "x", "ac"), (1, "y", "b")]


def test_each_window_of_a_bundle_fires_by_itself(play):
    together = [arrive(at(1, "a"), at(11, "b"), at(2, "c"))]
    played = play(together, into(FIXED, EACH), words())
    assert sorted(played.windows) == [("ac", (0, 10)), ("b", (10, 20))]


def test_a_count_is_at_least_so_many(play):
    events = [arrive(at(1, "a")), arrive(at(2, "b"), at(3, "c"), at(4, "d")), arrive(at(5, "e"))]
    assert play(events, into(FIXED, Repeatedly(AfterCount(2))), words()).values == ["abcd"]


def test_what_is_more_than_the_count_does_not_count_again(play):
    events = [arrive(*(at(1, letter) for letter in "abcde")), arrive(at(2, "f"))]
    assert play(events, into(FIXED, Repeatedly(AfterCount(2))), words()).values == ["abcde"]


def test_a_size_is_at_least_so_many_bytes(play):
    sized = into(FIXED, Repeatedly(AfterBytes(100)))
    events = [arrive(at(1, "a" * 60)), arrive(at(2, "b" * 60)), arrive(at(3, "c" * 60))]
    assert play(events, sized, words()).values == ["a" * 60 + "b" * 60]


def test_an_element_can_ask_for_a_pane(play):
    asked = into(FIXED, Repeatedly(AfterElement(str.isupper)))
    events = [arrive(at(1, "a")), arrive(at(2, "B")), arrive(at(3, "c")), arrive(at(4, "D"))]
    assert play(events, asked, words()).values == ["Ba", "Dc"]


def test_a_delay_counts_from_the_first_element_of_a_pane(play):
    delayed = into(FIXED, Repeatedly(AfterProcessingTime(5)))
    events = [clock(1), arrive(at(1, "a")), clock(3), arrive(at(2, "b")), clock(2), clock(9)]
    assert play(events, delayed, words()).moments == [("ab", 6)]
    later = [*events, arrive(at(3, "c")), clock(4), clock(1)]
    assert play(later, delayed, words()).moments == [("ab", 6), ("c", 20)]


def test_periods_are_the_same_for_all_keys(play):
    aligned = into(FIXED, Repeatedly(AtPeriod(10)))
    events = [arrive(at(1, "a", key="x")), clock(7), arrive(at(1, "b", key="y")), clock(3)]
    played = play(events, aligned, words())
    assert sorted(played.moments) == [("a", 10), ("b", 10)]


def test_a_clock_that_jumps_over_several_deadlines_fires_once(play):
    delayed = into(FIXED, Repeatedly(AfterProcessingTime(5)))
    assert play([arrive(at(1, "a")), clock(100)], delayed, words()).values == ["a"]


def test_time_alone_gives_no_second_pane(play):
    always = into(FIXED, Always(), lateness=100)
    events = [arrive(at(1, "a")), clock(5), watermark(50), watermark(60)]
    assert play(events, always, words()).values == ["a"]


@pytest.mark.parametrize("mode", MODES)
def test_a_root_trigger_that_finishes_closes_its_window(play, mode):
    events = [arrive(at(1, "a"), at(2, "b")), arrive(at(3, "c")), watermark(10), END]
    played = play(events, into(FIXED, AfterCount(2), mode), words(), flags=UNSAFE)
    assert (played.values, played.dropped) == (["ab"], 1)
    assert played.elements[0].pane.is_last


def test_other_windows_stay_open(play):
    events = [arrive(at(1, "a")), arrive(at(1, "b"), at(11, "c")), END]
    played = play(events, into(FIXED, AfterCount(1)), words(), flags=UNSAFE)
    assert played.windows == [("a", (0, 10)), ("c", (10, 20))]


def test_what_a_closed_window_drops_goes_to_the_late_output(play):
    windows = into(FIXED, AfterCount(1), late_output_tag="late")
    events = [arrive(at(1, "a")), arrive(at(2, "b")), END]
    played = play(events, windows, words(), late=True, flags=UNSAFE)
    assert (played.values, played.late_windows) == (["a"], [("b", (0, 10))])


def test_a_window_that_closed_stays_closed_until_it_expires(play):
    closing = into(FIXED, OrFinally(EACH, AfterWatermark()), lateness=20)
    events = [arrive(at(1, "a")), watermark(10), arrive(at(2, "b")), watermark(29), END]
    played = play(events, closing, words(), flags=UNSAFE)
    assert (played.timings, played.dropped) == ([("a", "EARLY"), ("", "ON_TIME")], 1)


@pytest.mark.mode("any")
@pytest.mark.parametrize(
    "trigger", [AfterCount(2), AfterProcessingTime(5), AfterAny(AfterCount(2), AfterWatermark())]
)
def test_a_trigger_that_can_lose_data_is_refused(runner, trigger):
    with pytest.raises(hr.PipelineError, match="may finish before its window expires") as refusal:
        hr.Pipeline(runner) | hr.Create([("k", "a")]) | into(FIXED, trigger) | "group" >> words()
    assert refusal.value.where == "group"
    assert "allow_unsafe_triggers" in refusal.value.remedy


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("trigger", [Never(), Repeatedly(AfterCount(9)), AfterWatermark()])
def test_what_never_fired_comes_out_at_expiry(play, trigger, mode):
    windows = into(FIXED, trigger, mode, lateness=5 * (trigger != AfterWatermark()))
    before = [arrive(at(1, "a"), at(2, "b")), watermark(10 - 1e-6)]
    assert play(before, windows, words()).values == []
    (pane,) = play([*before, watermark(15), END], windows, words()).elements
    assert pane.value == ("k", "ab")
    assert (pane.pane.timing.name, pane.pane.is_first, pane.pane.is_last) == ("ON_TIME", True, True)


def test_what_is_left_over_comes_out_at_expiry(play):
    counted = into(FIXED, Repeatedly(AfterCount(2)), lateness=5)
    events = [arrive(at(1, "a"), at(2, "b")), arrive(at(3, "c")), watermark(14), watermark(15)]
    assert play(events[:-1], counted, words()).values == ["ab"]
    assert play(events, counted, words()).timings == [("ab", "EARLY"), ("c", "ON_TIME")]


def test_a_deadline_that_is_not_reached_does_not_keep_a_pane(play):
    delayed = into(FIXED, Repeatedly(AfterProcessingTime(60)))
    assert play([arrive(at(1, "a")), watermark(10), clock(90)], delayed, words()).moments == [
        ("a", 0)
    ]


def test_the_global_window_expires_at_the_end_of_time(play):
    everything = into(GlobalWindows(), Repeatedly(AfterCount(2)))
    assert play([arrive(at(1, "a")), END], everything, words()).values == ["a"]


def test_nothing_comes_out_of_a_stream_that_does_not_end(play):
    assert play([arrive(at(1, "a")), watermark(5)], into(SESSIONS), words()).values == []
