"""Exact sums of numbers: nothing is rounded before the result, so sums can be merged and subtracted.

A finite float is a ratio of two ints, and so is each int, Fraction and Decimal. Sums of ratios are exact and
do not depend on the order of the values. A value that is subtracted leaves no trace, however large it is.
NaN and the infinities have no ratio, so they are counted beside the sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import fsum, inf, isfinite, isqrt, lcm, nan
from operator import index
from typing import Any, Final, TypeAlias

import attrs

Ratio: TypeAlias = tuple[int, int]
"""A numerator, and a denominator above zero."""

_ROOT_BITS: Final = 112
"""Bits of an integer root before it is rounded; a float has 53."""


def as_ratio(number: Any) -> Ratio | None:
    """Return a number as a ratio; None for NaN and infinities.

    Raises:
        TypeError: the value is not a real number.

    >>> as_ratio(0.75), as_ratio(-2), as_ratio(float("inf"))
    ((3, 4), (-2, 1), None)
    """
    try:
        return number.as_integer_ratio()  # type: ignore[no-any-return]
    except (ValueError, OverflowError):
        return None
    except AttributeError:
        return index(number), 1


def ratios_of(numbers: list[Any]) -> list[Ratio]:
    """Return the ratios of those numbers that are finite.

    >>> ratios_of([0.5, 2, float("nan")])
    [(1, 2), (2, 1)]
    """
    try:
        return [number.as_integer_ratio() for number in numbers]
    except (ValueError, OverflowError, AttributeError):
        return [ratio for ratio in map(as_ratio, numbers) if ratio]


def aligned(ratios: list[Ratio]) -> tuple[list[int], int]:
    """Return the numerators of ratios over a common denominator, and that denominator.

    >>> aligned([(1, 2), (3, 4)])
    ([2, 3], 4)
    """
    common = lcm(*{under for _, under in ratios})
    return [over * (common // under) for over, under in ratios], common


def quotient(numerator: int, denominator: int) -> float:
    """Return the float nearest to a quotient; an infinity if it is too large for a float.

    >>> quotient(1, 3), quotient(10**400, 1)
    (0.3333333333333333, inf)
    """
    try:
        return numerator / denominator
    except OverflowError:
        return inf if (numerator > 0) == (denominator > 0) else -inf


def square_root(numerator: int, denominator: int) -> float:
    """Return the float nearest to the square root of a quotient.

    The integer root has more bits than a float. Its last bit is set if the root is not exact, so that it is
    not rounded twice.

    >>> square_root(1, 4), square_root(2, 1)
    (0.5, 1.4142135623730951)
    """
    shift = (_ROOT_BITS - numerator.bit_length() + denominator.bit_length()) // 2
    over = numerator << 2 * max(shift, 0)
    under = denominator << 2 * max(-shift, 0)
    root = isqrt(over // under)
    root |= root * root * under != over
    return quotient(root << max(-shift, 0), 1 << max(shift, 0))


@attrs.frozen
class ExactSum:
    """A sum of real numbers that counts NaN and infinities apart.

    >>> total = ExactSum.of([1e100, 1.0]) - 1e100
    >>> total / 2
    0.5
    """

    numerator: int = 0
    denominator: int = 1
    nans: int = 0
    positive: int = 0
    """Number of values that are infinite."""
    negative: int = 0
    """Number of values that are negative and infinite."""

    @classmethod
    def of(cls, numbers: Iterable[Any]) -> ExactSum:
        """Return the sum of some numbers."""
        values = list(numbers)
        ratios = ratios_of(values)
        apart = sum(map(_not_finite, values), cls()) if len(ratios) < len(values) else cls()
        scaled, common = aligned(ratios)
        return cls(sum(scaled), common) + apart  # type: ignore[no-any-return]  # both are sums

    @classmethod
    def of_floats(cls, numbers: list[float]) -> ExactSum:
        """Return the sum of floats, faster: ``fsum`` rounds once, and again the rest that it left."""
        rounded: list[float] = []
        try:
            while rest := fsum(chain(numbers, rounded)):
                if not isfinite(rest):
                    return cls.of(numbers)
                rounded.append(-rest)
        except (OverflowError, ValueError):
            return cls.of(numbers)
        return cls() - cls.of(rounded)  # type: ignore[no-any-return]  # both are sums

    def __add__(self, other: object) -> Any:
        """Add a number or a sum; a number of another kind makes it a float."""
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        """Subtract a number or a sum."""
        return self._plus(other, -1)

    def __rsub__(self, other: object) -> Any:
        """Subtract the sum from a number."""
        return ExactSum()._plus(self, -1) + other

    def __truediv__(self, count: int) -> float:
        """Return the float nearest to a part of the sum."""
        if self.nans or (self.positive and self.negative):
            return nan
        if self.positive or self.negative:
            return inf if self.positive else -inf
        return quotient(self.numerator, self.denominator * count)

    def _plus(self, other: Any, sign: int) -> Any:
        if not isinstance(other, ExactSum):
            try:
                ratio = as_ratio(other)
            except TypeError:
                return self / 1 + sign * other
            if ratio:
                total, common = self._total(*ratio, sign)
                return ExactSum(total, common, self.nans, self.positive, self.negative)
            other = _not_finite(other)
        total, common = self._total(other.numerator, other.denominator, sign)
        return ExactSum(
            total,
            common,
            self.nans + sign * other.nans,
            self.positive + sign * other.positive,
            self.negative + sign * other.negative,
        )

    def _total(self, numerator: int, denominator: int, sign: int) -> Ratio:
        """Return the sum with a ratio added; its denominator is 1 if it is zero."""
        if denominator == self.denominator:
            total, common = self.numerator + sign * numerator, denominator
        else:
            common = lcm(self.denominator, denominator)
            own = self.numerator * (common // self.denominator)
            total = own + sign * numerator * (common // denominator)
        return total, common if total else 1


def _not_finite(number: object) -> ExactSum:
    """Count a number that has no ratio; others add nothing."""
    return ExactSum(nans=number != number, positive=number == inf, negative=number == -inf)
