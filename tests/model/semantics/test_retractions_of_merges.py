"""Retractions of merged windows: the last pane of each part is retracted, each in its own window."""

from typing import Any

import pytest

import headrace as hr
from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.triggers import AfterCount, AfterEach, AfterWatermark, Repeatedly
from headrace.windowing import Sessions
from tests.model.semantics.scenarios import (
    EACH,
    EARLY_AND_LATE,
    END,
    FIXED,
    RETRACTING,
    SESSIONS,
    arrive,
    at,
    into,
    watermark,
    words,
)

APART = [arrive(at(30, "c")), arrive(at(0, "a")), arrive(at(15, "b"))]
"""Three sessions, not in order: [30, 40), [0, 10), [15, 25)."""

SAID = [("c", (30, 40)), ("a", (0, 10)), ("b", (15, 25))]

BRIDGE = arrive(at(8, "x"), at(22, "y"))
"""Makes them one."""


def changing(trigger=EACH, **more):
    return into(SESSIONS, trigger, RETRACTING, **more)


@pytest.mark.parametrize("grouping", [hr.GroupByKey(), words()], ids=["group", "combine"])
def test_every_part_is_taken_back_in_its_own_window_in_order_of_start(play, grouping):
    played = play([*APART, BRIDGE], changing(), "group" >> grouping)
    assert played.windows == [
        *SAID,
        ("-a", (0, 10)),
        ("-b", (15, 25)),
        ("-c", (30, 40)),
        ("abcxy", (0, 40)),
    ]


def test_a_retraction_has_the_timestamp_and_the_pane_of_what_it_takes_back(play):
    earliest = hr.window.TimestampCombiner.OUTPUT_AT_EARLIEST
    played = play([*APART, BRIDGE], changing(timestamp_combiner=earliest), words())
    said = {e.value: (e.timestamp, e.pane) for e in played.elements if e.diff > 0}
    taken_back = {e.value: (e.timestamp, e.pane) for e in played.elements if e.diff < 0}
    assert taken_back == {value: said[value] for value in taken_back}
    assert len(taken_back) == 3


def test_what_never_fired_owes_nothing(play):
    """Only [0, 10) has come to two elements before the merge."""
    twice = changing(Repeatedly(AfterCount(2)))
    events = [arrive(at(0, "a"), at(1, "A")), arrive(at(15, "b")), arrive(at(8, "x"))]
    played = play(events, twice, words())
    assert played.windows == [("Aa", (0, 11)), ("-Aa", (0, 11)), ("Aabx", (0, 25))]


def test_nothing_is_taken_back_before_the_merged_window_fires(play):
    slow = changing(AfterEach(AfterCount(1), Repeatedly(AfterCount(3))))
    waiting = [*APART, arrive(at(8, "x"))]
    assert play(waiting, slow, words()).windows == SAID
    played = play([*waiting, arrive(at(9, "y"), at(9, "z"))], slow, words())
    assert played.windows[3:] == [("-a", (0, 10)), ("-b", (15, 25)), ("abxyz", (0, 25))]


def test_merges_of_merges_owe_all_that_still_stands(play):
    """Parts that merged twice before anything was said of the whole are all taken back then."""
    slow = changing(AfterEach(AfterCount(1), Repeatedly(AfterCount(2))))
    events = [*APART, arrive(at(8, "x")), arrive(at(22, "y"))]
    played = play(events, slow, words())
    assert played.windows == [
        *SAID,
        ("-a", (0, 10)),
        ("-b", (15, 25)),
        ("-c", (30, 40)),
        ("abcxy", (0, 40)),
    ]


def test_a_merged_window_takes_back_what_it_said_itself(play):
    played = play([*APART[1:], arrive(at(8, "x")), arrive(at(9, "y"))], changing(), words())
    assert played.windows[2:] == [
        ("-a", (0, 10)),
        ("-b", (15, 25)),
        ("abx", (0, 25)),
        ("-abx", (0, 25)),
        ("abxy", (0, 25)),
    ]


def test_a_session_that_grows_is_taken_back_in_its_old_window(play):
    played = play([arrive(at(0, "a")), arrive(at(5, "b"))], changing(), words())
    assert played.windows == [("a", (0, 10)), ("-a", (0, 10)), ("ab", (0, 15))]


def test_a_session_that_does_not_grow_goes_on_in_place(play):
    events = [arrive(at(0, "a"), at(8, "b")), arrive(at(3, "c"))]
    played = play(events, changing(), words())
    assert played.windows == [("ab", (0, 18)), ("-ab", (0, 18)), ("abc", (0, 18))]


def test_sessions_that_were_on_time_are_taken_back_by_late_elements(play):
    windows = changing(AfterWatermark(late=AfterCount(1)), lateness=50)
    events = [arrive(at(0, "a"), at(15, "b")), watermark(26), arrive(at(8, "x"))]
    assert play(events, windows, words()).windows == [
        ("a", (0, 10)),
        ("b", (15, 25)),
        ("-a", (0, 10)),
        ("-b", (15, 25)),
        ("abx", (0, 25)),
    ]


def test_each_key_takes_back_its_own(play):
    events = [arrive(at(0, "a", "p"), at(3, "b", "q")), arrive(at(5, "c", "p"))]
    played = play(events, changing(), words())
    assert sorted(played.pairs) == [(-1, "p", "a"), (1, "p", "a"), (1, "p", "ac"), (1, "q", "b")]


def test_the_number_of_sessions_is_right_after_every_change(play):
    """What counts sessions behind a grouping counts down where they merge."""
    day = into(hr.window.FixedWindows(100), EACH, RETRACTING)
    played = play(
        [*APART, BRIDGE, END],
        changing(),
        words(),
        "day" >> day,
        "count" >> hr.CombinePerKey(hr.combiners.CountCombineFn()),
    )
    counts = [e.value[1] for e in played.elements if e.diff > 0]
    assert counts == [1, 2, 3, 1]


def test_sessions_of_sessions(play):
    """A second grouping whose windows merge too takes back and keeps what the first says."""
    wide = into(Sessions(30), EARLY_AND_LATE, RETRACTING, lateness=99)
    played = play(
        [*APART, watermark(50), BRIDGE, END],
        changing(EARLY_AND_LATE, lateness=99),
        "narrow" >> words(),
        "wide" >> wide,
        "again" >> words(),
    )
    standing = list(played.windows)
    for value, window in played.windows:
        if value.startswith("-"):
            standing.remove((value, window))
            standing.remove((value[1:], window))
    assert [value for value, _ in standing] == ["abcxy"]
    assert played.dropped == 0


def test_aligned_windows_behind_sessions_get_each_retraction_where_its_value_is(play):
    """ "a" stood at 9.999999 in [0, 10), its retraction goes there too."""
    behind = "fixed" >> into(FIXED, EACH, RETRACTING)
    events = [arrive(at(0, "a")), arrive(at(5, "b")), END]
    played = play(events, changing(), words(), behind, "again" >> hr.GroupByKey())
    assert sorted(played.windows) == [("-a", (0, 10)), ("a", (0, 10)), ("ab", (10, 20))]


@pytest.mark.parametrize("on_time", hr.trigger.OnTimeBehavior)
def test_a_window_that_shrinks_takes_back_what_it_said_with_nothing_new_in_it(play, on_time):
    """A price that is valid until the next one; that comes late, and the first is done already."""
    windows = into(
        ValidityWindows(), EARLY_AND_LATE, RETRACTING, lateness=50, on_time_behavior=on_time
    )
    events = [arrive(at(0, "a")), arrive(at(20, "c")), watermark(30), arrive(at(10, "b")), END]
    standing: list[Any] = []
    for element in play(events, windows, words()).elements:
        said = (element.value[1], float(element.window.start), float(element.window.end))
        (standing.append if element.diff > 0 else standing.remove)(said)
    assert sorted(standing)[:2] == [("a", 0, 10), ("b", 10, 20)]
    assert len(standing) == 3
