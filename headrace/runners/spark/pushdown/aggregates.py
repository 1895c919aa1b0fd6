"""Known combiners as aggregates of Spark: which, on which types, and their expression of SQL.

Their results are those of the CombineFns. What a column of Spark cannot hold is null, and the batch then
works on elements: a sum above 64 bits, or the mean of values whose sum is above the integers that a double
holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from headrace.runners.spark.pushdown.stays import StaysInPython, require
from headrace.runners.spark.pushdown.windows import COUNT_OF_ROWS
from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.combiners.tuples import TupleCombineFn
from headrace.sdk.elements.record_tables import Fields
from headrace.sdk.groups.combine_fn import CombineFn, ExtremeCombineFn, SumCombineFn

_EXACT: Final = 1 << 53
"""A double holds all integers up to this."""

ANY: Final[Sequence[str]] = ()
"""Any type."""

INTEGERS: Final = ("bigint",)
ORDERED: Final = ("bigint", "string", "date")


@attrs.frozen
class Aggregate:
    """A combiner as an aggregate.

    Attributes:
        types: Spark's types of the values; ANY for all, nulls among them.
        of: returns the aggregate of a column; both are expressions of SQL.
        can_be_null: whether a column of Spark cannot hold some results.
    """

    types: Sequence[str]
    of: Callable[[str], str]
    can_be_null: bool = False


def _mean(value: str) -> str:
    total = f"try_sum({value})"
    return f"CASE WHEN abs({total}) <= {_EXACT}L THEN {total} / count({value}) END"


def aggregate_of(fn: CombineFn) -> Aggregate:
    """Return the aggregate of a CombineFn.

    Raises:
        StaysInPython: it has none.

    >>> aggregate_of(SumCombineFn()).types
    ('bigint',)
    """
    if type(fn) is ExtremeCombineFn:
        return Aggregate(ORDERED, ("min({})" if fn.fn is min else "max({})").format)
    if type(fn) in _AGGREGATES:
        return _AGGREGATES[type(fn)]
    raise StaysInPython(f"{fn.default_label()} is not an aggregate of Spark")


_AGGREGATES: Final[dict[type, Aggregate]] = {
    CountCombineFn: Aggregate(ANY, lambda _: COUNT_OF_ROWS),
    SumCombineFn: Aggregate(INTEGERS, "try_sum({})".format, can_be_null=True),
    MeanCombineFn: Aggregate(INTEGERS, _mean, can_be_null=True),
}


def parts_of(fn: CombineFn, values: Fields) -> list[CombineFn]:
    """Return the CombineFns of the fields of values.

    Args:
        fn: the CombineFn of the values.
        values: the fields.

    Raises:
        StaysInPython: the fields are not combined one by one.
    """
    if values.single:
        return [fn]
    parts = fn.parts if type(fn) is TupleCombineFn else []
    require(len(parts) == len(values.names), f"{fn.default_label()} takes whole values")
    return parts
