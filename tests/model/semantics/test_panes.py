"""Pane info: index and timing, the contents of a pane in each mode, and empty panes."""

import pytest

import headrace as hr
from headrace.triggers import (
    AfterProcessingTime,
    AfterWatermark,
    ClosingBehavior,
    OnTimeBehavior,
    Repeatedly,
)
from headrace.windowing import GlobalWindows
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    AT_THE_END,
    DISCARDING,
    EACH,
    EARLY_AND_LATE,
    END,
    FIXED,
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

LIFE = [
    arrive(at(1, "a")),
    arrive(at(2, "b")),
    arrive(at(3, "c")),
    watermark(10),
    arrive(at(4, "d")),
    arrive(at(5, "e")),
    watermark(30),
]
"""Three bundles early, two late."""


def numbers(played):
    """Index, and number among the panes that are not early."""
    return [(e.pane.index, e.pane.nonspeculative_index) for e in played.elements]


def ends(played):
    """Whether a pane is the first or the last."""
    return [(e.pane.is_first, e.pane.is_last) for e in played.elements]


def test_panes_are_early_then_on_time_then_late(play):
    played = play(LIFE, into(FIXED, EARLY_AND_LATE, lateness=15), words())
    assert [timing for _, timing in played.timings] == [*["EARLY"] * 3, "ON_TIME", *["LATE"] * 2]


def test_index_counts_all_panes_and_nonspeculative_index_those_not_early(play):
    played = play(LIFE, into(FIXED, EARLY_AND_LATE, lateness=15), words())
    assert numbers(played) == [(0, -1), (1, -1), (2, -1), (3, 0), (4, 1), (5, 2)]


def test_the_first_pane_is_the_first(play):
    played = play(LIFE, into(FIXED, EARLY_AND_LATE, lateness=15), words())
    assert [first for first, _ in ends(played)] == [True, *[False] * 5]


def test_no_pane_is_the_last_unless_nothing_can_follow(play):
    played = play(LIFE, into(FIXED, EARLY_AND_LATE, lateness=15), words())
    assert not any(last for _, last in ends(played))


def test_the_pane_at_expiry_is_the_last(play):
    slow = AfterWatermark(late=AfterProcessingTime(99))
    played = play(LIFE, into(FIXED, slow, lateness=15), words())
    assert played.timings == [("abc", "ON_TIME"), ("de", "LATE")]
    assert ends(played) == [(True, False), (False, True)]


def test_an_only_pane_is_first_and_last(play):
    played = play([arrive(at(1, "a")), END], into(FIXED), words())
    assert (numbers(played), ends(played)) == ([(0, 0)], [(True, True)])


def test_panes_are_counted_for_each_key_and_window(play):
    events = [arrive(at(1, "a", "x"), at(1, "b", "y"), at(11, "c", "x")), arrive(at(2, "d", "x"))]
    played = play(events, into(FIXED, EACH), words())
    found = {pane.value: pane.pane.index for pane in played.elements}
    assert found == {("x", "a"): 0, ("y", "b"): 0, ("x", "c"): 0, ("x", "d"): 1}


def test_a_pane_is_early_while_the_watermark_is_not_past_the_window(play):
    at_the_last_instant = [watermark(10 - MICRO), arrive(at(1, "a"))]
    assert play(at_the_last_instant, into(FIXED, EACH), words()).timings == [("a", "EARLY")]


def test_the_first_pane_past_the_window_is_on_time(play):
    """However late it is; it is only LATE if a pane that was not early went out before."""
    windows = into(FIXED, EARLY_AND_LATE, lateness=20)
    events = [watermark(10), arrive(at(1, "a")), arrive(at(2, "b"))]
    assert play(events, windows, words()).timings == [("a", "ON_TIME"), ("b", "LATE")]


def test_a_window_has_one_pane_on_time_at_the_most(play):
    windows = into(FIXED, EARLY_AND_LATE, ACCUMULATING, lateness=50)
    events = [arrive(at(1, "a")), *map(watermark, range(8, 40, 3)), arrive(at(2, "b")), END]
    timings = [timing for _, timing in play(events, windows, words()).timings]
    assert timings.count("ON_TIME") == 1


@pytest.mark.parametrize(
    ("mode", "values"),
    [
        (DISCARDING, ["a", "b", "c", "", "d", "e"]),
        (ACCUMULATING, ["a", "ab", "abc", "abc", "abcd", "abcde"]),
        (
            RETRACTING,
            ["a", "-a", "ab", "-ab", "abc", "-abc", "abc", "-abc", "abcd", "-abcd", "abcde"],
        ),
    ],
)
@pytest.mark.parametrize("grouping", [hr.GroupByKey(), words()], ids=["group", "combine"])
def test_what_a_pane_says_of_those_before(play, grouping, mode, values):
    played = play(LIFE, into(FIXED, EARLY_AND_LATE, mode, lateness=15), "group" >> grouping)
    assert played.values == values


@pytest.mark.parametrize("mode", [DISCARDING, ACCUMULATING, RETRACTING])
def test_a_window_that_fires_once_says_the_same_in_every_mode(play, mode):
    played = play(LIFE[:4], into(FIXED, AfterWatermark(), mode), words())
    assert played.timings == [("abc", "ON_TIME")]


class Inside(hr.combiners.ToListCombineFn):
    """Gives out a part of its accumulator."""

    def create_accumulator(self):
        return [[]]

    def add_inputs(self, accumulator, elements):
        accumulator[0].extend(elements)
        return accumulator

    def merge_accumulators(self, accumulators):
        first, *others = accumulators
        for other in others:
            first[0].extend(other[0])
        return first

    def extract_output(self, accumulator):
        return accumulator[0]


LISTS = hr.combiners.ToListCombineFn()


@pytest.mark.parametrize(
    ("combine", "part"),
    [
        (LISTS, list),
        (hr.combiners.ToSetCombineFn(), set),
        (Inside(), list),
        (hr.combiners.SingleInputTupleCombineFn(LISTS, LISTS), lambda word: (list(word),) * 2),
    ],
)
@pytest.mark.parametrize(
    ("mode", "values"),
    [(ACCUMULATING, ["a", "ab"]), (RETRACTING, ["a", "a", "ab"])],
)
def test_what_a_pane_says_does_not_change_as_more_comes(play, mode, values, combine, part):
    played = play(LIFE[:2], into(FIXED, EACH, mode), hr.CombinePerKey(combine))
    assert [element.value[1] for element in played.elements] == list(map(part, values))


FIRED_EARLY = [arrive(at(1, "a")), watermark(10)]


@pytest.mark.parametrize(
    ("mode", "empty"), [(DISCARDING, [""]), (ACCUMULATING, ["a"]), (RETRACTING, ["-a", "a"])]
)
def test_the_pane_on_time_comes_even_with_nothing_new(play, mode, empty):
    played = play(FIRED_EARLY, into(FIXED, EARLY_AND_LATE, mode), words())
    assert played.values == ["a", *empty]
    assert played.timings[-1][1] == "ON_TIME"


def nothing(combine):
    """What a combine makes of nothing."""
    return hr.CombinePerKey(combine)


@pytest.mark.parametrize(
    ("grouping", "identity"),
    [
        (nothing(sum), 0),
        (nothing(max), None),
        (nothing(hr.combiners.CountCombineFn()), 0),
        (nothing(hr.combiners.ToListCombineFn()), []),
        (words(), ""),
        (hr.GroupByKey(), []),
    ],
)
def test_an_empty_discarding_pane_gives_the_identity(play, grouping, identity):
    events = [arrive(at(1, "a" if identity == "" else 7)), watermark(10)]
    played = play(events, into(FIXED, EARLY_AND_LATE), "group" >> grouping)
    assert played.elements[-1].value == ("k", identity)


def test_unless_an_empty_pane_on_time_is_not_wanted(play):
    windows = into(
        FIXED, EARLY_AND_LATE, lateness=9, on_time_behavior=OnTimeBehavior.FIRE_IF_NON_EMPTY
    )
    assert play(FIRED_EARLY, windows, words()).timings == [("a", "EARLY")]
    late = play([*FIRED_EARLY, arrive(at(2, "b"))], windows, words())
    assert late.timings == [("a", "EARLY"), ("b", "ON_TIME")]


def test_a_trigger_that_does_not_wait_for_the_watermark_has_no_empty_pane_on_time(play):
    assert play([*FIRED_EARLY, END], into(FIXED, EACH), words()).timings == [("a", "EARLY")]


def test_a_key_without_elements_has_no_panes(play):
    events = [arrive(at(1, "a")), watermark(10), watermark(20), END]
    assert play(events, into(FIXED, EARLY_AND_LATE), words()).windows == [
        ("a", (0, 10)),
        ("", (0, 10)),
    ]


ON_TIME_THEN_CLOSED = [arrive(at(1, "a")), watermark(10), watermark(15)]


def test_a_last_pane_with_nothing_new_does_not_come(play):
    windows = into(FIXED, lateness=5)
    assert play(ON_TIME_THEN_CLOSED, windows, words()).timings == [("a", "ON_TIME")]


@pytest.mark.parametrize(
    ("mode", "empty"), [(DISCARDING, [""]), (ACCUMULATING, ["a"]), (RETRACTING, ["-a", "a"])]
)
def test_unless_an_empty_last_pane_is_wanted(play, mode, empty):
    always = ClosingBehavior.FIRE_ALWAYS
    windows = into(FIXED, AT_THE_END, mode, lateness=5, closing_behavior=always)
    played = play(ON_TIME_THEN_CLOSED, windows, words())
    assert played.values == ["a", *empty]
    assert (played.timings[-1][1], ends(played)[-1]) == ("LATE", (False, True))


def test_a_last_pane_on_time_is_not_followed_by_another(play):
    windows = into(FIXED, closing_behavior=ClosingBehavior.FIRE_ALWAYS)
    assert play(ON_TIME_THEN_CLOSED, windows, words()).timings == [("a", "ON_TIME")]


def test_empty_means_nothing_new_whatever_was_there_before(play):
    windows = into(FIXED, EARLY_AND_LATE, ACCUMULATING, lateness=5)
    played = play([*FIRED_EARLY, watermark(15), END], windows, words())
    assert played.timings == [("a", "EARLY"), ("a", "ON_TIME")]


def test_a_merge_starts_the_count_anew(play):
    events = [
        arrive(at(0, "a")),
        arrive(at(0, "b")),
        arrive(at(25, "c")),
        arrive(at(8, "d")),
        arrive(at(9, "e")),
    ]
    played = play(events, into(SESSIONS, EACH), words())
    assert played.windows == [
        ("a", (0, 10)),
        ("b", (0, 10)),
        ("c", (25, 35)),
        ("d", (0, 18)),
        ("e", (0, 19)),
    ]
    assert numbers(played) == [(0, -1), (1, -1), (0, -1), (0, -1), (0, -1)]
    assert [first for first, _ in ends(played)] == [True, False, True, True, True]


def test_elements_that_do_not_change_a_session_go_on_counting(play):
    events = [arrive(at(0, "a"), at(5, "b")), arrive(at(2, "c")), arrive(at(3, "d"))]
    assert numbers(play(events, into(SESSIONS, EACH), words())) == [(0, -1), (1, -1), (2, -1)]


def test_a_session_that_was_on_time_is_late_after_a_merge(play):
    windows = into(SESSIONS, EARLY_AND_LATE, lateness=20)
    events = [arrive(at(0, "a")), watermark(12), arrive(at(8, "b")), watermark(18)]
    played = play(events, windows, words())
    assert played.timings == [("a", "EARLY"), ("", "ON_TIME"), ("b", "LATE")]
    assert numbers(played) == [(0, -1), (1, 0), (0, 0)]


def test_processing_time_does_not_make_a_pane_late(play):
    delayed = into(GlobalWindows(), Repeatedly(AfterProcessingTime(10)), ACCUMULATING)
    events = [arrive(at(1, "a")), clock(10), arrive(at(1, "b")), clock(99), END]
    assert play(events, delayed, words()).timings == [("a", "EARLY"), ("ab", "EARLY")]
