"""The windows and keys of the rows of a table, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from math import gcd
from typing import Any, Final, NamedTuple

from headrace.runners.contents.codes import Codes, by_identity, codes_of, distinct
from headrace.runners.contents.groups import Groups
from headrace.sdk.elements.record_tables import TableKey
from headrace.windowing.calendar import CalendarWindows
from headrace.windowing.column import Column, materialise
from headrace.windowing.sessions import Sessions
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window_fn import WindowFn, Windows
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

_FAR: Final = 1 << 62
"""Times beyond this are not divided by numpy, whose integers could overflow."""


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
    import numpy as np

    if times is None or isinstance(window_fn, GlobalWindows):
        return one_value(_assigned(window_fn, repeat(MIN_MICROS), 1)[0], count)
    blocks, numbers = distinct(_blocks(window_fn, times))
    some = np.empty(len(numbers), np.int64)
    some[blocks] = times  # any time of each block
    found = by_identity(_assigned(window_fn, some.tolist(), len(some)))
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
    offset = window_fn.offset.micros
    return (times - offset if offset else times) // length


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


class RowsByKey(NamedTuple):
    """The rows of a table by key, and by another number.

    Attributes:
        rows: the groups of rows.
        numbers: the other number of each group, as a numpy array.
        keys: the key of each group.
    """

    rows: Groups
    numbers: Any
    keys: list[Any]


def rows_by_key(table: Any, key: TableKey, numbers: Any) -> RowsByKey:
    """Return the groups of rows with the same key and number.

    Args:
        table: the rows.
        key: what the key is made of.
        numbers: the number of each row, as a numpy array.
    """
    columns = [codes_of(table.column(name)) for name in key.names]
    ids, (own, *places) = numbered([numbers, *(column.ids for column in columns)])
    named = [
        list(map(column.values.__getitem__, place.tolist()))
        for column, place in zip(columns, places, strict=True)
    ]
    return RowsByKey(Groups(ids, len(own)), own, key.values(named, len(own)))


def numbered(columns: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the number of each combination of numbers, and the numbers of which each combination is made.

    Args:
        columns: numpy arrays of integers, of the same length; all but the first are from 0 to 2**31.

    Returns:
        The combination of each row, and for each column its number in each combination.

    >>> import numpy as np
    >>> ids, (windows, keys) = numbered([np.array([0, 0, 1]), np.array([1, 0, 1])])
    >>> ids.tolist(), windows.tolist(), keys.tolist()
    ([1, 0, 2], [0, 0, 1], [0, 1, 1])
    """
    import numpy as np

    ids, found = distinct(columns[0])
    parts = [found]
    for column in columns[1:]:
        size = int(column.max(initial=0)) + 1
        ids = ids * size
        ids += column
        ids, found = distinct(ids)
        before, own = np.divmod(found, size)
        parts = [*(part[before] for part in parts), own]
    return ids, parts
