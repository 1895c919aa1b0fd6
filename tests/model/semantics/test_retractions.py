"""The rules of retraction, for windows that do not merge, and across chained groupings."""

import pytest

import headrace as hr
from headrace.triggers import AfterCount, AfterProcessingTime, AfterWatermark, Repeatedly
from headrace.windowing import FixedWindows, GlobalWindows
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    DISCARDING,
    EACH,
    EARLY_AND_LATE,
    END,
    FIXED,
    MICRO,
    RETRACTING,
    arrive,
    at,
    into,
    watermark,
    words,
)

DAY = FixedWindows(100)

GROWS = [arrive(at(1, "a")), arrive(at(2, "b")), watermark(10)]


def changing(trigger=EACH, windows=FIXED, **more):
    return into(windows, trigger, RETRACTING, **more)


# Rule 1: transforms see retractions as they see values, and pass the diff on.


def test_transforms_of_elements_run_on_retractions_as_on_values(play):
    upper = "upper" >> hr.MapTuple(lambda key, word: (key, word.upper()))
    twice = "twice" >> hr.FlatMapTuple(lambda key, word: [(key, word), (key, word)])
    longer = "longer" >> hr.Filter(lambda pair: len(pair[1]) > 1)
    assert play(GROWS, changing(), words(), upper).values == ["A", "-A", "AB"]
    assert play(GROWS, changing(), words(), twice).values == ["a", "a", "-a", "-a", "ab", "ab"]
    assert play(GROWS, changing(), words(), longer).values == ["ab"]


def test_a_function_can_see_the_diff(play):
    def seen(pair, diff=hr.DoFn.DiffParam):
        return pair[0], f"{pair[1]}{diff:+}"

    played = play(GROWS, changing(), words(), hr.Map(seen))
    assert played.values == ["a+1", "-a-1", "ab+1"]


@hr.ptransform_fn
def ToTheSide(pcoll):
    """Everything, by the second output of a transform."""
    aside = hr.FlatMap(lambda pair: [hr.TaggedOutput("side", pair)])
    return (pcoll | aside.with_outputs("side")).side


def test_a_retraction_passes_windows_and_further_outputs(play):
    played = play(GROWS, changing(), words(), ToTheSide(), "day" >> into(DAY), hr.Reshuffle())
    assert played.windows == [("a", (0, 100)), ("-a", (0, 100)), ("ab", (0, 100))]


def test_a_changelog_is_plain_data(play):
    log = hr.ToChangelog()
    played = play(GROWS, changing(), words(), log, hr.Map(lambda pair: ("k", [str(pair)])))
    assert [e.diff for e in played.elements] == [1, 1, 1]
    pairs = [e.value[1][0] for e in played.elements]
    assert pairs == ["(1, ('k', 'a'))", "(-1, ('k', 'a'))", "(1, ('k', 'ab'))"]


# Rule 2: the next firing takes the last output back, before it says the new value.


@pytest.mark.parametrize("grouping", [hr.GroupByKey(), words()], ids=["group", "combine"])
def test_the_last_output_is_taken_back_first(play, grouping):
    events = [*GROWS[:2], arrive(at(3, "c")), watermark(10)]
    played = play(events, changing(), "group" >> grouping)
    assert played.values == ["a", "-a", "ab", "-ab", "abc"]


def test_a_retraction_says_all_that_its_value_said(play):
    at_the_time = hr.window.TimestampCombiner.OUTPUT_AT_EARLIEST
    windows = changing(EARLY_AND_LATE, lateness=9, timestamp_combiner=at_the_time)
    events = [arrive(at(3, "a")), watermark(5), arrive(at(7, "b")), watermark(12)]
    played = play([*events, arrive(at(4, "c"))], windows, words())
    assert played.times == [
        ("a", 3),
        ("-a", 3),
        ("ab", 3),
        ("-ab", 3),
        ("ab", 3),
        ("-ab", 3),
        ("abc", 3),
    ]
    *values, _ = [e for e in played.elements if e.diff > 0]
    taken_back = [e for e in played.elements if e.diff < 0]
    assert [(e.windows, e.pane) for e in taken_back] == [(e.windows, e.pane) for e in values]


def test_what_never_fired_is_not_taken_back(play):
    late = changing(AfterWatermark(late=AfterCount(1)), lateness=9)
    assert play(GROWS, late, words()).values == ["ab"]


def test_each_key_and_window_takes_back_its_own(play):
    first = arrive(at(1, "a", "x"), at(1, "b", "y"), at(11, "c", "x"))
    played = play([first, arrive(at(2, "d", "x"))], changing(), words())
    assert played.windows[-2:] == [("-a", (0, 10)), ("ad", (0, 10))]
    assert [e.diff for e in played.elements].count(-1) == 1


def test_an_output_that_stands_at_expiry_stands_for_good(play):
    played = play([*GROWS, watermark(99), END], changing(lateness=50), words())
    assert played.values == ["a", "-a", "ab"]


def test_retractions_are_counted(play):
    steps = play(GROWS, changing(EARLY_AND_LATE), "group" >> words()).steps
    assert steps["group"].retractions == 2
    assert steps["group"].panes == {"EARLY": 2, "ON_TIME": 1}


# Rule 4: a GroupByKey takes one equal value out of its bag.


def regrouped(play, *events, second=None, by=lambda key, word: ("all", word)):
    """Words that change, grouped once more into lists, by other keys."""
    grouping = hr.GroupByKey() if second is None else second
    return play(
        events,
        changing(),
        "first" >> words(),
        hr.MapTuple(by),
        "second" >> grouping,
    )


def lists(played):
    return [(e.diff, e.value[0], sorted(e.value[1])) for e in played.elements]


def test_a_retraction_takes_one_equal_value_out_of_its_group(play):
    events = [arrive(at(1, "a", "x"), at(1, "a", "y")), arrive(at(2, "b", "x"))]
    assert lists(regrouped(play, *events)) == [
        (1, "all", ["a", "a"]),
        (-1, "all", ["a", "a"]),
        (1, "all", ["a", "ab"]),
    ]


def test_equal_means_equal_by_encoding(play):
    """1, 1.0 and True are three values; only the 1 is taken back."""
    kinds = {"x": 1, "y": 1.0, "z": True}

    def by(key, word):
        return "all", kinds[key] if word == "a" else word

    events = [arrive(*(at(1, "a", key) for key in kinds)), arrive(at(2, "b", "x"))]
    played = regrouped(play, *events, by=by)
    *_, last = [e.value[1] for e in played.elements]
    assert sorted(map(repr, last)) == ["'ab'", "1.0", "True"]


def test_values_without_an_encoding_as_keys_can_be_taken_back(play):
    def by(key, word):
        return "all", {key: set(word)}

    played = regrouped(play, *GROWS, by=by)
    assert [(e.diff, e.value[1]) for e in played.elements] == [
        (1, [{"k": {"a"}}]),
        (-1, [{"k": {"a"}}]),
        (1, [{"k": {"a", "b"}}]),
    ]


def test_a_group_that_becomes_empty_sends_the_retraction_alone(play):
    played = regrouped(play, *GROWS, by=lambda key, word: (word, key))
    assert sorted(lists(played)) == [(-1, "a", ["k"]), (1, "a", ["k"]), (1, "ab", ["k"])]


def test_a_combine_that_becomes_empty_sends_the_retraction_alone(play):
    for combine in (sum, max):
        played = regrouped(
            play, *GROWS, by=lambda key, word: (word, 1), second=hr.CombinePerKey(combine)
        )
        assert sorted(played.pairs) == [(-1, "a", 1), (1, "a", 1), (1, "ab", 1)]


def test_a_group_that_was_empty_can_fill_again(play):
    """x says a, then aa, then takes that back as well; y says a."""
    events = [arrive(at(1, "a", "x")), arrive(at(2, "a", "x")), arrive(at(3, "a", "y"))]
    played = regrouped(play, *events, by=lambda key, word: (word, key))
    of_a = [(diff, keys) for diff, word, keys in lists(played) if word == "a"]
    assert of_a == [(1, ["x"]), (-1, ["x"]), (1, ["y"])]
    panes = [e.pane.index for e in played.elements if e.value[0] == "a"]
    assert panes == [0, 0, 1]


def all_but_the_first_a(pair, diff=hr.DoFn.DiffParam):
    """The retraction of "a" passes; the value has to come by another way."""
    return pair != ("k", "a") or diff < 0


@pytest.mark.parametrize("mode", [ACCUMULATING, RETRACTING])
def test_a_retraction_before_its_value_leaves_a_debt_until_both_cancel(play, mode):
    """What "k" says is taken back first and then said by "late", so that nothing is left of it."""
    played = play(
        [
            arrive(at(1, "a")),
            arrive(at(2, "b")),
            arrive(at(3, "a", "late")),
            arrive(at(3, "c", "x")),
        ],
        changing(),
        "words" >> words(),
        hr.Filter(all_but_the_first_a),
        hr.MapTuple(lambda key, word: ("all", word)),
        "again" >> into(FIXED, EACH, mode),
        "group" >> hr.GroupByKey(),
    )
    assert [sorted(e.value[1]) for e in played.elements if e.diff > 0] == [
        ["ab"],
        ["ab"],
        ["ab", "c"],
    ]


# Rule 5: subtract where it can be done, else keep the values.


def test_subtracting_says_the_same_as_computing_anew(play):
    class SlowSum(hr.CombineFn):
        """A sum that cannot subtract."""

        def create_accumulator(self):
            return 0

        def add_input(self, accumulator, number):
            return accumulator + number

        def merge_accumulators(self, accumulators):
            return sum(accumulators)

        def extract_output(self, accumulator):
            return accumulator

    events = [
        arrive(at(1, "a", "x"), at(1, "bc", "y")),
        arrive(at(2, "d", "x")),
        watermark(10),
        arrive(at(3, "efg", "y")),
        END,
    ]

    def total(fn):
        return play(
            events,
            changing(EARLY_AND_LATE, lateness=30),
            "words" >> words(),
            hr.MapTuple(lambda key, word: ("all", len(word))),
            "total" >> hr.CombinePerKey(fn),
        )

    assert not SlowSum().can_subtract
    assert total(sum).elements == total(SlowSum()).elements
    assert total(sum).pairs[-1] == (1, "all", 7)


def test_discarding_panes_of_changes_say_the_change(play):
    """3 is replaced by 5: the next pane says 2."""
    played = play(
        [arrive(at(1, "abc")), arrive(at(2, "de"))],
        changing(),
        "words" >> words(),
        hr.MapTuple(lambda key, word: (key, len(word))),
        "again" >> into(FIXED, EACH, DISCARDING),
        "sum" >> hr.CombinePerKey(sum),
    )
    assert played.pairs == [(1, "k", 3), (1, "k", 2)]


def test_discarding_groups_of_changes_say_what_came_and_what_went(play):
    played = play(
        [arrive(at(1, "a")), arrive(at(2, "b"))],
        changing(),
        "words" >> words(),
        "again" >> into(FIXED, EACH, DISCARDING),
        "group" >> hr.GroupByKey(),
    )
    assert played.pairs == [(1, "k", ["a"]), (1, "k", ["ab"]), (-1, "k", ["a"])]


# All the way down, a chain says what a batch would.


def standing(played):
    """What is left when retractions have taken back what they take back."""
    left = []
    for element in played.elements:
        said = (element.value[0], element.value[1], element.window)
        if element.diff > 0:
            left.append(said)
        else:
            left.remove(said)
    return [(key, word) for key, word, _ in left]


def test_a_retraction_is_never_dropped_apart_from_what_replaces_it(play):
    """Both groupings wait as long; at the last moment an element comes that changes the first."""
    first = changing(EARLY_AND_LATE, lateness=5)
    second = "again" >> changing(EARLY_AND_LATE, FixedWindows(5), lateness=5)
    events = [arrive(at(1, "a")), watermark(15 - MICRO), arrive(at(2, "b")), watermark(15), END]
    played = play(events, first, "first" >> words(), second, "second" >> words())
    assert (standing(played), played.dropped) == ([("k", "ab")], 0)


def test_nor_is_that_of_a_session_that_grew(play):
    """ "ab" stands at 19; then the session grows, and takes it back at 25."""
    first = changing(AfterWatermark(early=AfterCount(2)), hr.window.Sessions(10))
    second = "again" >> changing(EACH)
    events = [arrive(at(0, "a"), at(9, "b")), watermark(18), arrive(at(15, "c")), watermark(24)]
    played = play([*events, END], first, "first" >> words(), second, "second" >> words())
    assert (standing(played), played.dropped) == ([("k", "abc")], 0)


@pytest.mark.parametrize("combiner", ["OUTPUT_AT_EARLIEST", "OUTPUT_AT_LATEST"])
def test_nor_is_that_of_a_pane_inside_its_window(play, combiner):
    """ "a" stands at 3, in the second grouping in [2, 4), which would be over when it is taken back."""
    inside = hr.window.TimestampCombiner[combiner]
    first = changing(AfterWatermark(early=AfterCount(1)), timestamp_combiner=inside)
    second = "again" >> changing(EACH, FixedWindows(2))
    events = [arrive(at(3, "a")), watermark(6), arrive(at(7, "b")), END]
    played = play(events, first, "first" >> words(), second, "second" >> words())
    assert (standing(played), played.dropped) == ([("k", "ab")], 0)


@pytest.mark.parametrize("late", [AfterCount(1), AfterProcessingTime(60)])
def test_a_day_of_changing_hours_is_right_after_every_change(play, late):
    hours = changing(AfterWatermark(early=AfterCount(1), late=late), lateness=200)
    days = "day" >> changing(AfterWatermark(early=AfterCount(1), late=late), DAY, lateness=200)
    events = [
        arrive(at(1, "a"), at(12, "b")),
        watermark(15),
        arrive(at(2, "c"), at(13, "d")),
        watermark(110),
        arrive(at(3, "e")),
        END,
    ]
    played = play(events, hours, "hours" >> words(), days, "days" >> words())
    assert (standing(played), played.dropped) == ([("k", "abcde")], 0)


def test_accumulating_panes_grouped_again_count_double(play):
    """That is why there are retractions."""
    accumulated = into(FIXED, EACH, ACCUMULATING)
    with pytest.warns(UserWarning, match="counts elements more than once"):
        played = play(GROWS, accumulated, "first" >> words(), "second" >> words())
    assert played.values[-1] == "aab"


def test_an_early_global_count_is_right_in_the_end(play):
    """How many words are there of each length?"""
    early = changing(Repeatedly(AfterCount(1)), GlobalWindows())
    letters = [("a", "x"), ("b", "y"), ("c", "x"), ("d", "z")]
    events = [arrive(at(n, letter, key)) for n, (letter, key) in enumerate(letters)]
    played = play(
        events,
        early,
        "words" >> words(),
        hr.MapTuple(lambda key, word: (len(word), key)),
        "count" >> hr.CombinePerKey(hr.combiners.CountCombineFn()),
    )
    assert sorted(standing(played)) == [(1, 2), (2, 1)]
