"""Windows that split when an element is retracted, and expired windows that elements in time join."""

from collections import Counter
from typing import Any

import pytest

import headrace as hr
from headrace.triggers import AfterCount, AfterWatermark, Repeatedly
from headrace.windowing import FixedWindows, Sessions, TimestampCombiner
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    DISCARDING,
    EACH,
    END,
    RETRACTING,
    SESSIONS,
    arrive,
    at,
    into,
    watermark,
    words,
)

UNSAFE = ["--allow_unsafe_triggers"]


def retracting(window_fn, trigger=EACH, lateness=1_000, **more):
    return into(window_fn, trigger, RETRACTING, lateness, **more)


def by_amount(windows=None, trigger=EACH):
    """Sum per name, then group the names by sum; in new windows, or in those of the sums."""
    sums = [retracting(windows or SESSIONS), "sum" >> hr.CombinePerKey(sum), hr.KvSwap()]
    again = ["again" >> retracting(SESSIONS, trigger)] if windows else []
    return [*sums, *again, hr.GroupByKey()]


def told(played):
    """What came out, with the key and whole seconds."""
    return [
        (
            e.diff,
            e.value[0],
            "".join(sorted(e.value[1])),
            round(float(e.window.start)),
            round(float(e.window.end)),
        )
        for e in played.elements
    ]


def standing(played):
    net: Counter[Any] = Counter()
    for diff, *said in told(played):
        net[tuple(said)] += diff
    return sorted((+net).elements())


BRIDGE_GOES = [
    arrive(at(1, 5, "a")),
    arrive(at(8, 5, "b")),
    arrive(at(12, 5, "c")),
    arrive(at(9, 1, "b")),
]


def test_a_session_comes_apart_when_what_joined_it_is_taken_back(play):
    played = play(BRIDGE_GOES, *by_amount(FixedWindows(5)))
    assert [said for said in told(played) if said[1] == 5][-3:] == [
        (-1, 5, "abc", 5, 25),
        (1, 5, "a", 5, 15),
        (1, 5, "c", 15, 25),
    ]
    assert standing(played) == [(5, "a", 5, 15), (5, "c", 15, 25), (6, "b", 10, 20)]


def test_so_it_does_in_the_windows_of_the_grouping_before(play):
    events = [
        arrive(at(1, 5, "a")),
        arrive(at(8, 5, "b")),
        arrive(at(15, 5, "c")),
        arrive(at(9, 1, "b")),
        END,
    ]
    assert standing(play(events, *by_amount())) == [
        (5, "a", 1, 11),
        (5, "c", 15, 25),
        (6, "b", 8, 19),
    ]


def test_parts_speak_at_once_whatever_their_trigger_waits_for(play):
    """The grouping by amount waits for three elements each time; the fourth is a retraction."""
    played = play(BRIDGE_GOES, *by_amount(FixedWindows(5), Repeatedly(AfterCount(3))))
    assert told(played) == [
        (1, 5, "abc", 5, 25),
        (-1, 5, "abc", 5, 25),
        (1, 5, "a", 5, 15),
        (1, 5, "c", 15, 25),
    ]


def test_a_part_that_comes_back_joins_them_again_and_numbers_go_on(play):
    back = arrive(at(9, -1, "b"))
    played = play([*BRIDGE_GOES, back, END], *by_amount(FixedWindows(5)))
    assert standing(played) == [(5, "abc", 5, 25)]
    numbers = [
        e.pane.index
        for e in played.elements
        if e.diff > 0 and sorted(e.value[1]) == ["a", "b", "c"]
    ]
    assert numbers == [0, 1]


@pytest.mark.parametrize("combiner", TimestampCombiner)
def test_a_pane_lies_where_a_batch_puts_it(play, combiner):
    """In the next grouping: the earliest, the latest, or the last instant of all that was summed."""
    first = retracting(FixedWindows(20), timestamp_combiner=combiner)
    behind = "behind" >> retracting(FixedWindows(10))
    events = [arrive(at(1, "a")), arrive(at(15, "b")), arrive(at(4, "c")), watermark(21), END]
    played = play(events, first, words(), behind, "again" >> words())
    start = 0 if combiner is TimestampCombiner.OUTPUT_AT_EARLIEST else 10
    assert standing(played) == [("k", "abc", start, start + 10)]


def test_the_latest_that_goes_lets_the_timestamp_fall_back(play):
    latest = retracting(FixedWindows(30), timestamp_combiner=TimestampCombiner.OUTPUT_AT_LATEST)
    events = [arrive(at(1, 5, "a")), arrive(at(12, 5, "b")), arrive(at(13, 1, "b")), END]
    played = play(
        events,
        retracting(FixedWindows(5)),
        "sum" >> hr.CombinePerKey(sum),
        hr.KvSwap(),
        "latest" >> latest,
        "by amount" >> hr.GroupByKey(),
        "tens" >> retracting(FixedWindows(10)),
        "again" >> hr.CombinePerKey(hr.combiners.CountCombineFn()),
    )
    net: Counter[Any] = Counter()
    for e in played.elements:
        net[e.value[0], round(float(e.window.start))] += e.diff
    assert sorted((+net).elements()) == [(5, 0), (6, 10)]
    assert played.dropped == 0


@pytest.mark.parametrize(
    ("reached", "said"),
    [(19, [("ab", (0, 19))]), (20, [("a", (0, 10)), ("c", (12, 22))])],
)
def test_an_element_in_time_joins_a_session_that_has_expired(play, reached, said):
    """For one gap after it has expired; an element of then begins later."""
    late = at(9, "b") if reached < 20 else at(12, "c")
    before = reached - 1 if reached < 20 else reached
    events = [arrive(at(0, "a")), watermark(before), arrive(late), END]
    played = play(events, into(SESSIONS, AfterWatermark(), ACCUMULATING), words())
    assert played.windows[-len(said) :] == said
    assert played.dropped == 0


def test_an_expired_session_is_taken_back_in_time_for_the_next_grouping(play):
    sessions = retracting(SESSIONS, AfterWatermark(), lateness=0)
    behind = "behind" >> retracting(FixedWindows(10), AfterWatermark(), lateness=0)
    events = [arrive(at(0, "a")), watermark(12), arrive(at(9, "b")), watermark(15), END]
    played = play(events, sessions, words(), behind, "again" >> words())
    assert standing(played) == [("k", "ab", 10, 20)]
    assert played.dropped == 0


def test_sessions_of_sessions_find_each_other_however_long_they_are(play):
    """That of "b" is over long before that of "a", which began before it."""
    sessions = retracting(SESSIONS, AfterWatermark(), lateness=0)
    events = [arrive(at(0, "a", "x"), at(5, "b", "y")), arrive(at(9, "a", "x"))]
    for time in range(18, 60, 9):
        events += [watermark(time), arrive(at(time, "a", "x"))]
    one = "one" >> hr.MapTuple(lambda key, word: ("all", word))
    played = play([*events, END], sessions, words(), one, "again" >> words())
    assert standing(played) == [("all", "aaaaaaab", 0, 64)]
    assert played.dropped == 0


def test_an_element_that_is_dropped_stretches_no_session(play):
    once = into(SESSIONS, AfterCount(1), RETRACTING)
    events = [arrive(at(0, "a")), arrive(at(5, "b")), END]
    played = play(events, once, words(), flags=UNSAFE)
    assert (played.windows, played.dropped) == ([("a", (0, 10))], 1)


def small_sums():
    """Sums by second, which change with each element; those of 3 and more are not seen."""
    sums = ["small" >> retracting(FixedWindows(1), lateness=100), "sum" >> hr.CombinePerKey(sum)]
    return [*sums, hr.Filter(lambda pair: pair[1] < 3)]


def into_closing(trigger, mode=RETRACTING):
    return into(Sessions(5), trigger, mode, 100, late_output_tag="late")


def test_what_cancels_a_dropped_element_is_dropped_with_it(play):
    """The session of 1 has closed; the sum 2 is dropped, changes to 5, which is not seen, and comes back."""
    events = [arrive(at(44, 1)), arrive(at(40, 2)), arrive(at(40, 3)), arrive(at(40, -3)), END]
    closing = [into_closing(AfterCount(1)), "again" >> hr.CombinePerKey(sum)]
    played = play(events, *small_sums(), *closing, late=True, flags=UNSAFE)
    assert played.values == [1]
    assert [(e.diff, e.value[1]) for e in played.late] == [(1, 2), (-1, 2), (1, 2)]


@pytest.mark.parametrize(
    ("mode", "values"),
    [(RETRACTING, [1, (1, -1), 3]), (ACCUMULATING, [1, 3]), (DISCARDING, [1, 2])],
)
def test_a_window_that_opens_again_takes_no_retraction_of_what_it_dropped(play, mode, values):
    """The session of 44 has closed when it drops the sum 2; then it merges with one that is open."""
    events = [arrive(at(44, 1)), watermark(54), arrive(at(46, 2)), arrive(at(52, 1))]
    events += [arrive(at(48, 1)), arrive(at(46, 3)), END]
    closing = [into_closing(AfterWatermark(), mode), "again" >> hr.CombinePerKey(sum)]
    played = play(events, *small_sums(), *closing, late=True, flags=UNSAFE)
    assert played.values == values
    assert [(e.diff, e.value[1]) for e in played.late] == [(1, 2), (-1, 2)]


def all_but_values_of_k(pair, diff=hr.DoFn.DiffParam):
    """Retractions of "k" pass; their values have to come by another way."""
    return pair[0] != "k" or diff < 0


def test_a_value_whose_retraction_came_before_it_is_not_dropped(play):
    """What "k" says is taken back; "late" says it after the session of "x", which it would join, closed."""
    events = [arrive(at(1, "a")), arrive(at(1, "b")), arrive(at(0, "c", "x"))]
    played = play(
        [*events, arrive(at(1, "a", "late")), END],
        retracting(FixedWindows(1), lateness=100),
        "words" >> words(),
        hr.Filter(all_but_values_of_k),
        hr.MapTuple(lambda key, word: ("all", word)),
        "closing" >> into_closing(AfterCount(1)),
        hr.GroupByKey(),
        late=True,
        flags=UNSAFE,
    )
    assert ([e.value[1] for e in played.elements], played.late) == ([["c"]], [])


def test_what_begins_before_all_that_is_known_is_dropped(play):
    """The first session is gone at 20; the element at 8 might have joined it to the one of 14."""
    events = [
        arrive(at(0, "a")),
        watermark(20),
        arrive(at(14, "b")),
        watermark(22),
        arrive(at(9, "c")),
        END,
    ]
    played = play(events, into(SESSIONS), words())
    assert (played.windows, played.dropped) == ([("a", (0, 10)), ("b", (14, 24))], 1)
