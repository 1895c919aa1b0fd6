"""Variance, standard deviation, covariance and correlation: exact sums of products, rounded once.

The textbook formula subtracts two large sums from each other, so it is useless with rounded sums. Welford's
and Chan's formulas avoid that, but a large value that is subtracted from them leaves its rounding error
behind. With exact sums the textbook formula is exact, its accumulators can be merged and subtracted without
loss, and the result does not depend on the order of the values.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from operator import mul
from typing import Any, Final, TypeAlias

from headrace.errors import PipelineError, shorten
from headrace.sdk.combiners.exact_numbers import aligned, quotient, ratios_of, square_root
from headrace.sdk.groups.combine_fn import CombineFn

Pair: TypeAlias = tuple[float, float]

PowerSums: TypeAlias = tuple[int, int, int, int, int]
"""Number of values; of those that are NaN or infinite; a common denominator; the sum of the numerators, and
of their squares."""

Products: TypeAlias = tuple[int, ...]
"""Number of pairs; of those with NaN or an infinity; the denominators of x and y; the sums of x, y, x², y²
and xy."""

_NO_VALUES: Final[PowerSums] = (0, 0, 1, 0, 0)
_NO_PAIRS: Final[Products] = (0, 0, 1, 1, 0, 0, 0, 0, 0)


class VarianceCombineFn(CombineFn):
    """The variance of numbers: ints, floats, Decimals or Fractions; can subtract.

    The result is the float nearest to the exact variance. It is NaN for too few values (none; or, for a
    sample, one) and if a value is NaN or infinite.

    Args:
        population: whether the values are the whole population, rather than a sample of it.

    >>> (
    ...     VarianceCombineFn().apply([1, 2, 3, 4]),
    ...     VarianceCombineFn(population=True).apply([1, 2, 3, 4]),
    ... )
    (1.6666666666666667, 1.25)
    >>> VarianceCombineFn().apply([1e16, 1e16 + 2, 1e16 + 4])
    4.0
    """

    def __init__(self, population: bool = False) -> None:
        self._population = population

    def create_accumulator(self) -> PowerSums:
        return _NO_VALUES

    def add_input(self, mutable_accumulator: PowerSums, element: float) -> PowerSums:
        return _added(mutable_accumulator, _moments([element]), 1)

    def add_inputs(self, mutable_accumulator: PowerSums, elements: Iterable[float]) -> PowerSums:
        return _added(mutable_accumulator, _moments(list(elements)), 1)

    def subtract_input(self, mutable_accumulator: PowerSums, element: float) -> PowerSums:
        """Return the sums without one input."""
        return _added(mutable_accumulator, _moments([element]), -1)

    def merge_accumulators(self, accumulators: Iterable[PowerSums]) -> PowerSums:
        merged = _NO_VALUES
        for accumulator in accumulators:
            merged = _added(merged, accumulator, 1)
        return merged

    def extract_output(self, accumulator: PowerSums) -> float:
        over, under = self._ratio(accumulator)
        return quotient(over, under) if under else nan

    def _ratio(self, accumulator: PowerSums) -> tuple[int, int]:
        """Return the variance as a ratio; its denominator is 0 if there is none."""
        number, not_finite, denominator, total, squares = accumulator
        degrees = number if self._population else number - 1
        if not_finite or number <= 0 or degrees <= 0:
            return 0, 0
        return number * squares - total * total, number * degrees * denominator**2

    def default_label(self) -> str:
        return f"{type(self).__name__}({'population=True' if self._population else ''})"


class StandardDeviationCombineFn(VarianceCombineFn):
    """The standard deviation, the square root of the variance (see :class:`VarianceCombineFn`); can subtract.

    Args:
        population: whether the values are the whole population, rather than a sample of it.

    >>> StandardDeviationCombineFn(population=True).apply([1.5, 2.5, 2.5, 2.75, 3.25, 4.75])
    0.986893273527251
    """

    def extract_output(self, accumulator: PowerSums) -> float:
        over, under = self._ratio(accumulator)
        return square_root(over, under) if under and over >= 0 else nan


class CovarianceCombineFn(CombineFn):
    """The covariance of (x, y) pairs of numbers; can subtract.

    The result is the float nearest to the exact covariance, and NaN where that is not defined (see
    :class:`VarianceCombineFn`).

    Args:
        population: whether the pairs are the whole population, rather than a sample of it.

    >>> CovarianceCombineFn().apply([(1, 2.0), (2, 4.0), (3, 9.0)])
    3.5
    """

    def __init__(self, population: bool = False) -> None:
        self._population = population

    def create_accumulator(self) -> Products:
        return _NO_PAIRS

    def add_input(self, mutable_accumulator: Products, element: Pair) -> Products:
        return _added_products(mutable_accumulator, _products([element]), 1)

    def add_inputs(self, mutable_accumulator: Products, elements: Iterable[Pair]) -> Products:
        return _added_products(mutable_accumulator, _products(list(elements)), 1)

    def subtract_input(self, mutable_accumulator: Products, element: Pair) -> Products:
        """Return the sums without one input."""
        return _added_products(mutable_accumulator, _products([element]), -1)

    def merge_accumulators(self, accumulators: Iterable[Products]) -> Products:
        merged = _NO_PAIRS
        for accumulator in accumulators:
            merged = _added_products(merged, accumulator, 1)
        return merged

    def extract_output(self, accumulator: Products) -> float:
        number, not_finite, under_x, under_y, x, y, _, _, xy = accumulator
        degrees = number if self._population else number - 1
        if not_finite or number <= 0 or degrees <= 0:
            return nan
        return quotient(number * xy - x * y, number * degrees * under_x * under_y)

    def default_label(self) -> str:
        return f"{type(self).__name__}({'population=True' if self._population else ''})"


class CorrelationCombineFn(CovarianceCombineFn):
    """Pearson's correlation of (x, y) pairs of numbers, from -1 to 1; can subtract.

    The result is the float nearest to the exact correlation. It is NaN for fewer than two pairs, if all x or
    all y are equal, and if a number is NaN or infinite.

    >>> CorrelationCombineFn().apply([(1, 2), (2, 4), (3, 6)])
    1.0
    """

    def __init__(self) -> None:
        super().__init__()

    def extract_output(self, accumulator: Products) -> float:
        number, not_finite, _, _, x, y, xx, yy, xy = accumulator
        spread = (number * xx - x * x) * (number * yy - y * y)
        if not_finite or number <= 0 or spread <= 0:
            return nan
        shared = number * xy - x * y
        size = square_root(shared * shared, spread)
        return size if shared >= 0 else -size


def _moments(numbers: list[object]) -> PowerSums:
    ratios = ratios_of(numbers)
    scaled, common = aligned(ratios)
    squares = sum(map(mul, scaled, scaled))
    return len(numbers), len(numbers) - len(ratios), common, sum(scaled), squares


def _added(one: PowerSums, other: PowerSums, sign: int) -> PowerSums:
    (a, b), common = aligned([(1, one[2]), (1, other[2])])
    total = one[3] * a + sign * other[3] * b
    squares = one[4] * a * a + sign * other[4] * b * b
    denominator = common if total or squares else 1
    return one[0] + sign * other[0], one[1] + sign * other[1], denominator, total, squares


def _products(pairs: list[Any]) -> Products:
    finite = [pair for pair in pairs if len(ratios_of(_checked(pair))) == 2]
    (xs, under_x), (ys, under_y) = (
        aligned(ratios_of([pair[side] for pair in finite])) for side in (0, 1)
    )
    xx, yy, xy = (sum(map(mul, *sides)) for sides in ((xs, xs), (ys, ys), (xs, ys)))
    not_finite = len(pairs) - len(finite)
    return len(pairs), not_finite, under_x, under_y, sum(xs), sum(ys), xx, yy, xy


def _checked(pair: Any) -> list[Any]:
    try:
        x, y = pair
    except (TypeError, ValueError):
        raise PipelineError(
            f"covariance and correlation combine pairs of numbers, not {shorten(pair)}",
            remedy="make (x, y) pairs; per key, elements are (key, (x, y))",
        ) from None
    return [x, y]


def _added_products(one: Products, other: Products, sign: int) -> Products:
    (a, b), under_x = aligned([(1, one[2]), (1, other[2])])
    (c, d), under_y = aligned([(1, one[3]), (1, other[3])])
    left, right = (a, c, a * a, c * c, a * c), (b, d, b * b, d * d, b * d)
    sums = tuple(
        p * m + sign * q * n for p, q, m, n in zip(one[4:], other[4:], left, right, strict=True)
    )
    counts = one[0] + sign * other[0], one[1] + sign * other[1]
    return (*counts, under_x, under_y, *sums) if any(sums) else (*counts, *_NO_PAIRS[2:])
