"""Combining of whole columns: sums and counts by key, in a table of numbers.

If accumulators are numbers that start at 0, no function is called for each value or key.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import note_element
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.groups.combine_fn import CombineFn, SumCombineFn

Numbers: TypeAlias = dict[Hashable, Any]
"""Accumulators by key identity."""

Name: TypeAlias = Callable[[Hashable], Any]
"""Returns the key with an identity."""


@attrs.frozen
class NumberTable:
    """How a CombineFn combines columns of keys and values.

    Attributes:
        table: makes an empty table.
        of: returns the accumulator of values.
        add: adds columns of keys and values to a table; for errors it gets the name of each key.
        merge: adds columns of keys and accumulators to a table, likewise.
    """

    table: Callable[[], Numbers]
    of: Callable[[list[Any]], Any]
    add: Callable[[Any, Sequence[Hashable], Sequence[Any], Name], None]
    merge: Callable[[Any, Sequence[Hashable], Sequence[Any], Name], None]


def number_table_of(fn: CombineFn) -> NumberTable | None:
    """Return the number table of a CombineFn; None if it has none."""
    return _NUMBER_TABLES.get(type(fn))


def _sum(table: Numbers, keys: Sequence[Hashable], values: Sequence[object], name: Name) -> None:
    rows = zip(keys, values, strict=True)
    try:
        for key, value in rows:
            table[key] += value
    except Exception as error:
        note_element(error, (name(key), value))
        raise


def _count(
    table: Counter[Hashable], keys: Sequence[Hashable], values: Sequence[object], name: Name
) -> None:
    table.update(keys)


_NUMBER_TABLES: Final[dict[type[CombineFn], NumberTable]] = {
    SumCombineFn: NumberTable(lambda: defaultdict(int), sum, _sum, _sum),
    CountCombineFn: NumberTable(Counter, len, _count, _sum),
}
