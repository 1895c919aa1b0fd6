"""Contents of groups of rows of a table: what a CombineFn keeps of each group, made as a column.

Counts, and sums, means and extremes of integers, are made by numpy, and are exact. Any other CombineFn, or
any other type of values, gets the values of each group as a list in their order. So contents are those of
elements: sums of floats are rounded in the same order, None is the same error, and large sums are Python's
integers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce
from operator import add
from typing import Any, Final, TypeAlias

import attrs

from headrace.grouping.reduction import Reduction
from headrace.runners.contents.reductions import Accumulate
from headrace.runners.error_context import note_combined
from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.combiners.tuples import TupleCombineFn
from headrace.sdk.elements.record_tables import Fields
from headrace.sdk.groups.combine_fn import CombineFn, ExtremeCombineFn, SumCombineFn
from headrace.windowing.column import mapped

_INT_LIMIT: Final = 1 << 63
"""Integers of numpy are smaller than this."""

_HALF: Final = 32
"""Bits of the lower half of an integer of numpy."""


@attrs.define(eq=False, slots=False)
class Groups:
    """Rows of a table by group.

    Attributes:
        ids: the number of each row's group, as a numpy array; groups are numbered from 0.
        size: the number of groups.
    """

    ids: Any
    size: int

    @cached_property
    def counts(self) -> Any:
        """The number of rows of each group."""
        import numpy as np

        return np.bincount(self.ids, minlength=self.size)

    @cached_property
    def _order(self) -> Any:
        """The rows, group after group, each in its order."""
        import numpy as np

        return np.argsort(self.ids, kind="stable")

    @cached_property
    def _ends(self) -> list[int]:
        return self.counts.cumsum().tolist()  # type: ignore[no-any-return]  # of an optional package

    def lists(self, values: Fields, table: Any) -> list[list[Any]]:
        """Return the values of each group, as a list of Python values.

        Args:
            values: the fields of a value.
            table: the table.
        """
        rows = values.of(table.select(dict.fromkeys(values.names)).take(self._order))
        return [rows[start:end] for start, end in zip([0, *self._ends], self._ends, strict=False)]


def contents_of(
    reduction: Reduction,
    values: Fields,
    table: Any,
    groups: Groups,
    key_of: Callable[[int], object],
    adds: bool = False,
) -> list[Any]:
    """Return the content of each group.

    Args:
        reduction: what contents are made of.
        values: the fields of a value.
        table: the table.
        groups: the groups of its rows.
        key_of: returns the key of a group, for errors.
        adds: whether values that are not integers are added one by one to 0.

    Raises:
        Exception: an error of the CombineFn, with a note of the element.
    """
    fn = reduction.fn if type(reduction) is Accumulate else None
    of = _added if adds and type(fn) is SumCombineFn else reduction.of
    whole = Whole(of, values, table, groups, key_of)
    if values.single or type(fn) is not TupleCombineFn:
        column = _partial(fn, table.column(values.names[0]), groups) if values.single else None
        return whole.contents(of, values) if column is None else column
    made = (_part(part, name, whole) for part, name in zip(fn.parts, values.names, strict=True))
    return list(map(list, zip(*made, strict=True)))


@attrs.frozen(eq=False)
class Whole:
    """The whole values of groups, for combining in Python.

    Attributes:
        of: makes the content of values.
        values: the fields of a value.
        table: the table.
        groups: the groups.
        key_of: returns the key of a group.
    """

    of: Callable[[list[Any]], Any]
    values: Fields
    table: Any
    groups: Groups
    key_of: Callable[[int], object]

    def contents(self, of: Callable[[list[Any]], Any], values: Fields) -> list[Any]:
        """Return what a function makes of values of each group; an error names the element."""

        def note(error: Exception, row: int) -> None:
            note_combined(
                error, self.of, self.key_of(row), self.groups.lists(self.values, self.table)[row]
            )

        return mapped(of, self.groups.lists(values, self.table), note)


def _part(fn: CombineFn, name: str, whole: Whole) -> list[Any]:
    """Return what one of several CombineFns makes of the field of each group that it combines."""

    def of(values: list[Any]) -> Any:
        return fn.add_inputs(fn.create_accumulator(), tuple(values))

    column = _partial(fn, whole.table.column(name), whole.groups)
    return whole.contents(of, Fields((name,), single=True)) if column is None else column


def _added(values: list[Any]) -> Any:
    """Add values one by one, as a table of numbers does; ``sum`` rounds floats in another way."""
    return reduce(add, values, 0)


Partial: TypeAlias = Callable[[Any, Any, Groups], list[Any]]
"""Makes the contents of a CombineFn, given integers and their groups."""


def _partial(fn: CombineFn | None, column: Any, groups: Groups) -> list[Any] | None:
    """Return the contents of groups, if they can be made of a whole column; else None."""
    if type(fn) is CountCombineFn:
        return groups.counts.tolist()  # type: ignore[no-any-return]  # of an optional package
    make = PARTIALS.get(type(fn))
    integers = None if make is None else _integers(column)
    return None if make is None or integers is None else make(fn, integers, groups)


def _integers(column: Any) -> Any:
    """Return a column of integers as a numpy array; None if it is anything else."""
    import pyarrow as pa

    if column.null_count or not len(column) or not pa.types.is_integer(column.type):
        return None
    try:
        return column.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:  # there are larger ones
        return None


def _sums(fn: CombineFn, integers: Any, groups: Groups) -> list[Any]:
    """Return the sum of each group; sums that could be too large for numpy are made of halves."""
    largest = max(-int(integers.min()), int(integers.max()))
    if largest * int(groups.counts.max()) < _INT_LIMIT:
        return _small_sums(integers, groups)
    high = _small_sums(integers >> _HALF, groups)
    low = _small_sums(integers & ((1 << _HALF) - 1), groups)
    return [(over << _HALF) + under for over, under in zip(high, low, strict=True)]


def _small_sums(integers: Any, groups: Groups) -> list[Any]:
    import numpy as np

    sums = np.zeros(groups.size, np.int64)
    np.add.at(sums, groups.ids, integers)
    return sums.tolist()


def _means(fn: CombineFn, integers: Any, groups: Groups) -> list[Any]:
    return list(zip(_sums(fn, integers, groups), groups.counts.tolist(), strict=True))


def _extremes(fn: ExtremeCombineFn, integers: Any, groups: Groups) -> list[Any]:
    """Return the smallest or largest integer of each group, as the list that the CombineFn compacts to."""
    import numpy as np

    least = fn.fn is min
    bound = np.iinfo(np.int64).max if least else np.iinfo(np.int64).min
    found = np.full(groups.size, bound, np.int64)
    (np.minimum if least else np.maximum).at(found, groups.ids, integers)
    return found.reshape(-1, 1).tolist()


PARTIALS: Final[dict[Any, Partial]] = {
    SumCombineFn: _sums,
    MeanCombineFn: _means,
    ExtremeCombineFn: _extremes,
}
"""How contents of integers are made, by the class of the CombineFn."""
