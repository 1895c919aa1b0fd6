"""Accumulators of known CombineFns as columns: merged and read without a call for each row.

=============================  ===========================
CombineFn                      accumulators
=============================  ===========================
``SumCombineFn``               sums
``CountCombineFn``             counts
``MeanCombineFn``              pairs of a sum and a count
``SingleInputTupleCombineFn``  lists of accumulators
``TupleCombineFn``             lists of accumulators
=============================  ===========================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add
from typing import Any, Final, NamedTuple

from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.combiners.tuples import SingleInputTupleCombineFn, TupleCombineFn
from headrace.sdk.groups.combine_fn import CombineFn, SumCombineFn


class AccumulatorColumns(NamedTuple):
    """How columns of accumulators of a CombineFn are merged and read; they have at least one row.

    Attributes:
        merge: merges two columns row by row, and changes neither.
        read: returns the output of each row.
    """

    merge: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    read: Callable[[Sequence[Any]], list[Any]]


def accumulator_columns_of(fn: CombineFn) -> AccumulatorColumns | None:
    """Return how columns of a CombineFn's accumulators are merged and read; None if it is not known.

    >>> columns = accumulator_columns_of(TupleCombineFn(sum, CountCombineFn()))
    >>> columns.read(columns.merge([[1, 1], [2, 1]], [[10, 3], [20, 3]]))
    [(11, 4), (22, 4)]
    """
    make = _COLUMNS.get(type(fn))
    return make(fn) if make else None


def _added(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    return list(map(add, one, other))


def _of_numbers(fn: CombineFn) -> AccumulatorColumns:
    return AccumulatorColumns(_added, list)


def _of_means(fn: CombineFn) -> AccumulatorColumns:
    def merge(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
        (totals, counts), (more, others) = (zip(*rows, strict=True) for rows in (one, other))
        return list(zip(map(add, totals, more), map(add, counts, others), strict=True))

    return AccumulatorColumns(merge, lambda rows: list(map(fn.extract_output, rows)))


def _of_tuples(fn: SingleInputTupleCombineFn) -> AccumulatorColumns | None:
    parts = list(filter(None, map(accumulator_columns_of, fn.parts)))
    if len(parts) < max(len(fn.parts), 1):
        return None

    def merge(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
        columns = zip(parts, zip(*one, strict=True), zip(*other, strict=True), strict=True)
        return list(map(list, zip(*(part.merge(*both) for part, *both in columns), strict=True)))

    def read(rows: Sequence[Any]) -> list[Any]:
        columns = zip(parts, zip(*rows, strict=True), strict=True)
        return list(zip(*(part.read(column) for part, column in columns), strict=True))

    return AccumulatorColumns(merge, read)


_COLUMNS: Final[dict[type[CombineFn], Callable[[Any], AccumulatorColumns | None]]] = {
    SumCombineFn: _of_numbers,
    CountCombineFn: _of_numbers,
    MeanCombineFn: _of_means,
    SingleInputTupleCombineFn: _of_tuples,
    TupleCombineFn: _of_tuples,
}
