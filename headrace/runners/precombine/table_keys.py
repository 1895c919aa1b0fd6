"""The windows and keys of the rows of a table, as numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import repeat
from math import gcd
from typing import Any, Final, NamedTuple

from headrace.grouping.dictionary_columns import numbers_and_values
from headrace.sdk.coders.keys import identities
from headrace.windowing.calendar import CalendarWindows
from headrace.windowing.column import Column, materialise
from headrace.windowing.sessions import Sessions
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window_fn import WindowFn, Windows
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

_FAR: Final = 1 << 62
"""Times beyond this are not divided by numpy, whose integers could overflow."""


class Codes(NamedTuple):
    """The values of rows, as numbers.

    Attributes:
        ids: the number of the value of each row, as a numpy array.
        values: the values by number.
    """

    ids: Any
    values: Sequence[Any]


def assigns_by_time(window_fn: WindowFn) -> bool:
    """Return whether the windows of elements are found by their timestamps alone, for a whole table."""
    by_blocks = (GlobalWindows, FixedWindows, SlidingWindows, CalendarWindows)
    return type(window_fn) in by_blocks or (
        type(window_fn) is Sessions and window_fn.fixed_gap is not None
    )


def far(times: Any) -> bool:
    """Return whether there are no times, or numpy's integers could overflow if it added to them."""
    return times is None or bool(times.min() < -_FAR or times.max() > _FAR)


def windows_of(window_fn: WindowFn, times: Any, count: int) -> Codes:
    """Return the windows of rows.

    Args:
        window_fn: one that assigns windows by time.
        times: the timestamps, as a numpy array; None if all rows have the start of time.
        count: the number of rows.
    """
    if times is None or isinstance(window_fn, GlobalWindows):
        return one_value(_assigned(window_fn, repeat(MIN_MICROS), 1)[0], count)
    blocks, first = numbered([_blocks(window_fn, times)])
    found = _by_identity(_assigned(window_fn, times[first].tolist(), len(first)))
    return Codes(found.ids[blocks], found.values)


def _assigned(window_fn: WindowFn, times: Column[int], count: int) -> list[Windows]:
    return materialise(window_fn.assign_column([None] * count, times), count)


def _blocks(window_fn: Any, times: Any) -> Any:
    """Return numbers of blocks of time; the instants of a block have the same windows."""
    if isinstance(window_fn, CalendarWindows):
        return _calendar_blocks(window_fn, times)
    if far(times) or isinstance(window_fn, Sessions):
        return times
    size = window_fn.size.micros
    sliding = isinstance(window_fn, SlidingWindows)
    length = gcd(size, window_fn.period.micros) if sliding else size
    return (times - window_fn.offset.micros) // length


def _calendar_blocks(window_fn: CalendarWindows, times: Any) -> Any:
    """Return the number of the calendar window of each time, counted from the first that has one."""
    import numpy as np

    ordered, ends = np.sort(times), list[int]()
    at = 0
    while at < len(ordered):
        ((window,),) = _assigned(window_fn, [int(ordered[at])], 1)
        ends.append(window[1])
        at = max(at + 1, int(np.searchsorted(ordered, ends[-1])))  # the end of time is in no window
    return np.searchsorted(np.array(ends, np.int64), times, side="right")


def one_value(value: object, count: int) -> Codes:
    """Return the same value for all rows."""
    import numpy as np

    return Codes(np.zeros(count, np.int64), [value])


def codes_of(column: Any) -> Codes:
    """Return a column as numbers of its values, which are equal as keys are.

    >>> import pyarrow as pa
    >>> codes = codes_of(pa.chunked_array([["b", None, "b"]]))
    >>> codes.ids.tolist(), codes.values
    ([0, 1, 0], ['b', None])
    """
    if not _is_exact(column.type):
        return _by_identity(column.to_pylist())
    return Codes(*numbers_and_values(column))


def _is_exact(kind: Any) -> bool:
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


def _by_identity(keys: list[Any]) -> Codes:
    """Return the numbers of keys, compared by their identity; windows are their own."""
    import numpy as np

    found: dict[Hashable, int] = {}
    ids = [found.setdefault(identity, len(found)) for identity in identities(keys)]
    names = dict(zip(ids, keys, strict=True))
    return Codes(np.array(ids, np.int64), [names[number] for number in range(len(found))])


def numbered(columns: Sequence[Any]) -> tuple[Any, Any]:
    """Return the number of each combination of numbers, and its first row.

    Args:
        columns: numpy arrays of integers, one or more, of the same length. If there are several, none is
            negative, and those of the first are less than the number of rows.

    >>> import numpy as np
    >>> ids, first = numbered([np.array([7, 7, 7]), np.array([1, 0, 1])])
    >>> ids.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    import numpy as np

    ids, *others = columns
    for number, column in enumerate(others):
        ids = (_numbers(ids) if number else ids) * (int(column.max(initial=0)) + 1) + column
    if len(ids) and int(ids.max()) - int(ids.min()) < len(ids):
        return _numbered_densely(ids - ids.min())
    ids = _numbers(ids)
    first = np.empty(int(ids.max(initial=-1)) + 1, np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    return ids, first


def _numbered_densely(ids: Any) -> tuple[Any, Any]:
    """Do the same for numbers from 0 that are all less than the number of rows, without a hash table."""
    import numpy as np

    span = int(ids.max()) + 1
    first = np.full(span, len(ids))
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    is_first = np.zeros(len(ids), bool)
    is_first[first[first < len(ids)]] = True
    rows = np.flatnonzero(is_first)
    numbers = np.empty(span, np.int64)
    numbers[ids[rows]] = np.arange(len(rows))
    return numbers[ids], rows


def _numbers(ids: Any) -> Any:
    """Return dense numbers, so that products with other numbers do not overflow."""
    import numpy as np
    import pyarrow as pa

    return pa.array(ids).dictionary_encode().indices.to_numpy().astype(np.int64)
