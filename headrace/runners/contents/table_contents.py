"""Contents of groups of rows of a table: what a CombineFn keeps of each group, made as a column.

Known CombineFns combine whole columns of most types
(:mod:`headrace.runners.contents.column_partials`). Any other CombineFn, or any other type of values, gets
the values of each group as a list in their order. So contents are those of elements: sums of floats are
rounded in the same order, None is the same error, and large sums are Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from itertools import repeat
from operator import add
from typing import Any

import attrs

from headrace.grouping.reduction import Reduction
from headrace.runners.checks.accumulator_check import unchecked
from headrace.runners.contents.column_partials import (
    OF_PAIRS,
    OF_TIMES,
    ColumnContents,
    partial_contents,
    products,
)
from headrace.runners.contents.groups import Groups
from headrace.runners.contents.reductions import Accumulate
from headrace.runners.error_context import note_combined
from headrace.sdk.combiners.by_time import ByTimeCombineFn
from headrace.sdk.combiners.tuples import TupleCombineFn
from headrace.sdk.elements.record_tables import (
    TIMESTAMPS,
    Fields,
    StampedValue,
    TableValue,
    TupleOfFields,
)
from headrace.sdk.groups.combine_fn import CombineFn, SumCombineFn
from headrace.windowing.column import mapped


def contents_of(
    reduction: Reduction,
    values: TableValue,
    table: Any,
    groups: Groups,
    key_of: Callable[[int], object],
    adds: bool = False,
) -> list[Any]:
    """Return the content of each group.

    Args:
        reduction: what contents are made of.
        values: what a value is made of.
        table: the table.
        groups: the groups of its rows.
        key_of: returns the key of a group, for errors.
        adds: whether values that are not integers are added one by one to 0.

    Raises:
        Exception: an error of the CombineFn, with a note of the element.
    """
    given = reduction.fn if type(reduction) is Accumulate else None
    fn = given and unchecked(given)
    of = _added if adds and type(fn) is SumCombineFn else reduction.of
    whole = Whole(of, values, table, groups, key_of)
    made = _made_of_columns(fn, values, table, groups, adds)
    if made is not None:
        return made
    items = values.parts if isinstance(values, (Fields, TupleOfFields)) else ()
    if type(fn) is not TupleCombineFn or not items:
        return whole.contents(of, values)
    pairs = zip(fn.parts, items, strict=True)
    parts = [_made_of_columns(part, value, table, groups, adds=False) for part, value in pairs]
    if None in parts and fn is not given:
        return whole.contents(of, values)
    columns = map(_part, fn.parts, parts, items, repeat(whole))
    return list(map(list, zip(*columns, strict=True)))


def _made_of_columns(
    fn: CombineFn | None, values: TableValue, table: Any, groups: Groups, adds: bool
) -> ColumnContents:
    """Return the contents that are made of whole columns; None if they are not."""
    if isinstance(values, StampedValue):
        if isinstance(fn, ByTimeCombineFn) and type(fn) in OF_TIMES:
            return _by_time(fn, values, table, groups)
        return None
    if not isinstance(values, Fields):
        return None
    match [table.column(name) for name in values.names]:
        case [column] if values.single:
            return partial_contents(fn, column, groups, adds)
        case [x, y] if type(fn) in OF_PAIRS:
            return products(x, y, groups)
    return None


def _by_time(
    fn: ByTimeCombineFn, values: StampedValue, table: Any, groups: Groups
) -> ColumnContents:
    """Return the earliest or latest value of each group; of several at that time, that of the CombineFn."""
    import numpy as np

    times = table.column(TIMESTAMPS).to_numpy()
    nothing: Any = fn.create_accumulator()
    chosen = np.full(groups.size, nothing[1].micros)
    getattr(np, OF_TIMES[type(fn)]).at(chosen, groups.ids, times)
    rows = np.flatnonzero(times == chosen[groups.ids])
    found: list[Any] = [nothing] * groups.size
    for group, stamped in zip(groups.ids[rows].tolist(), values.of(table.take(rows)), strict=True):
        found[group] = fn.add_input(found[group], stamped)
    return found


@attrs.frozen(eq=False)
class Whole:
    """The whole values of groups, for combining in Python.

    Attributes:
        of: makes the content of values.
        values: what a value is made of.
        table: the table.
        groups: the groups.
        key_of: returns the key of a group.
    """

    of: Callable[[list[Any]], Any]
    values: TableValue
    table: Any
    groups: Groups
    key_of: Callable[[int], object]

    def contents(self, of: Callable[[list[Any]], Any], values: TableValue) -> list[Any]:
        """Return what a function makes of values of each group; an error names the element.

        After an error, groups come in the order of arrival, so that the first error is that of elements.
        """
        with suppress(Exception):  # it comes again below
            return list(map(of, self.groups.lists(values, self.table)))
        order = self.groups.by_arrival.tolist()

        def note(error: Exception, row: int) -> None:
            wrong = self.groups.lists(self.values, self.table)[order[row]]
            note_combined(error, self.of, self.key_of(order[row]), wrong)

        lists = self.groups.lists(values, self.table)
        made = mapped(of, [lists[group] for group in order], note)
        by_group = dict(zip(order, made, strict=True))
        return [by_group[group] for group in range(len(order))]


def _part(fn: CombineFn, column: ColumnContents, value: TableValue, whole: Whole) -> list[Any]:
    """Return what one of several CombineFns makes of the values of each group that it combines.

    Args:
        fn: the CombineFn.
        column: its contents, if they are made of whole columns.
        value: what the values are made of.
        whole: the values of the groups.
    """
    if column is not None:
        return column

    def of(values: list[Any]) -> Any:
        return fn.add_inputs(fn.create_accumulator(), tuple(values))

    return whole.contents(of, value)


def _added(values: list[Any]) -> Any:
    """Add values one by one, as a table of numbers does; ``sum`` rounds floats in another way."""
    return reduce(add, values, 0)
