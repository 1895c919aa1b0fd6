"""The values of columns as numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

from headrace.grouping.dictionary_columns import numbers_and_values
from headrace.runners.contents.ordered_columns import integers
from headrace.sdk.coders.keys import identities

DENSE: Final = 2
"""Numbers are counted without a hash table if their span is at most this many times their number."""


class Codes(NamedTuple):
    """The values of rows, as numbers.

    Attributes:
        ids: the number of the value of each row, as a numpy array.
        values: the values by number.
    """

    ids: Any
    values: Sequence[Any]


def codes_of(column: Any) -> Codes:
    """Return a column as numbers of its values, which are equal as keys are.

    >>> import pyarrow as pa
    >>> codes = codes_of(pa.chunked_array([["b", None, "b"]]))
    >>> codes.ids.tolist(), codes.values
    ([0, 1, 0], ['b', None])
    """
    if not is_exact(column.type):
        return by_identity(column.to_pylist())
    numbers = integers(column)
    if numbers is None:
        return Codes(*numbers_and_values(column))
    ids, values = distinct(numbers)
    return Codes(ids, values.tolist())


def is_exact(kind: Any) -> bool:
    """Return whether values of an Arrow type are equal if they are the same key."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        check(kind)
        for check in (
            types.is_integer,
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_boolean,
            types.is_date32,
        )
    )


def by_identity(keys: list[Any]) -> Codes:
    """Return the numbers of keys, compared by their identity; windows are their own."""
    import numpy as np

    found: dict[Hashable, int] = {}
    ids = [found.setdefault(identity, len(found)) for identity in identities(keys)]
    names = dict(zip(ids, keys, strict=True))
    return Codes(np.array(ids, np.int64), [names[number] for number in range(len(found))])


def distinct(numbers: Any) -> tuple[Any, Any]:
    """Return the place of each number among those that differ, and these, as numpy arrays.

    >>> import numpy as np
    >>> places, found = distinct(np.array([7, 5, 7]))
    >>> places.tolist(), found.tolist()
    ([1, 0, 1], [5, 7])
    """
    import numpy as np
    import pyarrow as pa

    if not len(numbers):
        return numbers, numbers
    least = int(numbers.min())
    span = int(numbers.max()) - least + 1
    if span > DENSE * len(numbers):
        encoded = pa.array(numbers).dictionary_encode()
        return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_numpy()
    places = numbers - least if least else numbers
    is_found = np.bincount(places, minlength=span) > 0
    if not is_found.all():
        places = (is_found.cumsum() - 1)[places]
    return places, is_found.nonzero()[0] + least
