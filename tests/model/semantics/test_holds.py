"""Watermark holds: how far a grouping's output is complete, and why the next one is on time."""

import pytest

import headrace as hr
from headrace.triggers import AfterCount, AfterProcessingTime, AfterWatermark, Never, Repeatedly
from headrace.windowing import FixedWindows, TimestampCombiner
from tests.model.semantics.scenarios import (
    EACH,
    EARLY_AND_LATE,
    END,
    FIXED,
    MICRO,
    SESSIONS,
    SLIDING,
    arrive,
    at,
    clock,
    into,
    watermark,
    words,
)

EOW = TimestampCombiner.OUTPUT_AT_EOW
EARLIEST = TimestampCombiner.OUTPUT_AT_EARLIEST
LATEST = TimestampCombiner.OUTPUT_AT_LATEST

WAITS = Repeatedly(AfterCount(9))
"""Holds what arrives until the window expires."""


def reached(play, *events, windows=FIXED, trigger=WAITS, combiner=EOW, lateness=50):
    """The output watermark of a grouping after some events, in seconds."""
    windowing = into(windows, trigger, lateness=lateness, timestamp_combiner=combiner)
    return play(events, windowing, "group" >> words()).watermark("group")


def test_without_elements_the_watermark_passes_through(play):
    assert reached(play, watermark(7)) == 7


def test_before_the_end_of_the_window_nothing_is_held(play):
    assert reached(play, arrive(at(3, "a")), watermark(7)) == 7


THREE = [arrive(at(5, "b")), arrive(at(3, "a"), at(7, "c")), watermark(12)]


@pytest.mark.parametrize(("combiner", "hold"), [(EOW, 10 - MICRO), (EARLIEST, 3), (LATEST, 7)])
def test_an_element_holds_the_watermark_at_its_output_timestamp(play, combiner, hold):
    assert reached(play, *THREE, combiner=combiner) == hold


@pytest.mark.parametrize(("combiner", "time"), [(EOW, 10 - MICRO), (EARLIEST, 3), (LATEST, 7)])
def test_the_pane_comes_out_at_the_hold(play, combiner, time):
    windows = into(FIXED, timestamp_combiner=combiner)
    assert play(THREE, windows, words()).times == [("abc", time)]


@pytest.mark.parametrize("combiner", [EOW, EARLIEST, LATEST])
def test_the_hold_lasts_until_the_pane_has_gone_out(play, combiner):
    delayed = AfterWatermark(early=AfterProcessingTime(10))
    fired = [arrive(at(3, "a")), watermark(6), clock(10)]
    early = {EOW: 6, EARLIEST: 3, LATEST: 3}[combiner]
    assert reached(play, *fired[:2], trigger=delayed, combiner=combiner, lateness=0) == early
    assert reached(play, *fired, trigger=delayed, combiner=combiner, lateness=0) == 6


def test_each_pane_holds_for_its_own_elements(play):
    events = [arrive(at(3, "a")), arrive(at(8, "b")), watermark(9), arrive(at(9, "c")), END]
    played = play(events, into(FIXED, EACH, timestamp_combiner=EARLIEST), words())
    assert played.times == [("a", 3), ("b", 8), ("c", 9)]


def test_the_earliest_hold_counts(play):
    events = [arrive(at(3, "a", key="x"), at(13, "b", key="x"), at(2, "c", key="y")), watermark(30)]
    assert reached(play, *events, combiner=EARLIEST) == 2
    assert reached(play, *events[:1], watermark(1), combiner=EARLIEST) == 1


def test_a_sliding_element_holds_in_each_of_its_windows(play):
    events = [arrive(at(15, "a")), watermark(100)]
    assert reached(play, *events, windows=SLIDING, lateness=75) == pytest.approx(30 - MICRO)
    assert reached(play, *events, windows=SLIDING, lateness=100) == pytest.approx(20 - MICRO)


def test_late_elements_hold_nothing(play):
    assert reached(play, watermark(12), arrive(at(3, "a")), watermark(14), combiner=EARLIEST) == 14


def test_at_its_last_instant_a_window_still_holds(play):
    events = [watermark(10 - MICRO), arrive(at(3, "a")), watermark(14)]
    assert reached(play, *events) == 10 - MICRO


def test_the_pane_of_late_elements_is_at_the_end_of_the_window(play):
    windows = into(FIXED, EARLY_AND_LATE, lateness=9, timestamp_combiner=EARLIEST)
    played = play([watermark(12), arrive(at(3, "a"))], windows, words())
    assert played.times == [("a", 10 - MICRO)]


@pytest.mark.parametrize("combiner", [EARLIEST, LATEST])
def test_an_element_behind_the_watermark_holds_it_where_it_is(play, combiner):
    """Its window has not ended, so it is not late; but what has been passed cannot be held."""
    events = [watermark(6), arrive(at(3, "a")), watermark(8)]
    assert reached(play, *events, combiner=combiner) == 6
    played = play([*events, END], into(FIXED, timestamp_combiner=combiner), words())
    assert played.times == [("a", 6)]


def test_what_expires_holds_no_more(play):
    assert reached(play, *THREE, watermark(60)) == 60


def test_the_output_watermark_never_goes_back(play):
    events = [
        watermark(2),
        arrive(at(1, "a")),
        arrive(at(12, "b")),
        watermark(8),
        arrive(at(7, "c"), at(3, "d")),
        watermark(11),
        arrive(at(4, "e")),
        watermark(40),
        END,
    ]
    for windows in (FIXED, SLIDING, SESSIONS):
        marks = [
            reached(play, *events[:n], windows=windows, trigger=EARLY_AND_LATE, combiner=EARLIEST)
            for n in range(len(events) + 1)
        ]
        assert marks == sorted(marks)


def chained(play, first, second, *events):
    """What a second grouping makes of the panes of a first."""
    return play(events, first, "first" >> words(), "again" >> second, "second" >> words())


@pytest.mark.parametrize("combiner", [EOW, EARLIEST, LATEST])
@pytest.mark.parametrize("windows", [FIXED, SLIDING, SESSIONS, FixedWindows(2)])
def test_the_next_grouping_is_on_time(play, combiner, windows):
    first = into(FIXED, timestamp_combiner=combiner)
    events = [arrive(at(3, "a"), at(4, "b")), watermark(10), watermark(11), END]
    played = chained(play, first, into(windows), *events)
    assert {timing for _, timing in played.timings} == {"ON_TIME"}
    assert played.dropped == 0


def test_the_next_grouping_waits_for_a_pane_that_waits(play):
    """The source has passed the second window long ago; the pane that it waits for is held back."""
    first = into(FIXED, Repeatedly(AfterProcessingTime(60)), lateness=90)
    story = [arrive(at(3, "a")), watermark(50)]
    assert chained(play, first, into(FIXED), *story).values == []
    played = chained(play, first, into(FIXED), *story, clock(60))
    assert (played.timings, played.moments) == ([("a", "ON_TIME")], [("a", 60)])


def test_holds_reach_through_any_number_of_groupings(play):
    held = into(FIXED, Repeatedly(AfterProcessingTime(60)), lateness=90)
    events = [arrive(at(3, "a")), watermark(50)]
    steps = [held, *(f"grouping {n}" >> words() for n in range(4))]
    waiting = play(events, *steps)
    assert {waiting.watermark(f"grouping {n}") for n in range(4)} == {10 - MICRO}
    played = play([*events, clock(60)], *steps)
    assert (played.values, played.dropped) == (["a"], 0)


def test_holds_reach_through_transforms_of_elements(play):
    held = into(FIXED, Never(), lateness=90)
    events = [arrive(at(3, "a")), watermark(50)]
    played = play(events, held, words(), "map" >> hr.Map(lambda pair: pair))
    assert played.watermark("map") == 10 - MICRO


@hr.ptransform_fn
def WithPanes(pcoll):
    """The elements themselves together with the panes of a grouping that holds them."""
    panes = pcoll | into(FIXED, WAITS, lateness=90) | words()
    return (panes, pcoll) | "both" >> hr.Flatten()


def test_where_branches_meet_the_one_behind_counts(play):
    events = [arrive(at(3, "a")), watermark(50)]
    held = into(FIXED, Never(), lateness=90)
    with pytest.warns(UserWarning, match="differ in trigger"):
        played = play(events, held, "branches" >> WithPanes())
    assert played.watermark("branches/both") == 10 - MICRO


def test_a_merged_session_is_held_at_its_own_end(play):
    events = [arrive(at(0, "a")), arrive(at(8, "b")), watermark(30)]
    assert reached(play, *events, windows=SESSIONS) == 18 - MICRO


@pytest.mark.parametrize(("combiner", "hold"), [(EARLIEST, 0), (LATEST, 15)])
def test_a_merged_session_is_held_for_all_of_its_elements(play, combiner, hold):
    elements = [at(8, "c"), at(15, "b"), at(0, "a")]
    for events in (map(arrive, elements), [arrive(*elements)]):
        played = reached(play, *events, watermark(40), windows=SESSIONS, combiner=combiner)
        assert played == hold
