"""Contents of groups of rows of a table: what a CombineFn keeps of each group, made as a column.

Known CombineFns combine whole columns of most types
(:mod:`headrace.runners.contents.column_partials`). Any other CombineFn, or any other type of values, gets
the values of each group as a list in their order. So contents are those of elements: sums of floats are
rounded in the same order, None is the same error, and large sums are Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import repeat
from operator import add
from typing import Any

import attrs

from headrace.grouping.reduction import Reduction
from headrace.runners.checks.accumulator_check import unchecked
from headrace.runners.contents.column_partials import partial_contents
from headrace.runners.contents.groups import Groups
from headrace.runners.contents.reductions import Accumulate
from headrace.runners.error_context import note_combined
from headrace.sdk.combiners.tuples import TupleCombineFn
from headrace.sdk.elements.record_tables import Fields, TableValue
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
    if not isinstance(values, Fields):
        return whole.contents(of, values)
    if values.single:
        column = partial_contents(fn, table.column(values.names[0]), groups, adds)
        return whole.contents(of, values) if column is None else column
    if type(fn) is not TupleCombineFn:
        return whole.contents(of, values)
    columns = map(table.column, values.names)
    pairs = zip(fn.parts, columns, strict=True)
    parts = [partial_contents(part, column, groups, adds=False) for part, column in pairs]
    if None in parts and fn is not given:
        return whole.contents(of, values)
    made = map(_part, fn.parts, parts, values.names, repeat(whole))
    return list(map(list, zip(*made, strict=True)))


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
        """Return what a function makes of values of each group; an error names the element."""

        def note(error: Exception, row: int) -> None:
            note_combined(
                error, self.of, self.key_of(row), self.groups.lists(self.values, self.table)[row]
            )

        return mapped(of, self.groups.lists(values, self.table), note)


def _part(fn: CombineFn, column: list[Any] | None, name: str, whole: Whole) -> list[Any]:
    """Return what one of several CombineFns makes of the field of each group that it combines.

    Args:
        fn: the CombineFn.
        column: its contents, if they are made of the whole column.
        name: the field.
        whole: the values of the groups.
    """
    if column is not None:
        return column

    def of(values: list[Any]) -> Any:
        return fn.add_inputs(fn.create_accumulator(), tuple(values))

    return whole.contents(of, Fields((name,), single=True))


def _added(values: list[Any]) -> Any:
    """Add values one by one, as a table of numbers does; ``sum`` rounds floats in another way."""
    return reduce(add, values, 0)
