"""Mean, variance, deviation, covariance and correlation: exact, whatever was merged and subtracted."""

import math
import statistics
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import headrace as hr
from headrace.sdk.combiners.exact_numbers import ExactSum, square_root
from headrace.testing import TestPipeline, capture
from headrace.testing.laws import check_combine_fn
from headrace.transforms.combiners import (
    Correlation,
    CorrelationCombineFn,
    Covariance,
    CovarianceCombineFn,
    Mean,
    MeanCombineFn,
    StandardDeviation,
    StandardDeviationCombineFn,
    Variance,
    VarianceCombineFn,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
OFFSETS = st.sampled_from([0.0, 1e8, -1e15, 2.0**60, 1e300])
NUMBERS = st.one_of(st.integers(-(10**30), 10**30), FLOATS, st.fractions(), st.decimals(-9, 9))
ODD = st.sampled_from([math.nan, math.inf, -math.inf, 1, 0.5, -3.0, 1e300, 5e-324])


@st.composite
def shifted(draw, least=1):
    """Small floats far away from zero, where the textbook formula fails with floats."""
    offset = draw(OFFSETS)
    return [offset + small for small in draw(st.lists(st.floats(-10, 10), min_size=least))]


def same(one, other):
    """Equal, or both NaN."""
    return one == other or (one != one and other != other)


def exact_variance(values, degrees):
    fractions = [Fraction(value) for value in values]
    mean = sum(fractions) / len(fractions)
    return sum((value - mean) ** 2 for value in fractions) / degrees


def nearest(ratio):
    try:
        return float(ratio)
    except OverflowError:
        return math.inf


@given(st.one_of(shifted(), st.lists(NUMBERS, min_size=1)))
def test_a_population_variance_is_the_float_nearest_to_the_exact_one(values):
    found = VarianceCombineFn(population=True).apply(values)
    assert found == nearest(exact_variance(values, len(values)))


@given(st.one_of(shifted(2), st.lists(NUMBERS, min_size=2)))
def test_a_sample_variance_is_the_float_nearest_to_the_exact_one(values):
    assert VarianceCombineFn().apply(values) == nearest(exact_variance(values, len(values) - 1))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2))
def test_variance_and_deviation_agree_with_statistics_and_numpy(values):
    variance, deviation = (
        VarianceCombineFn().apply(values),
        StandardDeviationCombineFn().apply(values),
    )
    assert variance == statistics.variance(values)
    assert deviation == statistics.stdev(values)
    largest = max(map(abs, values)) ** 2
    assert math.isclose(
        variance, np.var(values, ddof=1), rel_tol=1e-9, abs_tol=1e-9 * largest + 1e-300
    )


@given(st.integers(1, 10**400), st.integers(1, 10**400))
def test_a_square_root_is_the_nearest_float(numerator, denominator):
    root = square_root(numerator, denominator)
    assume(math.isfinite(root) and root > 0)
    below, above = math.nextafter(root, 0), math.nextafter(root, math.inf)
    exact = Fraction(numerator, denominator)
    assert ((Fraction(below) + Fraction(root)) / 2) ** 2 <= exact
    if math.isfinite(above):
        assert exact <= ((Fraction(above) + Fraction(root)) / 2) ** 2


@given(st.lists(st.tuples(FLOATS, st.one_of(FLOATS, st.integers())), min_size=2))
def test_covariance_and_correlation_are_nearest_to_the_exact_ones(pairs):
    xs, ys = ([Fraction(side) for side in sides] for sides in zip(*pairs, strict=True))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    shared = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    exact = shared / len(pairs)
    expected = nearest(abs(exact)) * (1 if exact >= 0 else -1)
    assert CovarianceCombineFn(population=True).apply(pairs) == expected
    spread = sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys)
    found = CorrelationCombineFn().apply(pairs)
    assert math.isnan(found) if not spread else -1 <= found <= 1
    if spread:
        root = square_root(*(shared**2 / Fraction(spread)).as_integer_ratio())
        assert found == (root if shared >= 0 else -root)


@given(st.lists(FLOATS, min_size=1))
def test_a_mean_is_the_float_nearest_to_the_exact_one(values):
    expected = float(sum(map(Fraction, values)) / len(values))
    assert MeanCombineFn().apply(values) == expected
    assert MeanCombineFn().apply(values[::-1]) == expected


@given(st.lists(ODD))
def test_a_fast_sum_of_floats_is_the_slow_one(values):
    floats = [float(value) for value in values]
    assert ExactSum.of_floats(floats) - ExactSum.of(floats) == ExactSum()


@pytest.mark.slow
@pytest.mark.parametrize(
    "fn",
    [
        MeanCombineFn(),
        VarianceCombineFn(),
        VarianceCombineFn(population=True),
        StandardDeviationCombineFn(),
    ],
    ids=lambda fn: fn.default_label(),
)
def test_statistics_are_a_group_even_with_nan_and_infinities(fn):
    """Not nearly, but exactly: an outlier, an infinity and NaN can be subtracted again."""
    assert fn.can_subtract
    check_combine_fn(fn, st.one_of(ODD, FLOATS, st.integers()), equal=same)


@pytest.mark.slow
@pytest.mark.parametrize("fn", [CovarianceCombineFn(), CorrelationCombineFn()])
def test_statistics_of_pairs_are_a_group(fn):
    assert fn.can_subtract
    check_combine_fn(fn, st.tuples(st.one_of(ODD, FLOATS), ODD), equal=same)


def test_what_is_not_defined_is_nan():
    nothing = [fn.apply([]) for fn in (MeanCombineFn(), VarianceCombineFn(), CovarianceCombineFn())]
    assert all(map(math.isnan, nothing))
    assert math.isnan(VarianceCombineFn().apply([3]))
    assert VarianceCombineFn(population=True).apply([3]) == 0
    assert math.isnan(VarianceCombineFn(population=True).apply([1, math.nan]))
    assert math.isnan(StandardDeviationCombineFn().apply([1, math.inf]))
    assert math.isnan(CorrelationCombineFn().apply([(1, 1), (1, 2)])), "all x are equal"
    assert MeanCombineFn().apply([1, math.inf]) == math.inf
    assert math.isnan(MeanCombineFn().apply([math.inf, -math.inf]))


def test_a_result_that_is_too_large_is_infinite():
    assert VarianceCombineFn().apply([1e200, -1e200]) == math.inf
    assert StandardDeviationCombineFn(population=True).apply([1e200, -1e200]) == 1e200


def test_numbers_of_other_kinds():
    decimals = [Decimal("0.1"), Decimal("0.3")]
    assert MeanCombineFn().apply(decimals) == Decimal("0.2")
    assert MeanCombineFn().apply([Fraction(1, 3), Fraction(1)]) == Fraction(2, 3)
    assert MeanCombineFn().apply([Fraction(1, 2), 0.25]) == 0.375
    assert MeanCombineFn().apply([0.5, 1j]) == 0.25 + 0.5j
    assert VarianceCombineFn().apply(decimals) == 0.02
    assert VarianceCombineFn().apply([np.int64(1), np.float32(3)]) == 2


@pytest.mark.parametrize("bad", ["a", None, 1j])
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises(TypeError):
        VarianceCombineFn().apply([1, bad])
    with pytest.raises(hr.PipelineError, match="pairs of numbers"):
        CovarianceCombineFn().apply([(1, 2), bad])


def test_transforms():
    with TestPipeline() as p:
        numbers = p | "n" >> hr.Create([1, 2, 3, 4])
        keyed = numbers | hr.WithKeys(lambda n: "odd" if n % 2 else "even")
        pairs = numbers | "xy" >> hr.Map(lambda n: (n, -n))
        whole = [
            numbers | Mean.Globally(),
            numbers | Variance.Globally(),
            numbers | "p" >> Variance.Globally(population=True),
            numbers | StandardDeviation.Globally(population=True),
            pairs | Covariance.Globally(),
            pairs | Correlation.Globally(),
        ]
        found = capture(whole | "all" >> hr.Flatten(), "whole")
        keyed_pairs = keyed | "kp" >> hr.MapTuple(lambda key, n: (key, (n, 2 * n)))
        by_key = [
            keyed | Mean.PerKey(),
            keyed | Variance.PerKey(),
            keyed | StandardDeviation.PerKey(population=True),
            keyed_pairs | Covariance.PerKey(population=True),
            keyed_pairs | Correlation.PerKey(),
        ]
        of_keys = capture(by_key | "all keys" >> hr.Flatten(), "keys")
    assert sorted(found.values) == sorted([2.5, 5 / 3, 1.25, math.sqrt(1.25), -5 / 3, -1.0])
    odd = [value for key, value in of_keys.values if key == "odd"]
    assert sorted(odd) == [1.0, 1.0, 2.0, 2.0, 2.0]


def test_an_outlier_is_not_left_in_a_running_variance():
    """Welford's formula gives 0 here, and the textbook formula with floats a negative number."""
    fn = VarianceCombineFn(population=True)
    accumulator = fn.add_inputs(fn.create_accumulator(), [1e16, 1.0, 2.0])
    assert fn.extract_output(fn.subtract_input(accumulator, 1e16)) == 0.25
