"""Quantiles of values, exact, under the names of Beam's approximate ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate, chain, repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.combiners.approximate.quantile_buffers import BoundedQuantilesCombineFn
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.ready import Ready
from headrace.sdk.combiners.top import KeyFunction
from headrace.sdk.elements.type_variables import KeyT, T
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.pipelines.pvalue import PCollection

_MAX_ELEMENTS: Final = 10**9

Counts: TypeAlias = dict[bytes, tuple[Any, int]]
"""Values with their number, by encoding; a number below zero is a value that was subtracted first."""


class ApproximateQuantilesCombineFn(CombineFn):
    """The minimum, evenly spaced values in between, and the maximum (Beam's name); can subtract.

    It keeps all values, so its quantiles are exact, and the memory of a group is proportional to the number
    of its distinct values; :meth:`create` can bound the memory, and :class:`KllQuantilesCombineFn` does. If
    there are fewer values than quantiles, values are repeated. Without values, there are no quantiles.

    Args:
        num_quantiles: number of quantiles, with minimum and maximum; 2 or more.
        key: returns the sort key of a value; by default the value itself.
        reverse: whether the largest value is the first.
        weighted: whether an input is a pair of a value and its weight.
        input_batched: whether an input is a list of values; or, if weighted, a pair of a list of values
            and a list of their weights.

    Raises:
        PipelineError: the number of quantiles is not valid.

    >>> ApproximateQuantilesCombineFn(5).apply(range(101))
    [0, 25, 50, 75, 100]
    >>> ApproximateQuantilesCombineFn(3, weighted=True).apply([("a", 1), ("b", 1), ("c", 8)])
    ['a', 'c', 'c']
    """

    def __init__(
        self,
        num_quantiles: int,
        key: KeyFunction | None = None,
        reverse: bool = False,
        weighted: bool = False,
        input_batched: bool = False,
    ) -> None:
        if not isinstance(num_quantiles, int) or num_quantiles < 2:
            raise PipelineError(
                f"num_quantiles is {shorten(num_quantiles)}",
                remedy="use 2 or more: minimum and maximum count; for the median, use 3",
            )
        self._number = num_quantiles
        self._key = key
        self._reverse = reverse
        self._weighted = weighted
        self._batched = input_batched

    @classmethod
    def create(
        cls,
        num_quantiles: int,
        epsilon: float | None = None,
        max_num_elements: int | None = None,
        key: KeyFunction | None = None,
        reverse: bool = False,
        weighted: bool = False,
        input_batched: bool = False,
    ) -> CombineFn:
        """Return the CombineFn; with an error in bounded memory, or without one exact.

        Args:
            num_quantiles: number of quantiles, with minimum and maximum; 2 or more.
            epsilon: the error of the rank of a quantile as a part of the number of values; if only the next
                argument is given, 1/num_quantiles.
            max_num_elements: the number of values for which that error holds; if only epsilon is given,
                10⁹.
            key: returns the sort key of a value; by default the value itself.
            reverse: whether the largest value is the first.
            weighted: whether an input is a pair of a value and its weight.
            input_batched: whether an input is a list of values.

        >>> fn = ApproximateQuantilesCombineFn.create(3, epsilon=0.05)
        >>> fn.apply(range(100_001))[1] in range(45_000, 55_001), fn.can_subtract
        (True, False)
        """
        exact = cls(num_quantiles, key, reverse, weighted, input_batched)
        if epsilon is None and max_num_elements is None:
            return exact
        return BoundedQuantilesCombineFn(
            num_quantiles,
            1 / num_quantiles if epsilon is None else epsilon,
            max_num_elements or _MAX_ELEMENTS,
            exact.weighted_values,
            key,
            reverse,
        )

    def weighted_values(self, element: object) -> Iterable[tuple[Any, float]]:
        """Return the values in an input, with their weights."""
        values = self._values(element)
        return values if self._weighted else ((value, 1) for value in values)

    def create_accumulator(self) -> Counts:
        return {}

    def add_input(self, mutable_accumulator: Counts, element: object) -> Counts:
        for value in self._values(element):
            _count(mutable_accumulator, encode_value(value), value, 1)
        return mutable_accumulator

    def subtract_input(self, mutable_accumulator: Counts, element: object) -> Counts:
        """Return the values without those of an input."""
        for value in self._values(element):
            _count(mutable_accumulator, encode_value(value), value, -1)
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[Counts]) -> Counts:
        first, *others = accumulators
        for other in others:
            for encoding, (value, number) in other.items():
                _count(first, encoding, value, number)
        return first

    def extract_output(self, accumulator: Counts) -> list[Any]:
        values = list(chain.from_iterable(repeat(v, n) for v, n in self._in_order(accumulator)))
        if not values:
            return []
        between = self._by_weight(values) if self._weighted else self._by_rank(values)
        ends = (values[0], values[-1])
        least, most = (v for v, _ in ends) if self._weighted else ends
        return [least, *between, most]

    def _values(self, element: Any) -> Iterable[Any]:
        if not self._batched:
            return (element,)
        return zip(*element, strict=True) if self._weighted else element

    def _in_order(self, accumulator: Counts) -> list[tuple[Any, int]]:
        """Return the values in order; those with the same sort key in the order of their encodings."""
        counted = [accumulator[encoding] for encoding in sorted(accumulator)]
        value_of = _first_of_first if self._weighted else _first
        key = self._key
        rank = value_of if key is None else lambda pair: key(value_of(pair))
        return sorted(counted, key=rank, reverse=self._reverse)

    def _by_rank(self, values: list[object]) -> list[Any]:
        """Return the values between minimum and maximum, at Beam's indexes."""
        parts, last = self._number - 1, len(values) - 1
        step, offset = len(values) / parts, last / parts
        return [values[min(int(n * step + offset), last)] for n in range(parts - 1)]

    def _by_weight(self, values: list[Any]) -> list[object]:
        """Return the values between minimum and maximum at which the sum of weights passes Beam's marks."""
        sums = list(accumulate(weight for _, weight in values))
        parts, total = self._number - 1, sums[-1]
        step, offset = total / parts, (total - 1) / parts
        marks = (bisect_right(sums, n * step + offset) for n in range(parts - 1))
        return [values[min(mark, len(values) - 1)][0] for mark in marks]


def _count(counts: Counts, encoding: bytes, value: object, number: int) -> None:
    """Add to the number of a value; a number of 0 leaves nothing."""
    number += counts.get(encoding, (value, 0))[1]
    if number:
        counts[encoding] = value, number
    else:
        del counts[encoding]


def _first(pair: Any) -> Any:
    return pair[0]


def _first_of_first(pair: Any) -> Any:
    return pair[0][0]


class _ApproximateQuantiles(Ready[Any, list[Any]]):
    _name = "ApproximateQuantiles"

    def __init__(
        self,
        num_quantiles: int,
        key: KeyFunction | None = None,
        reverse: bool = False,
        weighted: bool = False,
        input_batched: bool = False,
    ) -> None:
        fn = ApproximateQuantilesCombineFn(num_quantiles, key, reverse, weighted, input_batched)
        super().__init__(fn)
        self._num_quantiles = num_quantiles
        self._key = key
        self._reverse = reverse
        self._weighted = weighted
        self._input_batched = input_batched

    def display_data(self) -> dict[str, object]:
        """Return the arguments; a sort key by its name."""
        return {
            "num_quantiles": self._num_quantiles,
            "key": getattr(self._key, "__name__", type(self._key).__name__),
            "reverse": str(self._reverse),
            "weighted": str(self._weighted),
            "input_batched": str(self._input_batched),
        }


class ApproximateQuantiles:
    """Transforms that return a list of quantiles (Beam's name; Headrace's quantiles are exact).

    The arguments are those of :class:`ApproximateQuantilesCombineFn`.

    >>> with Pipeline() as p:
    ...     _ = p | Create([40, 10, 30, 20, 50]) | ApproximateQuantiles.Globally(3) | Map(print)
    [10, 30, 50]
    """

    class Globally(_ApproximateQuantiles, CombineGlobally[Any, list[Any]]):
        """A list of quantiles of all elements.

        Args:
            num_quantiles: number of quantiles, with minimum and maximum; 2 or more.
            key: returns the sort key of an element; by default the element itself.
            reverse: whether the largest element is the first.
            weighted: whether an element is a pair of a value and its weight.
            input_batched: whether an element is a list of values.
        """

        def default_label(self) -> str:
            return f"ApproximateQuantiles({self._num_quantiles})"

        if TYPE_CHECKING:

            def expand(self, pcoll: PCollection[T]) -> PCollection[list[Any]]: ...

    class PerKey(_ApproximateQuantiles, CombinePerKey[Any, list[Any]]):
        """A list of quantiles of the values of each key.

        Args:
            num_quantiles: number of quantiles, with minimum and maximum; 2 or more.
            key: returns the sort key of a value; by default the value itself.
            reverse: whether the largest value is the first.
            weighted: whether a value is a pair of a value and its weight.
            input_batched: whether a value is a list of values.
        """

        def default_label(self) -> str:
            return f"ApproximateQuantilesPerKey({self._num_quantiles})"

        if TYPE_CHECKING:

            def expand(
                self, pcoll: PCollection[tuple[KeyT, T]]
            ) -> PCollection[tuple[KeyT, list[Any]]]: ...
