"""Sketches: bounds that are kept, results that do not depend on order or process, and their parameters."""

import random
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.sdk.combiners.approximate.quantile_buffers import BufferSpec
from headrace.testing import TestPipeline, capture
from headrace.testing.laws import check_combine_fn
from headrace.transforms.combiners import (
    ApproximateCountDistinct,
    ApproximateCountDistinctCombineFn,
    DistinctSketch,
    HeavyHitters,
    HeavyHittersCombineFn,
    KllQuantiles,
    KllQuantilesCombineFn,
    SingleInputTupleCombineFn,
    ThetaSketchCombineFn,
)
from headrace.transforms.stats import (
    ApproximateQuantilesCombineFn,
    ApproximateUnique,
    ApproximateUniqueCombineFn,
)

COARSE = ApproximateCountDistinctCombineFn(error=0.2)
SMALL_THETA = ThetaSketchCombineFn(error=0.2)
VALUES = [0, 1.0, 1, True, None, "a", b"a", ("a", 1), frozenset([1, 2]), hr.Row(x=1)]


def split(values, seed):
    """The values in another order and in up to 6 parts."""
    draw = random.Random(seed)
    shuffled = draw.sample(values, len(values))
    cuts = sorted(draw.sample(range(len(values)), min(seed, len(values))))
    return [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(values)], strict=True)]


def combined(fn, parts):
    accumulators = [fn.add_inputs(fn.create_accumulator(), part) for part in parts]
    return fn.extract_output(fn.compact(fn.merge_accumulators(accumulators)))


@pytest.mark.parametrize(
    "fn", [COARSE, SMALL_THETA, ApproximateUniqueCombineFn(16)], ids=lambda fn: fn.default_label()
)
@pytest.mark.parametrize("number", [3, 60, 2000])
def test_distinct_counts_do_not_depend_on_the_order(fn, number):
    """Though each sketch has dropped most hashes."""
    values = [f"user {n}" for n in range(number)]
    assert len({combined(fn, split(values, seed)) for seed in range(6)}) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "fn",
    [
        COARSE,
        SMALL_THETA,
        KllQuantilesCombineFn(),
        HeavyHittersCombineFn(0.2),
        ApproximateUniqueCombineFn(16),
        ApproximateQuantilesCombineFn.create(3, epsilon=0.1),
    ],
    ids=lambda fn: fn.default_label(),
)
def test_sketches_obey_the_laws_of_combining(fn):
    assert not fn.can_subtract
    check_combine_fn(fn, st.integers(0, 9))


@settings(max_examples=20)
@given(st.integers(1, 30_000), st.sampled_from([0.005, 0.02, 0.1]))
def test_counts_are_within_five_errors(number, error):
    values = range(number)
    fns = [ApproximateCountDistinctCombineFn(error), ThetaSketchCombineFn(error)]
    found = [fn.apply(values) for fn in fns]
    for count in (found[0], found[1].estimate):
        assert abs(count - number) <= 5 * error * number + 1


def test_bounds_of_a_count():
    sketch = ThetaSketchCombineFn(error=0.05).apply(range(20_000))
    widths = []
    for deviations in (1, 2, 3):
        least, most = sketch.bounds(deviations)
        widths.append(most - least)
        assert least <= sketch.estimate <= most
    assert widths == sorted(widths)
    assert least <= 20_000 <= most


def test_values_are_distinct_by_their_encoding():
    number = len(VALUES)
    for fn in (ApproximateCountDistinctCombineFn(), ApproximateUniqueCombineFn(16)):
        assert fn.apply(VALUES * 3) == number
    frequent = HeavyHittersCombineFn(0.05).apply([*VALUES, True])
    assert (frequent[0].value, frequent[0].frequency, len(frequent)) == (True, 2, number)


@pytest.mark.slow
def test_sketches_do_not_depend_on_the_hash_seed_of_the_process():
    script = (
        "from headrace.transforms.combiners import *\n"
        "fns = [ApproximateCountDistinctCombineFn(0.1), ThetaSketchCombineFn(0.1),"
        " HeavyHittersCombineFn(0.2)]\n"
        "values = [f'user {n % 900}' for n in range(2000)]\n"
        "print([fn.add_inputs(fn.create_accumulator(), values) for fn in fns[:2]])\n"
        "print(fns[2].apply(['a'] * 50 + values[:90]))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_set_operations_on_sketches():
    fn = ThetaSketchCombineFn(error=0.02)
    one, other = fn.apply(range(20_000)), fn.apply(range(15_000, 30_000))
    expected = {one | other: 30_000, one & other: 5_000, one - other: 15_000}
    for sketch, number in expected.items():
        assert abs(sketch.estimate - number) <= 0.06 * 30_000
    assert (one & fn.apply([])).estimate == 0
    assert one == fn.apply(reversed(range(20_000)))


@settings(max_examples=20)
@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=150), st.floats(0, 1))
def test_quantiles_of_few_values_are_exact(values, rank):
    found = KllQuantilesCombineFn([0, rank, 1]).apply(values)
    ordered = sorted(values)
    share = [sum(v <= found[1] for v in values), sum(v < found[1] for v in values)]
    assert (found[0], found[2]) == (ordered[0], ordered[-1])
    assert share[1] <= rank * len(values) + 1e-9
    assert share[0] >= rank * len(values) - 1e-9


def test_quantiles_of_many_values_are_within_the_error():
    """Three errors, since the sketch draws random numbers: one error holds for 99 of 100 quantiles."""
    values = list(range(50_000))
    fn = KllQuantilesCombineFn([0, 0.1, 0.5, 0.99, 1], error=0.02)
    found = combined(fn, split(values, 5))
    for rank, value in zip([0, 0.1, 0.5, 0.99, 1], found, strict=True):
        assert abs(value - rank * 50_000) <= 3 * 0.02 * 50_000
    assert (found[0], found[-1]) == (0, 49_999)


def test_quantiles_of_other_values():
    words = KllQuantilesCombineFn([0.5]).apply(["b", "c", "a"])
    with_nan = KllQuantilesCombineFn([0, 1]).apply([2.0, float("nan"), 1])
    assert (words, with_nan, KllQuantilesCombineFn().apply([])) == (["b"], [1, 2.0], [])
    with pytest.raises(TypeError, match="'<' not supported"):
        KllQuantilesCombineFn().apply([1, "a"])


def test_heavy_hitters_miss_none_and_keep_their_bounds():
    draw = random.Random(7)
    values = [int(draw.paretovariate(0.5)) for _ in range(30_000)]
    counts = Counter(values)
    fn = HeavyHittersCombineFn(share=0.02, error=0.005)
    found = combined(fn, split(values, 4))
    assert {v for v, n in counts.items() if n >= 600} <= {hit.value for hit in found}
    assert all(hit.at_least <= counts[hit.value] <= hit.at_most for hit in found)
    assert all(hit.at_most - hit.at_least <= 150 for hit in found)
    assert [hit.frequency for hit in found] == sorted((h.frequency for h in found), reverse=True)
    accumulator = fn.add_inputs(fn.create_accumulator(), values)
    assert len(accumulator[1]) < 1000 < len(counts), (
        "values that the sketch has dropped are not kept"
    )


def test_transforms():
    users = [("mon", f"user {n}") for n in range(50)] + [("tue", "user 7")] * 50
    with TestPipeline() as p:
        pairs = p | hr.Create(users)
        names = pairs | hr.Values()
        found = {
            "distinct": names | ApproximateCountDistinct.Globally(),
            "by day": pairs | ApproximateCountDistinct.PerKey(error=0.01),
            "unique": names | ApproximateUnique.Globally(size=64),
            "unique by day": pairs | ApproximateUnique.PerKey(error=0.2),
            "sketch": names | DistinctSketch.Globally() | hr.Map(lambda sketch: sketch.estimate),
            "sketches": pairs | DistinctSketch.PerKey() | hr.MapTuple(lambda _, s: s.estimate),
            "median": names | "len" >> hr.Map(len) | KllQuantiles.Globally([0.5]),
            "medians": pairs | KllQuantiles.PerKey([1]),
            "most": names | HeavyHitters.Globally(0.5),
            "most by day": pairs | HeavyHitters.PerKey(0.5) | hr.FlatMapTuple(lambda _, hits: hits),
        }
        seen = {name: capture(pcoll, name) for name, pcoll in found.items()}
    values = {name: made.values for name, made in seen.items()}
    assert values["distinct"] == [50]
    assert values["by day"] == [("mon", 50), ("tue", 1)]
    assert values["unique"] == [50]
    assert values["unique by day"] == [("mon", 50), ("tue", 1)]
    assert [round(n) for n in values["sketch"] + values["sketches"]] == [50, 50, 1]
    assert values["median"] == [[6]]
    assert values["medians"] == [("mon", ["user 9"]), ("tue", ["user 7"])]
    assert [hit.value for hit in values["most"][0]] == ["user 7"]
    assert [tuple(hit) for hit in values["most by day"]] == [("user 7", 50, 50, 50)]


ANY_ERROR: Any = "1%"
NO_LIST: Any = 0.5


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ApproximateCountDistinctCombineFn(error=0), "error is 0"),
        (lambda: ApproximateCountDistinctCombineFn(error=ANY_ERROR), "error is '1%'"),
        (lambda: ThetaSketchCombineFn(error=0.5), "error is 0.5"),
        (lambda: KllQuantilesCombineFn(NO_LIST), "ranks is 0.5"),
        (lambda: KllQuantilesCombineFn([]), r"ranks is \[\]"),
        (lambda: KllQuantilesCombineFn([50]), "a rank is 50"),
        (lambda: HeavyHittersCombineFn(share=2), "share is 2"),
        (lambda: HeavyHittersCombineFn(share=0.1, error=0.2), "error is 0.2"),
        (lambda: ApproximateUnique.Globally(), "a sample size or an error"),
        (lambda: ApproximateUnique.PerKey(size=20, error=0.1), "not both"),
        (lambda: ApproximateUnique.Globally(size=15), "size is 15"),
        (lambda: ApproximateUnique.Globally(error=0.6), "error is 0.6"),
        (lambda: ApproximateQuantilesCombineFn.create(5, epsilon=2), "epsilon is 2"),
    ],
)
def test_parameters_that_are_refused(make, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        make()


def test_the_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasketches", None)
    for make in (
        ApproximateCountDistinctCombineFn,
        ThetaSketchCombineFn,
        KllQuantilesCombineFn,
        HeavyHittersCombineFn,
    ):
        with pytest.raises(hr.PipelineError, match="package datasketches") as refused:
            make()
        assert "pip install 'headrace[sketches]'" in str(refused.value)
    assert ApproximateUniqueCombineFn(16).apply("ab") == 2, "this one needs no package"


class NotDeterministic:
    def is_deterministic(self):
        return False


class Lower:
    def is_deterministic(self):
        return True

    def encode(self, value):
        return value.lower().encode()


def test_unique_values_by_a_coder():
    assert ApproximateUniqueCombineFn(16, Lower()).apply(["A", "a", "b"]) == 2
    with pytest.raises(hr.PipelineError, match="NotDeterministic is not deterministic"):
        ApproximateUniqueCombineFn(16, NotDeterministic())


@settings(max_examples=20)
@given(st.integers(0, 20_000), st.sampled_from([0.02, 0.1, 0.3]), st.integers(0, 5))
def test_bounded_quantiles_are_within_the_error(number, epsilon, seed):
    """Of values in any order, in parts that are merged."""
    fn = ApproximateQuantilesCombineFn.create(5, epsilon, max_num_elements=20_000)
    found = combined(fn, split(list(range(number)), seed))
    assert len(found) == (5 if number else 0)
    for n, value in enumerate(found):
        assert abs(value - n * (number - 1) / 4) <= epsilon * number + 1


def test_bounded_quantiles_keep_few_values():
    fn = ApproximateQuantilesCombineFn.create(3, epsilon=0.05, max_num_elements=100_000)
    spec = BufferSpec.of(0.05, 100_000)
    kept = fn.add_inputs(fn.create_accumulator(), range(100_000))
    values = len(kept.rest) + sum(len(pairs) for _, pairs in kept.full)
    assert values <= (spec.num_buffers + 1) * spec.buffer_size < 2_000
    assert sum(weight for _, pairs in kept.full for _, weight in pairs) + len(kept.rest) == 100_000


def test_bounded_quantiles_with_options():
    create = ApproximateQuantilesCombineFn.create
    reverse = create(3, 0.01, key=abs, reverse=True).apply([-5, 1, 3])
    weighted = create(3, 0.01, weighted=True).apply([("a", 1), ("b", 1), ("c", 8)])
    batched = create(3, max_num_elements=100, input_batched=True).apply([[1, 2], [3]])
    assert (reverse, weighted, batched) == ([-5, 3, 1], ["a", "c", "c"], [1, 2, 3])


def test_a_tuple_with_a_sketch_cannot_subtract():
    assert not SingleInputTupleCombineFn(sum, COARSE).can_subtract
