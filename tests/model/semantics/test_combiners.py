"""Combiners on every runner: statistics and sketches of retracted values, and the life of a CombineFn."""

from collections import Counter
from typing import Any

import pytest

import headrace as hr
from headrace.runners.contents.reductions import Recompute, Subtract, reduction_of
from headrace.testing import TestPipeline, capture
from headrace.transforms.combiners import (
    ApproximateCountDistinctCombineFn,
    CorrelationCombineFn,
    CovarianceCombineFn,
    HeavyHittersCombineFn,
    KllQuantilesCombineFn,
    Largest,
    MeanCombineFn,
    SingleInputTupleCombineFn,
    StandardDeviationCombineFn,
    ThetaSketchCombineFn,
    TupleCombineFn,
    VarianceCombineFn,
)
from headrace.transforms.userstate import CombiningValueStateSpec
from headrace.triggers import AfterCount, AfterWatermark
from tests.model.semantics.scenarios import DISCARDING, END, FIXED, RETRACTING, arrive, at, into

OUTLIER = 1e16
CHANGES = [
    arrive(at(1, 1, "a"), at(1, 2, "b"), at(1, OUTLIER, "c")),
    arrive(at(2, 3, "a")),
    arrive(at(3, 6 - OUTLIER, "c")),
    END,
]
"""Sums per key of 1 and then 4, of 2, and of 10¹⁶ and then 6."""

EARLY = into(FIXED, AfterWatermark(early=AfterCount(1)), RETRACTING)

NUMBERS = SingleInputTupleCombineFn(
    MeanCombineFn(), VarianceCombineFn(), StandardDeviationCombineFn(population=False)
)
PAIRS = SingleInputTupleCombineFn(CovarianceCombineFn(population=True), CorrelationCombineFn())
SKETCHES = SingleInputTupleCombineFn(
    ApproximateCountDistinctCombineFn(), KllQuantilesCombineFn([0, 0.5, 1]), Largest(2)
)


def of_sums(play: Any, transform: Any, *others: Any) -> dict[Any, Any]:
    """Net results of a grouping of sums per key that change."""
    by_none = "name" >> hr.MapTuple(lambda key, total: (None, total))
    sums = "sums" >> hr.CombinePerKey(sum)
    played = play(CHANGES, EARLY, sums, by_none, *others, "of sums" >> transform)
    net: Counter[Any] = Counter()
    for element in played.elements:
        net[repr(element.value[1])] += element.diff
    return {value: number for value, number in net.items() if number}


def test_statistics_subtract_an_outlier_without_a_trace(play):
    assert of_sums(play, hr.CombinePerKey(NUMBERS)) == {"(4.0, 4.0, 2.0)": 1}
    assert isinstance(reduction_of(NUMBERS, changing=True), Subtract)


def test_statistics_of_pairs(play):
    twice = "twice" >> hr.MapTuple(lambda key, total: (key, (total, 3 * total)))
    assert of_sums(play, hr.CombinePerKey(PAIRS), twice) == {"(8.0, 1.0)": 1}


def test_sketches_are_made_again_without_what_is_retracted(play):
    assert of_sums(play, hr.CombinePerKey(SKETCHES)) == {"(3, [2, 4, 6.0], [6.0, 4])": 1}
    assert isinstance(reduction_of(SKETCHES, changing=True), Recompute)


def test_sketches_as_results(play):
    """Results with objects of their own are found again when they are retracted."""
    fn = TupleCombineFn(ThetaSketchCombineFn(), HeavyHittersCombineFn(0.5))
    twice = "twice" >> hr.MapTuple(lambda key, total: (key, (total, "x")))
    counts = "counts" >> hr.CombinePerKey(fn)
    summary = hr.MapTuple(lambda key, found: (key, (found[0].estimate, found[1][0].frequency)))
    assert of_sums(play, summary, twice, counts) == {"(3.0, 3)": 1}


@pytest.mark.mode("batch")
def test_a_distinct_count_is_the_same_on_all_runners(runner):
    fn = ApproximateCountDistinctCombineFn(error=0.05)
    words = [f"word {n % 3000}" for n in range(9000)]
    with TestPipeline(runner=runner) as p:
        pairs = p | hr.Create(words) | hr.WithKeys(len)
        found = capture(pairs | hr.CombinePerKey(SingleInputTupleCombineFn(fn, len_of_sketch())))
    expected = {
        length: (fn.apply(w for w in words if len(w) == length), 1) for length in {*map(len, words)}
    }
    assert dict(found.values) == expected
    assert expected[9] == (1933, 1)


def len_of_sketch():
    """One for any values: a CombineFn beside the sketch."""
    return hr.CombineFn.from_callable(lambda values: 1)


def test_combiners_that_do_not_subtract_are_refused_where_they_would_have_to():
    with TestPipeline() as p:
        sums = p | hr.Create([("a", 1)]) | EARLY | "sums" >> hr.CombinePerKey(sum)
        discarding = sums | "again" >> into(FIXED, AfterWatermark(), DISCARDING)
        with pytest.raises(hr.PipelineError, match=r"subtract_input") as refused:
            discarding | "distinct" >> hr.CombinePerKey(ApproximateCountDistinctCombineFn())
        assert "where: distinct" in str(refused.value)
        assert discarding | "variance" >> hr.CombinePerKey(VarianceCombineFn())


class Opened(hr.CombineFn):
    """A sum that works only between ``setup`` and ``teardown``."""

    factor = 0

    def setup(self, *args: Any) -> None:
        assert not self.factor, "set up twice"
        self.factor = 1

    def create_accumulator(self, *args: Any) -> int:
        assert self.factor
        return 0

    def add_input(self, accumulator: int, element: int, *args: Any) -> int:
        return accumulator + self.factor * element

    def merge_accumulators(self, accumulators: Any, *args: Any) -> int:
        return self.factor * sum(accumulators)

    def compact(self, accumulator: int, *args: Any) -> int:
        return self.factor * accumulator

    def extract_output(self, accumulator: int, *args: Any) -> int:
        return self.factor * accumulator

    def teardown(self, *args: Any) -> None:
        assert self.factor, "torn down before it was set up"
        self.factor = 0


def test_a_combine_fn_is_set_up_before_it_is_used(play):
    whole = "whole" >> hr.CombinePerKey(Opened())
    assert sum(of_sums(play, whole).values()) == 1


@pytest.mark.mode("batch")
def test_the_lifecycle_of_combine_fns_in_a_batch(runner):
    with TestPipeline(runner=runner) as p:
        numbers = p | hr.Create([1, 2, 3])
        both = SingleInputTupleCombineFn(Opened(), Opened())
        found = {
            "globally": numbers | "g" >> hr.CombineGlobally(both, "an argument").with_fanout(2),
            "side": numbers
            | "s" >> hr.Map(lambda n, total: (n, *total), numbers_total(numbers))
            | hr.Filter(lambda pair: pair[0] == 1),
            "lists": p | "l" >> hr.Create([("a", [1, 2])]) | hr.CombineValues(Opened()),
            "again": numbers | "g again" >> hr.CombineGlobally(both, "an argument"),
        }
        captures = {name: capture(pcoll, name) for name, pcoll in found.items()}
    assert {name: made.values for name, made in captures.items()} == {
        "globally": [(6, 6)],
        "side": [(1, 6)],
        "lists": [("a", 3)],
        "again": [(6, 6)],
    }


def numbers_total(numbers):
    fn = SingleInputTupleCombineFn(Opened())
    return numbers | "total" >> hr.CombineGlobally(fn).as_singleton_view()


class Running(hr.DoFn):
    """Emits running totals."""

    TOTAL = CombiningValueStateSpec("total", Opened())

    def process(self, element, total=hr.DoFn.StateParam(TOTAL)):
        total.add(element[1])
        yield element[0], total.read()


def test_a_combine_fn_of_a_state_is_set_up(play):
    played = play([arrive(at(1, 2)), arrive(at(2, 3)), END], into(FIXED), hr.ParDo(Running()))
    assert played.values == [2, 5]
    assert not vars(Running.TOTAL.combine_fn), "each worker has its own"
