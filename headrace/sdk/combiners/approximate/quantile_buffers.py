"""Quantiles in buffers of bounded memory, by the algorithm that Beam uses.

The algorithm is by Manku, Rajagopalan and Lindsay, "Approximate Medians and other Quantiles in One
Pass and with Limited Memory" (1998). Values fill buffers of a fixed size. When there are too many full
buffers, the buffers of the lowest level are collapsed: sorted together, and replaced by one buffer of values
at equal distances. Each value stands for the values that were left out around it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from math import ceil
from typing import Any, TypeAlias

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.groups.combine_fn import CombineFn

Weighted: TypeAlias = tuple[Any, float]
"""A value, and the number of values that it stands for."""


@attrs.frozen
class Buffers:
    """The values of a group: full buffers with their levels, and values that do not fill a buffer yet.

    Attributes:
        ends: the smallest and the largest value; empty without values.
    """

    full: tuple[tuple[int, list[Weighted]], ...] = ()
    rest: tuple[Weighted, ...] = ()
    ends: tuple[Any, ...] = ()


@attrs.frozen
class BufferSpec:
    """The number of buffers, and of the values in each."""

    num_buffers: int
    buffer_size: int

    @classmethod
    def of(cls, epsilon: float, max_num_elements: int) -> BufferSpec:
        """Return the least buffers by which ranks differ by at most a part of the number of values.

        Args:
            epsilon: that part.
            max_num_elements: the number of values up to which that holds.

        >>> BufferSpec.of(0.01, 1_000_000)
        BufferSpec(num_buffers=11, buffer_size=977)
        """
        number = 2
        while (number - 1) * 2 ** (number - 1) + 0.5 <= epsilon * max_num_elements:
            number += 1
        return cls(number, max(2, ceil(max_num_elements / 2 ** (number - 1))))


class BoundedQuantilesCombineFn(CombineFn):
    """Quantiles with an error, in bounded memory; cannot subtract.

    ``ApproximateQuantilesCombineFn.create`` makes one if it gets ``epsilon`` or ``max_num_elements``. The
    results are the same for the same order of values; another order gives others within the error.

    Args:
        num_quantiles: number of quantiles, with minimum and maximum; 2 or more.
        epsilon: the error of the rank of a quantile as a part of the number of values.
        max_num_elements: the number of values for which that error holds.
        values_of: returns the values in an input, with their weights.
        key: returns the sort key of a value; by default the value itself.
        reverse: whether the largest value is the first.

    Raises:
        PipelineError: the error is not between 0 and 1, or the number of values is not positive.
    """

    def __init__(
        self,
        num_quantiles: int,
        epsilon: float,
        max_num_elements: int,
        values_of: Callable[[Any], Iterable[Weighted]],
        key: Callable[[Any], Any] | None = None,
        reverse: bool = False,
    ) -> None:
        if not 0 < epsilon < 1 or max_num_elements < 1:
            raise PipelineError(
                f"epsilon is {shorten(epsilon)}, and max_num_elements {shorten(max_num_elements)}",
                remedy="use an epsilon between 0 and 1, and a number of 1 or more",
            )
        self._parts = num_quantiles - 1
        self._spec = BufferSpec.of(epsilon, max_num_elements)
        self._values_of = values_of
        self._key = key
        self._reverse = reverse

    def create_accumulator(self) -> Buffers:
        return Buffers()

    def add_input(self, mutable_accumulator: Buffers, element: object) -> Buffers:
        return self.add_inputs(mutable_accumulator, (element,))

    def add_inputs(self, mutable_accumulator: Buffers, elements: Iterable[object]) -> Buffers:
        added = [pair for element in elements for pair in self._values_of(element)]
        return self._filled(mutable_accumulator, Buffers(rest=tuple(added), ends=_values(added)))

    def merge_accumulators(self, accumulators: Iterable[Buffers]) -> Buffers:
        merged = Buffers()
        for accumulator in accumulators:
            merged = self._filled(merged, accumulator)
        return merged

    def extract_output(self, accumulator: Buffers) -> list[Any]:
        if not accumulator.ends:
            return []
        entries = self._sorted(
            [*accumulator.rest, *(pair for _, pairs in accumulator.full for pair in pairs)]
        )
        sums = list(accumulate(weight for _, weight in entries))
        step, offset = sums[-1] / self._parts, (sums[-1] - 1) / self._parts
        marks = (bisect_right(sums, int(n * step + offset)) for n in range(self._parts - 1))
        between = [entries[min(mark, len(entries) - 1)][0] for mark in marks]
        return [accumulator.ends[0], *between, accumulator.ends[-1]]

    def _filled(self, one: Buffers, other: Buffers) -> Buffers:
        """Return all values in as few buffers as are allowed."""
        size = self._spec.buffer_size
        full, rest = [*one.full, *other.full], [*one.rest, *other.rest]
        while len(rest) >= size:
            full.append((0, self._sorted(rest[:size])))
            del rest[:size]
            full = self._collapsed(full)
        ends = self._sorted([(value, 0) for value in (*one.ends, *other.ends)])
        return Buffers(tuple(self._collapsed(full)), tuple(rest), _values(ends[:1] + ends[-1:]))

    def _collapsed(
        self, full: list[tuple[int, list[Weighted]]]
    ) -> list[tuple[int, list[Weighted]]]:
        while len(full) > self._spec.num_buffers:
            levels = sorted(level for level, _ in full)
            top = levels[1]  # the lowest level, or the next one if only one buffer has the lowest
            lowest = [pair for level, pairs in full if level <= top for pair in pairs]
            others = [buffer for buffer in full if buffer[0] > top]
            full = [(top + 1, self._spaced(top, self._sorted(lowest))), *others]
        return full

    def _spaced(self, level: int, pairs: list[Weighted]) -> list[Weighted]:
        """Return as many pairs as fit into a buffer, at equal distances and with equal weights."""
        sums = list(accumulate(weight for _, weight in pairs))
        weight = sums[-1] / self._spec.buffer_size
        # Of two values at the same distance from a mark, levels alternate between the lower and the upper.
        bisect = bisect_left if level % 2 else bisect_right
        marks = ((n + 0.5) * weight for n in range(self._spec.buffer_size))
        return [(pairs[min(bisect(sums, mark), len(pairs) - 1)][0], weight) for mark in marks]

    def _sorted(self, pairs: list[Weighted]) -> list[Weighted]:
        key = self._key
        rank = _first if key is None else lambda pair: key(pair[0])
        return sorted(pairs, key=rank, reverse=self._reverse)


def _first(pair: Weighted) -> Any:
    return pair[0]


def _values(pairs: Iterable[Weighted]) -> tuple[Any, ...]:
    return tuple(value for value, _ in pairs)
