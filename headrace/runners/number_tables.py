"""Combining whole columns: sums and counts, which a table of numbers keeps.

An accumulator that is a number from 0 needs no call for each value, not even one for each key.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeAlias

import attrs

from headrace.sdk.combine_fn import CombineFn, SumCombineFn
from headrace.sdk.combiners.counting import CountCombineFn

Numbers: TypeAlias = dict[Hashable, Any]
"""Accumulators by key."""


@attrs.frozen
class NumberTable:
    """How a CombineFn takes columns of keys and values.

    Attributes:
        table: makes an empty table.
        add: adds columns of keys and values to a table.
        merge: adds columns of keys and accumulators to a table.
    """

    table: Callable[[], Numbers]
    add: Callable[[Any, Sequence[Hashable], Sequence[Any]], None]
    merge: Callable[[Any, Sequence[Hashable], Sequence[Any]], None]


def number_table_of(fn: CombineFn) -> NumberTable | None:
    """Return how a CombineFn takes columns, if it is of a type that can."""
    return _NUMBER_TABLES.get(type(fn))


def _sum(table: Numbers, keys: Sequence[Hashable], values: Sequence[Any]) -> None:
    for key, value in zip(keys, values, strict=True):
        table[key] += value


def _count(table: Counter[Hashable], keys: Sequence[Hashable], values: Sequence[Any]) -> None:
    table.update(keys)


_NUMBER_TABLES: Final[dict[type[CombineFn], NumberTable]] = {
    SumCombineFn: NumberTable(lambda: defaultdict(int), _sum, _sum),
    CountCombineFn: NumberTable(Counter, _count, _sum),
}
