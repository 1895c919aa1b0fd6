"""Columns whose values numpy orders as Python does: an array to compare, and what its items stand for."""

from __future__ import annotations

from typing import Any, Final

import attrs


@attrs.frozen(eq=False)
class Ordered:
    """The values of a column in an order.

    Attributes:
        ranks: a number for each row, as a numpy array; smaller values have smaller numbers.
        named: the values by rank, as an Arrow array; None if the ranks are the values.
    """

    ranks: Any
    named: Any = None

    def values(self, ranks: Any) -> list[Any]:
        """Return the values of some ranks, given as a numpy array."""
        if self.named is None:
            return ranks.tolist()  # type: ignore[no-any-return]  # of an optional package
        return self.named.take(ranks).to_pylist()  # type: ignore[no-any-return]  # as above


def ordered(column: Any) -> Ordered | None:
    """Return a column in the order of its values; None if Python orders them in another way, or not at all.

    None is not ordered, and neither is NaN. Of 0.0 and -0.0, which are equal, Python takes the first.

    >>> import pyarrow as pa
    >>> words = ordered(pa.chunked_array([["b", "a", "b"]]))
    >>> words.ranks.tolist(), words.values(words.ranks[:1])
    ([1, 0, 1], ['b'])
    """
    from pyarrow import types

    if column.null_count or not len(column):
        return None
    numbers = integers(column)
    if numbers is None and types.is_floating(column.type):
        numbers = _floats(column)
    if numbers is not None:
        return Ordered(numbers)
    kinds = (types.is_string, types.is_large_string, types.is_date32, types.is_decimal128)
    return _ranked(column) if any(check(column.type) for check in kinds) else None


def integers(column: Any) -> Any:
    """Return a column of integers as a numpy array; None if it is anything else."""
    import pyarrow as pa

    if column.null_count or not len(column) or not pa.types.is_integer(column.type):
        return None
    try:
        return column.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:  # there are larger ones
        return None


def floats(column: Any) -> Any:
    """Return a column of floats as a numpy array of doubles; None if it is anything else."""
    import pyarrow as pa

    if column.null_count or not len(column) or not pa.types.is_floating(column.type):
        return None
    return column.cast(pa.float64()).to_numpy()


def unscaled(column: Any) -> Any:
    """Return decimals as a numpy array of integers, without the point; None if they could be too large."""
    import numpy as np
    import pyarrow as pa

    kind = column.type
    if column.null_count or not len(column) or not pa.types.is_decimal128(kind):
        return None
    if kind.precision > _DIGITS:
        return None
    array = column.combine_chunks()
    halves = np.frombuffer(array.buffers()[1], np.int64)  # the lower half of each value is first
    return halves[2 * array.offset : 2 * (array.offset + len(array)) : 2]


_DIGITS: Final = 18
"""Integers with as many digits are smaller than those of numpy."""


def _floats(column: Any) -> Any:
    """Return floats as a numpy array; None if there is NaN or -0.0."""
    import numpy as np

    found = floats(column)
    unordered = np.isnan(found) | ((found == 0) & np.signbit(found))
    return None if unordered.any() else found


def _ranked(column: Any) -> Ordered:
    """Return text, dates or decimals by the rank of each value among the others."""
    import numpy as np
    import pyarrow.compute as pc

    encoded = column.combine_chunks().dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary)
    rank = np.empty(len(order), np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    return Ordered(rank[encoded.indices.to_numpy()], encoded.dictionary.take(order))
