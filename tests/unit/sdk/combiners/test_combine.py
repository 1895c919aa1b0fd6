"""Combining: the algebra of CombineFns, and what combining transforms give out."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.testing import (
    TestPipeline,
    TestStream,
    assert_that,
    capture,
    equal_to,
    is_empty,
)
from headrace.testing.laws import check_combine_fn
from headrace.transforms.combiners import (
    CountCombineFn,
    EarliestCombineFn,
    LatestCombineFn,
    MeanCombineFn,
    SampleCombineFn,
    SingleInputTupleCombineFn,
    ToDictCombineFn,
    ToListCombineFn,
    TopCombineFn,
    ToSetCombineFn,
    TupleCombineFn,
)
from headrace.transforms.stats import ApproximateQuantiles, ApproximateQuantilesCombineFn
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly
from headrace.windowing import FixedWindows, GlobalWindows
from headrace.windowing.time.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamp


class Product(hr.CombineFn):
    def create_accumulator(self):
        return 1

    def add_input(self, accumulator, element):
        return accumulator * element

    def merge_accumulators(self, accumulators):
        return math.prod(accumulators)

    def extract_output(self, accumulator):
        return accumulator


COMBINE_FNS = {
    "sum": hr.CombineFn.from_callable(sum),
    "min": hr.CombineFn.from_callable(min),
    "max": hr.CombineFn.from_callable(max),
    "any": hr.CombineFn.from_callable(any),
    "product": Product(),
    "count": CountCombineFn(),
    "mean": MeanCombineFn(),
    "top": TopCombineFn(3),
    "bottom": TopCombineFn(2, reverse=True),
    "list": ToListCombineFn(),
    "set": ToSetCombineFn(),
    "tuple": SingleInputTupleCombineFn(sum, max, CountCombineFn()),
    "subtracting tuple": SingleInputTupleCombineFn(sum, MeanCombineFn(), CountCombineFn()),
    "quantiles": ApproximateQuantilesCombineFn(5),
}
SUBTRACTING = {"sum", "count", "mean", "subtracting tuple", "quantiles"}

CLASSES = [
    kind
    for module in (hr.combiners, hr.transforms.stats)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, hr.CombineFn)
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_combiner_says_whether_it_subtracts(kind):
    said = (kind.__doc__ or "").split("\n\n")[0]
    assert hasattr(kind, "subtract_input") == ("can subtract" in said)
    assert ("can subtract" in said) != ("cannot subtract" in said)


Parts = st.lists(st.lists(st.integers(-50, 50)), min_size=1)


def combined(fn, parts):
    """The result of values that are combined in parts, which are then merged."""
    accumulators = [fn.add_inputs(fn.create_accumulator(), part) for part in parts]
    return fn.extract_output(fn.compact(fn.merge_accumulators(accumulators)))


def in_order(result):
    return sorted(result) if isinstance(result, list | set) else result


def same(one, other):
    return repr(in_order(one)) == repr(in_order(other))  # NaN is the same as NaN


@pytest.mark.parametrize("name", COMBINE_FNS)
@given(parts=Parts)
def test_it_does_not_matter_how_values_are_divided(name, parts) -> None:
    fn = COMBINE_FNS[name]
    together = [value for part in parts for value in part]
    assert same(combined(fn, parts), fn.apply(together))


@pytest.mark.parametrize("name", COMBINE_FNS)
@given(values=st.lists(st.integers(-50, 50)))
def test_it_does_not_matter_whether_values_come_one_by_one(name, values) -> None:
    fn = COMBINE_FNS[name]
    accumulator = fn.create_accumulator()
    for value in values:
        accumulator = fn.add_input(accumulator, value)
    assert same(fn.extract_output(accumulator), fn.apply(values))


@pytest.mark.parametrize("name", sorted(SUBTRACTING))
@given(kept=st.lists(st.integers(-50, 50)), taken=st.lists(st.integers(-50, 50)))
def test_what_is_subtracted_was_never_there(name, kept, taken) -> None:
    fn: Any = COMBINE_FNS[name]
    accumulator = fn.add_inputs(fn.create_accumulator(), kept + taken)
    for value in taken:
        accumulator = fn.subtract_input(accumulator, value)
    assert same(fn.extract_output(accumulator), fn.apply(kept))


def test_who_can_subtract() -> None:
    assert {name for name, fn in COMBINE_FNS.items() if fn.can_subtract} == SUBTRACTING


def test_a_subclass_can_subtract_by_saying_how() -> None:
    class Subtracting(Product):
        def subtract_input(self, accumulator, element):
            return accumulator / element

    assert Subtracting().can_subtract


@given(st.lists(st.integers(-9, 9)))
def test_extremes(values) -> None:
    assert COMBINE_FNS["min"].apply(values) == min(values, default=None)
    assert COMBINE_FNS["top"].apply(values) == sorted(values, reverse=True)[:3]
    assert COMBINE_FNS["bottom"].apply(values) == sorted(values)[:2]


def test_top_by_key() -> None:
    assert TopCombineFn(2, key=abs).apply([1, -5, 3]) == [-5, 3]
    assert TopCombineFn(1, key=abs, reverse=True).apply([2, -1, 3]) == [-1]


@given(
    st.lists(st.integers()), st.integers(0, 5), st.lists(st.integers(0, 3), min_size=1, max_size=5)
)
def test_a_sample_is_a_part_of_the_values(values, size, cuts) -> None:
    sample = SampleCombineFn(size).apply(values)
    assert len(sample) == min(size, len(values))
    rest = list(values)
    for value in sample:
        rest.remove(value)


def test_a_sample_comes_from_its_seed() -> None:
    values = range(1000)
    assert SampleCombineFn(5).apply(values) == SampleCombineFn(5).apply(values)
    assert SampleCombineFn(5).apply(values) != SampleCombineFn(5, seed=1).apply(values)


def test_every_value_is_equally_likely_in_a_sample() -> None:
    drawn = [v for seed in range(400) for v in SampleCombineFn(2, seed).apply(["a", "b", "b", "c"])]
    assert 340 < drawn.count("b") < 460


@given(st.permutations([("a", 1), ("b", 3), ("c", 3), ("d", 2)]))
def test_the_latest_does_not_depend_on_arrival(stamped) -> None:
    assert LatestCombineFn().apply(stamped) == "c"


@given(st.permutations([("a", 2), ("b", 1), ("c", 1), ("d", 3)]))
def test_the_earliest_does_not_depend_on_arrival(stamped) -> None:
    assert EarliestCombineFn().apply(stamped) == "c"


@pytest.mark.parametrize("fn", [EarliestCombineFn(), LatestCombineFn()])
def test_the_value_by_time_of_nothing(fn) -> None:
    assert fn.apply([]) is None


@pytest.mark.parametrize("fn", [EarliestCombineFn(), LatestCombineFn()])
def test_values_by_time_obey_the_laws(fn) -> None:
    """Also at the ends of time, and with None, which an accumulator without values has."""
    values = st.none() | st.integers(0, 3) | st.tuples(st.integers(0, 3))
    times = st.sampled_from([MIN_TIMESTAMP, Timestamp(1), Timestamp(2), MAX_TIMESTAMP])
    check_combine_fn(fn, st.tuples(values, times))


@given(st.permutations([("a", 1), ("a", 2), ("b", 3)]))
def test_a_dict_does_not_depend_on_arrival(pairs) -> None:
    assert ToDictCombineFn().apply(pairs) == {"a": 2, "b": 3}


def test_a_tuple_item_by_item() -> None:
    assert TupleCombineFn(sum, max).apply([(1, 5), (2, 3)]) == (3, 5)
    assert TupleCombineFn(sum, max).apply([]) == (0, None)
    assert TupleCombineFn(sum, max).with_common_input().apply([1, 2]) == (3, 2)


def test_a_class_is_no_combine_fn() -> None:
    with pytest.raises(TypeError, match=r"use Product\(\)"):
        hr.CombinePerKey(Product)
    with pytest.raises(TypeError, match="expected a CombineFn or a function"):
        hr.CombinePerKey(3)  # type: ignore[call-overload]


def sum_above(values, least, most=100):
    return sum(v for v in values if least <= v <= most)


class Scaled(Product):
    def create_accumulator(self, factor):  # type: ignore[override]
        return factor

    def add_input(self, accumulator, element, factor):  # type: ignore[override]
        return accumulator * element

    def merge_accumulators(self, accumulators, factor):  # type: ignore[override]
        return math.prod(accumulators)

    def extract_output(self, accumulator, factor):  # type: ignore[override]
        return accumulator


def test_arguments_are_passed_on() -> None:
    pairs = [("a", 1), ("a", 5), ("a", 50)]
    with TestPipeline() as p:
        created = p | hr.Create(pairs)
        above = created | hr.CombinePerKey(sum_above, 2, most=20)
        assert_that(above, equal_to([("a", 5)]))
        scaled = created | hr.CombinePerKey(Scaled(), 2)
        assert_that(scaled, equal_to([("a", 500)]))


def test_combining_per_key_over_all_and_over_lists() -> None:
    with TestPipeline() as p:
        pairs = p | hr.Create([("a", 1), ("b", 2), ("a", 3)])
        assert_that(pairs | hr.CombinePerKey(sum), equal_to([("a", 4), ("b", 2)]))
        assert_that(pairs | hr.Values() | hr.CombineGlobally(max), equal_to([3]))
        lists = pairs | hr.GroupByKey()
        assert_that(lists | hr.CombineValues(Product()), equal_to([("a", 3), ("b", 2)]))


def test_many_values_of_a_function() -> None:
    with TestPipeline() as p:
        joined = p | hr.Create(range(1000)) | hr.CombineGlobally(lambda values: max(values))
        assert_that(joined, equal_to([999]))


@pytest.mark.parametrize(
    ("fn", "default"), [(sum, 0), (max, None), (Product(), 1), (ToListCombineFn(), [])]
)
def test_an_empty_collection_gives_what_is_made_of_nothing(fn, default) -> None:
    with TestPipeline() as p:
        assert_that(p | hr.Create([]) | hr.CombineGlobally(fn), equal_to([default]))


def test_without_defaults_an_empty_collection_gives_nothing() -> None:
    with TestPipeline() as p:
        empty = p | hr.Create([])
        assert_that(empty | hr.CombineGlobally(sum).without_defaults(), is_empty())


def test_there_is_a_default_only_where_the_window_is_known() -> None:
    created = hr.Pipeline() | hr.Create([1])
    with pytest.raises(hr.PipelineError, match="default value") as refusal:
        created | hr.WindowInto(FixedWindows(60)) | hr.CombineGlobally(sum)
    assert "without_defaults" in refusal.value.remedy
    counted = hr.WindowInto(
        GlobalWindows(),
        trigger=Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.DISCARDING,
    )
    with pytest.raises(hr.PipelineError, match="default value"):
        created | counted | hr.CombineGlobally(sum)


def test_combining_globally_in_windows() -> None:
    with TestPipeline() as p:
        stamped = p | hr.Create([1, 2, 61]) | hr.WithTimestamps(lambda x: x)
        sums = (
            stamped | hr.WindowInto(FixedWindows(60)) | hr.CombineGlobally(sum).without_defaults()
        )
        captured = capture(sums)
    assert [(e.value, float(e.window.start)) for e in captured.elements] == [(3, 0), (61, 60)]


C = hr.combiners

GLOBAL = {
    "Count": (C.Count.Globally(), 4),
    "Mean": (C.Mean.Globally(), 2.25),
    "Sum": (C.Sum.Globally(), 9),
    "Min": (C.Min.Globally(), 1),
    "Max": (C.Max.Globally(), 3),
    "Top": (C.Top.Of(2), [3, 3]),
    "Largest": (C.Top.Largest(1), [3]),
    "Smallest": (C.Top.Smallest(2), [1, 2]),
    "Smallest by key": (C.Top.Smallest(1, key=lambda x: -x), [3]),
    "ToSet": (C.ToSet(), {1, 2, 3}),
}


@pytest.mark.parametrize("name", GLOBAL)
def test_ready_made_ways_to_combine_all(name) -> None:
    transform, expected = GLOBAL[name]
    with TestPipeline() as p:
        assert_that(p | hr.Create([3, 1, 3, 2]) | transform, equal_to([expected]))


PER_KEY = {
    "Count": (C.Count.PerKey(), 3),
    "Mean": (C.Mean.PerKey(), 2.0),
    "Sum": (C.Sum.PerKey(), 6),
    "Min": (C.Min.PerKey(), 1),
    "Max": (C.Max.PerKey(), 3),
    "Top": (C.Top.PerKey(2, reverse=True), [1, 2]),
    "Largest": (C.Top.LargestPerKey(2), [3, 2]),
    "Smallest": (C.Top.SmallestPerKey(1), [1]),
}


@pytest.mark.parametrize("name", PER_KEY)
def test_ready_made_ways_to_combine_per_key(name) -> None:
    transform, expected = PER_KEY[name]
    with TestPipeline() as p:
        pairs = p | hr.Create([("a", 3), ("a", 1), ("a", 2)])
        assert_that(pairs | transform, equal_to([("a", expected)]))


def test_counting_equal_elements() -> None:
    with TestPipeline() as p:
        counted = p | hr.Create(["a", "b", "a"]) | C.Count.PerElement()
        assert_that(counted, equal_to([("a", 2), ("b", 1)]))


def test_lists_and_dicts_of_all() -> None:
    with TestPipeline() as p:
        pairs = p | hr.Create([("a", 1), ("b", 2)])
        assert_that(pairs | C.ToDict(), equal_to([{"a": 1, "b": 2}]))
        assert_that(pairs | C.ToList() | hr.Map(sorted), equal_to([[("a", 1), ("b", 2)]]))


def test_samples() -> None:
    with TestPipeline() as p:
        numbers = p | hr.Create(range(10))
        assert_that(numbers | C.Sample.FixedSizeGlobally(3) | hr.Map(len), equal_to([3]))
        pairs = numbers | hr.WithKeys(lambda x: x % 2)
        sampled = pairs | C.Sample.FixedSizePerKey(2) | hr.MapTuple(lambda k, v: (k, len(v)))
        assert_that(sampled, equal_to([(0, 2), (1, 2)]))


def test_the_latest_by_event_time() -> None:
    with TestPipeline() as p:
        pairs = p | hr.Create([("a", 1), ("a", 5), ("b", 3)])
        stamped = pairs | hr.WithTimestamps(lambda pair: pair[1])
        assert_that(stamped | C.Latest.Globally(), equal_to([("a", 5)]))
        assert_that(stamped | C.Latest.PerKey(), equal_to([("a", 5), ("b", 3)]))


def test_the_earliest_by_event_time() -> None:
    with TestPipeline() as p:
        pairs = p | hr.Create([("a", 5), ("a", 1), ("b", 3)])
        stamped = pairs | hr.WithTimestamps(lambda pair: pair[1])
        assert_that(stamped | C.Earliest.Globally(), equal_to([("a", 1)]))
        assert_that(stamped | C.Earliest.PerKey(), equal_to([("a", 1), ("b", 3)]))


def test_labels_name_what_combines() -> None:
    assert hr.CombinePerKey(sum).label == "CombinePerKey(sum)"
    assert hr.CombineGlobally(MeanCombineFn()).label == "CombineGlobally(MeanCombineFn)"
    assert C.Top.Largest(3).label == "Largest(3)"


# Quantiles


@pytest.mark.parametrize(
    ("options", "inputs"),
    [
        ({}, st.integers(-5, 5)),
        ({"key": len, "reverse": True}, st.sampled_from(["a", "b", "cc", "dd", ""])),
        ({"weighted": True}, st.tuples(st.integers(0, 5), st.integers(1, 3))),
        ({"input_batched": True}, st.lists(st.integers(0, 5)).map(tuple)),
    ],
)
def test_quantiles_obey_the_laws_of_combining(options, inputs):
    check_combine_fn(ApproximateQuantilesCombineFn(4, **options), inputs, cases=50)


def test_quantiles_of_few_values_repeat_them() -> None:
    assert ApproximateQuantilesCombineFn(4).apply([]) == []
    assert ApproximateQuantilesCombineFn(4).apply([7]) == [7, 7, 7, 7]
    assert ApproximateQuantilesCombineFn(2).apply([1, 2, 3]) == [1, 3]


def test_quantiles_of_batches() -> None:
    batches = [[5, 1], [], [3]]
    assert ApproximateQuantilesCombineFn(3, input_batched=True).apply(batches) == [1, 3, 5]
    weighted = ApproximateQuantilesCombineFn(3, weighted=True, input_batched=True)
    assert weighted.apply([(["a", "b"], [1, 1]), (["c"], [9])]) == ["a", "c", "c"]


@pytest.mark.parametrize("number", [1, 0, -1, 2.5])
def test_quantiles_need_two_ends(number) -> None:
    with pytest.raises(hr.PipelineError, match="num_quantiles") as refusal:
        ApproximateQuantiles.Globally(number)
    assert "for the median, use 3" in refusal.value.remedy


def test_quantiles_per_key_are_retracted() -> None:
    stream = TestStream()
    for value in (10, 30, 20):
        stream = stream.add_elements([hr.TimestampedValue(("a", value), 1)])
    windows = hr.WindowInto(
        FixedWindows(60),
        trigger=Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    first = windows | hr.CombinePerKey(max)
    with TestPipeline() as p:
        medians = p | stream.advance_watermark_to_infinity() | first
        medians |= "of the largest" >> hr.MapTuple(lambda key, value: ("all", value))
        medians |= ApproximateQuantiles.PerKey(3)
        seen = capture(medians)
    net = Counter[str]()
    for element in seen.elements:
        net[repr(element.value)] += element.diff
    assert +net == {"('all', [30, 30, 30])": 1}
    assert net.total() == 1
