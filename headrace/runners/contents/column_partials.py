"""ColumnContents of known CombineFns, made of whole columns.

A partial form makes the content of each group, or returns None if it would not be the content of the
elements: for values of another type, with None or NaN, or larger than numpy's. Then Python combines lists.

=============================  =============================================================
CombineFn                      columns without None
=============================  =============================================================
``CountCombineFn``             all, also with None
``SumCombineFn``               integers, decimals; floats that are added one by one
``MeanCombineFn``              integers, decimals
``VarianceCombineFn``          integers whose squares numpy can hold
``CovarianceCombineFn``        two of integers whose products numpy can hold
``ExtremeCombineFn``           integers, floats without NaN, text, dates, decimals
``TopCombineFn``               the same but floats, without a sort key
``any``, ``all``               booleans
``ToSetCombineFn``, sketches   of distinct values: keys, also None, of which there are few
``SingleInputTupleCombineFn``  the columns of all its CombineFns
=============================  =============================================================
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, getcontext
from typing import Any, Final, TypeAlias

from headrace.runners.contents.codes import DENSE, codes_of, distinct, is_exact
from headrace.runners.contents.groups import Groups, parts
from headrace.runners.contents.ordered_columns import floats, integers, ordered, unscaled
from headrace.sdk.combiners.approximate.distinct import ApproximateCountDistinctCombineFn
from headrace.sdk.combiners.approximate.theta import ThetaSketchCombineFn
from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.combiners.by_time import EarliestCombineFn, LatestCombineFn
from headrace.sdk.combiners.collecting import ToSetCombineFn
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.combiners.moments import (
    CorrelationCombineFn,
    CovarianceCombineFn,
    StandardDeviationCombineFn,
    VarianceCombineFn,
)
from headrace.sdk.combiners.top import Largest, Smallest, TopCombineFn
from headrace.sdk.combiners.tuples import SingleInputTupleCombineFn, TupleCombineFn
from headrace.sdk.groups.combine_fn import (
    CallableCombineFn,
    CombineFn,
    ExtremeCombineFn,
    SumCombineFn,
)

_INT_LIMIT: Final = 1 << 63
"""Integers of numpy are smaller than this."""

_HALF: Final = 32
"""Bits of the lower half of an integer of numpy."""

_SQUARE_LIMIT: Final = 1 << 31
"""The squares of smaller integers are integers of numpy."""

ColumnContents: TypeAlias = list[Any] | None
"""The content of each group; None if they cannot be made of the column."""

Partial: TypeAlias = Callable[[Any, Any, Groups], ColumnContents]
"""Makes the contents of a CombineFn, given a column and its groups."""


def partial_contents(
    fn: CombineFn | None, column: Any, groups: Groups, adds: bool
) -> ColumnContents:
    """Return the contents of groups, if they can be made of a whole column; else None.

    Args:
        fn: the CombineFn, if contents are its accumulators.
        column: the column.
        groups: the groups of its rows.
        adds: whether sums add values one by one.
    """
    make = PARTIALS.get(type(fn))
    found = None if make is None else make(fn, column, groups)
    if found is None and adds and type(fn) is SumCombineFn:
        return _sums_of_floats(column, groups)
    return found


def _counts(fn: CombineFn, column: Any, groups: Groups) -> ColumnContents:
    return groups.counts.tolist()  # type: ignore[no-any-return]  # of an optional package


def _sums(fn: CombineFn, column: Any, groups: Groups) -> ColumnContents:
    numbers = integers(column)
    return _decimal_sums(column, groups) if numbers is None else integer_sums(numbers, groups)


def integer_sums(numbers: Any, groups: Groups) -> list[int]:
    """Return the sum of each group; sums that could be too large for numpy are made of halves."""
    largest = max(-int(numbers.min()), int(numbers.max()))
    if largest * int(groups.counts.max()) < _INT_LIMIT:
        return _small_sums(numbers, groups)
    high = _small_sums(numbers >> _HALF, groups)
    low = _small_sums(numbers & ((1 << _HALF) - 1), groups)
    return [(over << _HALF) + under for over, under in zip(high, low, strict=True)]


def _small_sums(numbers: Any, groups: Groups) -> list[int]:
    import numpy as np

    sums = np.zeros(groups.size, np.int64)
    np.add.at(sums, groups.ids, numbers)
    return sums.tolist()


def _decimal_sums(column: Any, groups: Groups) -> ColumnContents:
    """Return the sum of each group of decimals; None if Python would round one of them."""
    numbers = unscaled(column)
    if numbers is None:
        return None
    digits = column.type.precision + len(str(int(groups.counts.max())))
    if digits > getcontext().prec:
        return None
    scale = -column.type.scale
    return [Decimal(total).scaleb(scale) for total in integer_sums(numbers, groups)]


def _sums_of_floats(column: Any, groups: Groups) -> ColumnContents:
    """Return the sum of each group, with the floats added one by one in their order."""
    import numpy as np

    numbers = floats(column)
    if numbers is None:
        return None
    return np.bincount(groups.ids, numbers, groups.size).tolist()  # type: ignore[no-any-return]


def _means(fn: CombineFn, column: Any, groups: Groups) -> ColumnContents:
    sums = _sums(fn, column, groups)
    return None if sums is None else list(zip(sums, groups.counts.tolist(), strict=True))


def _power_sums(fn: CombineFn, column: Any, groups: Groups) -> ColumnContents:
    """Return the accumulators of a variance: counts, sums and sums of squares."""
    numbers = _factors(column)
    if numbers is None:
        return None
    sums, squares = (integer_sums(each, groups) for each in (numbers, numbers * numbers))
    counts = groups.counts.tolist()
    return [(n, 0, 1, *both) for n, *both in zip(counts, sums, squares, strict=True)]


def _factors(column: Any) -> Any:
    """Return a column of integers as a numpy array; None if it is not, or if numpy cannot hold products."""
    numbers = integers(column)
    if numbers is None or max(-int(numbers.min()), int(numbers.max())) >= _SQUARE_LIMIT:
        return None
    return numbers


def products(x: Any, y: Any, groups: Groups) -> ColumnContents:
    """Return the accumulators of a covariance, given two columns; None if they cannot be made of these."""
    xs, ys = _factors(x), _factors(y)
    if xs is None or ys is None:
        return None
    sums = (integer_sums(each, groups) for each in (xs, ys, xs * xs, ys * ys, xs * ys))
    return [(n, 0, 1, 1, *some) for n, *some in zip(groups.counts.tolist(), *sums, strict=True)]


def _extremes(fn: ExtremeCombineFn, column: Any, groups: Groups) -> ColumnContents:
    """Return the smallest or largest value of each group, as the list that the CombineFn compacts to."""
    import numpy as np

    values = ordered(column)
    if values is None:
        return None
    least = fn.fn is min
    found = np.empty(groups.size, values.ranks.dtype)
    found[groups.ids] = values.ranks  # any of each group
    (np.minimum if least else np.maximum).at(found, groups.ids, values.ranks)
    return [[value] for value in values.values(found)]


def _top(fn: TopCombineFn, column: Any, groups: Groups) -> ColumnContents:
    """Return the n largest or smallest values of each group, as the list that the CombineFn compacts to.

    The group and the rank of a row are sorted as one number. Floats, whose ranks would be too large, are not.
    """
    import numpy as np

    values = ordered(column) if fn.sort_key is None else None
    if values is None or values.ranks.dtype.kind == "f":
        return None
    least, most = int(values.ranks.min()), int(values.ranks.max())
    span = most - least + 1
    if span * groups.size >= _INT_LIMIT:
        return None
    rising = fn.takes_smallest
    places = np.sort(
        groups.ids.astype(np.int64) * span + _distances(values.ranks, least, most, rising)
    )
    starts = groups.counts.cumsum() - groups.counts
    in_group = np.arange(len(places)) - np.repeat(starts, groups.counts)
    kept = places[in_group < fn.n] % span
    chosen = values.values(kept + least if rising else most - kept)
    return parts(chosen, np.minimum(groups.counts, fn.n))


def _distances(ranks: Any, least: int, most: int, rising: bool) -> Any:
    """Return the distance of numbers from the smallest one, or from the largest one."""
    return ranks - least if rising else most - ranks


def _truths(fn: CallableCombineFn, column: Any, groups: Groups) -> ColumnContents:
    """Return whether any or all values of each group are true, as the list that the CombineFn compacts to."""
    import numpy as np
    from pyarrow import types

    if not _of_truths(fn) or column.null_count or not types.is_boolean(column.type):
        return None
    true = np.bincount(groups.ids[column.to_numpy()], minlength=groups.size)
    found = true > 0 if fn.fn is any else true == groups.counts
    return found.reshape(-1, 1).tolist()


def _of_distinct(fn: CombineFn, column: Any, groups: Groups) -> ColumnContents:
    """Combine the distinct values of each group; None if lists are as fast, since most values differ."""
    import numpy as np

    most = DENSE * len(column) // max(groups.size, 1)
    if not is_exact(column.type) or _has_more_values(column, most):
        return None
    codes = codes_of(column)
    size = len(codes.values)
    if size > most:
        return None
    _, found = distinct(groups.ids.astype(np.int64) * size + codes.ids)
    own, numbers = np.divmod(found, max(size, 1))
    values = list(map(codes.values.__getitem__, numbers.tolist()))
    of_each = parts(values, np.bincount(own, minlength=groups.size))
    return [fn.add_inputs(fn.create_accumulator(), some) for some in of_each]


def _has_more_values(column: Any, most: int) -> bool:
    """Return whether a small part of a column has more values than a number."""
    import pyarrow.compute as pc

    few = column.slice(0, min(len(column) // 8, 4 * most))
    return bool(len(few) > most and pc.count_distinct(few).as_py() > most)


def _tuples(fn: SingleInputTupleCombineFn, column: Any, groups: Groups) -> ColumnContents:
    found = [partial_contents(part, column, groups, adds=False) for part in fn.parts]
    return None if None in found else list(map(list, zip(*found, strict=True)))


OF_PAIRS: Final = (CovarianceCombineFn, CorrelationCombineFn)
"""The CombineFns of pairs, whose contents are made of two columns (:func:`products`)."""

OF_TIMES: Final[dict[Any, str]] = {EarliestCombineFn: "minimum", LatestCombineFn: "maximum"}
"""The CombineFns of values with their times, and numpy's function that finds the time."""

PARTIALS: Final[dict[Any, Partial]] = {
    CountCombineFn: _counts,
    SumCombineFn: _sums,
    MeanCombineFn: _means,
    VarianceCombineFn: _power_sums,
    StandardDeviationCombineFn: _power_sums,
    ExtremeCombineFn: _extremes,
    TopCombineFn: _top,
    Largest: _top,
    Smallest: _top,
    CallableCombineFn: _truths,
    ToSetCombineFn: _of_distinct,
    ApproximateCountDistinctCombineFn: _of_distinct,
    ThetaSketchCombineFn: _of_distinct,
    SingleInputTupleCombineFn: _tuples,
}
"""How contents are made of columns, by the class of the CombineFn."""


def combined_as_lists(fn: CombineFn) -> list[str]:
    """Return the names of those CombineFns of a grouping that get the values of each group as a list.

    >>> from headrace.sdk.combiners.collecting import ToListCombineFn
    >>> combined_as_lists(ToListCombineFn()), combined_as_lists(SumCombineFn())
    (['ToListCombineFn'], [])
    """
    parts = fn.parts if type(fn) is TupleCombineFn else [fn]
    return [part.default_label() for part in parts if not _has_partial(part)]


def _has_partial(fn: CombineFn) -> bool:
    if isinstance(fn, CallableCombineFn):
        return type(fn) in PARTIALS and _of_truths(fn)
    if type(fn) is SingleInputTupleCombineFn:
        return all(map(_has_partial, fn.parts))
    return type(fn) in (*PARTIALS, *OF_PAIRS, *OF_TIMES)


def _of_truths(fn: CallableCombineFn) -> bool:
    return fn.fn in (any, all)
