"""Combiners with Beam's names and arguments."""

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, assert_that, capture, equal_to
from headrace.testing.laws import check_combine_fn
from headrace.transforms.combiners import (
    Largest,
    Sample,
    SingleInputTupleCombineFn,
    Smallest,
    TopCombineFn,
    TupleCombineFn,
)
from headrace.transforms.display import DisplayData
from headrace.transforms.stats import ApproximateQuantiles
from headrace.windowing import FixedWindows


def test_largest_and_smallest():
    with TestPipeline() as p:
        numbers = p | hr.Create([6, 3, 9, 1])
        assert_that(numbers | hr.CombineGlobally(Largest(2)), equal_to([[9, 6]]))
        bottom = numbers | hr.WithKeys("k") | hr.CombinePerKey(Smallest(2))
        assert_that(bottom, equal_to([("k", [1, 3])]), label="smallest")
    check_combine_fn(Smallest(2), [3, 1, 2, 5])


def test_top_values_without_compact():
    class NeverCompact(TopCombineFn):
        def compact(self, accumulator):
            return accumulator

    assert NeverCompact(2).apply([1, 3, 2]) == [3, 2]
    check_combine_fn(NeverCompact(2), [3, 1, 2, 5])


def test_some_elements_of_each_window():
    times = [hr.TimestampedValue(n, n) for n in (0, 1, 2, 10, 11)]
    with TestPipeline() as p:
        windowed = p | TestStream().add_elements(times) | hr.WindowInto(FixedWindows(10))
        few = capture(windowed | Sample.Any(2), "few")
        none = capture(windowed | "zero" >> Sample.Any(0), "none")
        all_of_them = capture(windowed | "nine" >> Sample.Any(9), "all")
    assert [float(e.window.start) for e in few.elements] == [0, 0, 10, 10]
    assert (none.values, sorted(all_of_them.values)) == ([], [0, 1, 2, 10, 11])
    with pytest.raises(hr.PipelineError, match=r"Any\(-1\)"):
        Sample.Any(-1)


@pytest.mark.parametrize("size", [2, 3, 100])
def test_accumulators_of_tuples_are_merged_in_batches(size):
    merged = []

    class Watched(hr.CombineFn):
        def create_accumulator(self):
            return 0

        def add_input(self, accumulator, element):
            return accumulator + element

        def merge_accumulators(self, accumulators):
            together = list(accumulators)
            merged.append(len(together))
            return sum(together)

        def extract_output(self, accumulator):
            return accumulator

    fn = TupleCombineFn(Watched(), sum, merge_accumulators_batch_size=size)
    accumulators = ([n, n] for n in range(10))
    assert fn.merge_accumulators(accumulators) == [45, 45]
    assert max(merged) <= size + 1


def test_additional_arguments_go_to_each_part_of_a_tuple():
    class Scaled(hr.CombineFn):
        def create_accumulator(self, factor):
            return 0

        def add_input(self, accumulator, element, factor):
            return accumulator + element * factor

        def subtract_input(self, accumulator, element, factor):
            return accumulator - element * factor

        def merge_accumulators(self, accumulators, factor):
            return sum(accumulators)

        def extract_output(self, accumulator, factor):
            return accumulator

    both = SingleInputTupleCombineFn(Scaled(), Scaled())
    with TestPipeline() as p:
        found = capture(p | hr.Create([1, 2]) | hr.CombineGlobally(both, 10))
    assert found.values == [(30, 30)]
    accumulator = both.add_inputs(both.create_accumulator(10), [1, 2], 10)
    assert both.subtract_input(accumulator, 2, 10) == [10, 10]


def shown(thing):
    return {item.key: item.value for item in DisplayData.create_from(thing).items}


def test_display_data():
    assert shown(hr.CombinePerKey(Largest(3))) == {"combine_fn": Largest, "n": 3, "compare": "lt"}
    assert shown(hr.CombineGlobally(Smallest(3), ...)) == {
        "combine_fn": Smallest,
        "n": 3,
        "compare": "gt",
    }
    assert shown(Sample.FixedSizeGlobally(5)) == {"n": 5}
    assert shown(TupleCombineFn(max, sum))["combiners"] == "['max', 'sum']"
    assert shown(ApproximateQuantiles.PerKey(3, key=len)) == {
        "num_quantiles": 3,
        "key": "len",
        "reverse": "False",
        "weighted": "False",
        "input_batched": "False",
    }
