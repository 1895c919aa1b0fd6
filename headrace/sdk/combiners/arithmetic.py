"""Sums, means and extremes of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.exact_numbers import ExactSum
from headrace.sdk.combiners.ready import Ready
from headrace.sdk.elements.type_variables import KeyT
from headrace.sdk.groups.combine_fn import CombineFn, ExtremeCombineFn, Same, SumCombineFn
from headrace.sdk.pipelines.pvalue import PCollection

if TYPE_CHECKING:
    from datetime import timedelta
    from decimal import Decimal
    from fractions import Fraction

    ExactT = TypeVar("ExactT", bound=Decimal | Fraction | complex | timedelta)


class MeanCombineFn(CombineFn):
    """The arithmetic mean, or NaN without values; can subtract.

    Sums of ints and floats are exact, so the mean of floats is rounded once, and does not depend on the order
    of the values. The mean of values with NaN is NaN, and so is the mean of values with both infinities.

    >>> MeanCombineFn().apply([1, 2, 6]), MeanCombineFn().apply([1e16, 1.0, -1e16])
    (3.0, 0.3333333333333333)
    """

    def create_accumulator(self) -> tuple[Any, int]:
        return 0, 0

    def add_input(
        self, mutable_accumulator: tuple[object, int], element: object
    ) -> tuple[Any, int]:
        total, count = mutable_accumulator
        return _exact(total, element) + element, count + 1

    def add_inputs(
        self, mutable_accumulator: tuple[object, int], elements: Iterable[object]
    ) -> tuple[Any, int]:
        total, count = mutable_accumulator
        values = list(elements)
        return total + _total(values), count + len(values)

    def subtract_input(
        self, mutable_accumulator: tuple[object, int], element: object
    ) -> tuple[Any, int]:
        """Return sum and count without one input."""
        total, count = mutable_accumulator
        return _exact(total, element) - element, count - 1

    def merge_accumulators(self, accumulators: Iterable[tuple[object, int]]) -> tuple[Any, int]:
        totals, counts = zip(*accumulators, strict=True)
        return sum(totals), sum(counts)

    def extract_output(self, accumulator: tuple[Any, int]) -> Any:
        total, count = accumulator
        return total / count if count else float("nan")


def _exact(total: object, number: object) -> Any:
    """Return a sum to which a number is added; a sum of floats is exact."""
    is_plain = isinstance(number, float) and not isinstance(total, ExactSum)
    return ExactSum() + total if is_plain else total


def _total(numbers: list[Any]) -> Any:
    if set(map(type, numbers)) == {float}:
        return ExactSum.of_floats(numbers)
    total: Any = 0
    for number in numbers:
        total = _exact(total, number) + number
    return total


class _Mean(Ready[Any, Any]):
    _name = "Mean"

    def __init__(self) -> None:
        super().__init__(MeanCombineFn())


class Mean:
    """Transforms that compute the arithmetic mean.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 6]) | Mean.Globally() | Map(print)
    3.0
    """

    class Globally(_Mean, CombineGlobally[Any, Any]):
        """The mean of all elements."""

        if TYPE_CHECKING:

            @overload  # type: ignore[override]  # means of numbers alone
            def expand(self, pcoll: PCollection[float]) -> PCollection[float]: ...
            @overload
            def expand(self, pcoll: PCollection[ExactT]) -> PCollection[ExactT]: ...
            def expand(self, pcoll: Any) -> Any: ...

    class PerKey(_Mean, CombinePerKey[Any, Any]):
        """The mean of the values of each key."""

        if TYPE_CHECKING:

            @overload  # type: ignore[override]  # means of numbers alone
            def expand(
                self, pcoll: PCollection[tuple[KeyT, float]]
            ) -> PCollection[tuple[KeyT, float]]: ...
            @overload
            def expand(
                self, pcoll: PCollection[tuple[KeyT, ExactT]]
            ) -> PCollection[tuple[KeyT, ExactT]]: ...
            def expand(self, pcoll: Any) -> Any: ...


class _Sum(Ready[Same, Same]):
    _name = "Sum"

    def __init__(self) -> None:
        super().__init__(SumCombineFn())


class Sum:
    """Transforms that compute a sum (from Beam's Java; in Beam's Python: ``CombinePerKey(sum)``).

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 6]) | Sum.Globally() | Map(print)
    9
    """

    class Globally(_Sum, CombineGlobally[Same, Same]):
        """The sum of all elements."""

    class PerKey(_Sum, CombinePerKey[Same, Same]):
        """The sum of the values of each key."""


class _Min(Ready[Same, Same]):
    _name = "Min"

    def __init__(self) -> None:
        super().__init__(ExtremeCombineFn(min))


class Min:
    """Transforms that find the smallest value (from Beam's Java; in Beam's Python: ``CombinePerKey(min)``).

    >>> with Pipeline() as p:
    ...     _ = p | Create([3, 2, 6]) | Min.Globally() | Map(print)
    2
    """

    class Globally(_Min, CombineGlobally[Same, Same]):
        """The smallest element; None for an empty collection."""

    class PerKey(_Min, CombinePerKey[Same, Same]):
        """The smallest value of each key."""


class _Max(Ready[Same, Same]):
    _name = "Max"

    def __init__(self) -> None:
        super().__init__(ExtremeCombineFn(max))


class Max:
    """Transforms that find the largest value (from Beam's Java; in Beam's Python: ``CombinePerKey(max)``).

    >>> with Pipeline() as p:
    ...     _ = p | Create([3, 2, 6]) | Max.Globally() | Map(print)
    6
    """

    class Globally(_Max, CombineGlobally[Same, Same]):
        """The largest element; None for an empty collection."""

    class PerKey(_Max, CombinePerKey[Same, Same]):
        """The largest value of each key."""
