"""Records by field: columns of one type are written several times faster than records one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from copyreg import dispatch_table
from functools import lru_cache
from itertools import chain, islice, repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from headrace.sdk.coders.stored.fields import fields_of
from headrace.sdk.coders.stored.registered import coder_of
from headrace.sdk.coders.stored.stable import is_own
from headrace.sdk.elements.row import Row, rows_of


class Records(NamedTuple):
    """Values of one type, by field.

    Attributes:
        kind: the type: Row, tuple, a named tuple, a dataclass or an attrs class.
        names: the names of the fields; empty for tuples.
        columns: the values of each field; again by field, if they are records.
    """

    kind: type
    names: tuple[str, ...]
    columns: tuple[Any, ...]


class Lists(NamedTuple):
    """Lists of records.

    Attributes:
        lengths: the length of each list.
        records: the values of all lists.
    """

    lengths: list[int]
    records: Records


def by_field(values: object) -> Any:
    """Return values by field, if all are records of one type, or tuples or lists of such.

    >>> by_field([Row(a=1, b=2), Row(a=3, b=4)]).columns
    ([1, 3], [2, 4])
    >>> by_field([1, 2]), by_field([Row(a=1), Row(b=2)])
    ([1, 2], [Row(a=1), Row(b=2)])
    """
    if type(values) is not list or not values or not _holds_records(values[0]):
        return values
    kind: Any = type(values[0])
    if set(map(type, values)) != {kind}:
        return values
    if kind is list:
        records = by_field(list(chain.from_iterable(values)))
        return Lists(list(map(len, values)), records) if isinstance(records, Records) else values
    if issubclass(kind, tuple):
        return _tuples_by_field(values, kind)
    layout = layout_of(kind)
    return _slots_by_field(values, layout) if layout.names else _dicts_by_field(values, kind)


def _dicts_by_field(values: list[object], kind: type) -> object:
    fields = [value.__dict__ for value in values]
    names = tuple(fields[0])
    if not names or set(map(tuple, fields)) != {names}:
        return values
    if kind is not Row and names != fields_of(kind):
        return values
    return Records(kind, names, _columns(fields, names))


def _slots_by_field(values: list[object], layout: Layout) -> object:
    try:
        columns = [list(map(attrgetter(name), values)) for name in layout.names]
    except AttributeError:  # a slot without a value
        return values
    return Records(type(values[0]), layout.names, tuple(map(by_field, columns)))


def _tuples_by_field(tuples: list[Any], kind: type) -> object:
    if not tuples[0] or len(set(map(len, tuples))) != 1:
        return tuples
    columns = _columns(tuples, range(len(tuples[0])))
    if kind is tuple and all(isinstance(column, list) for column in columns):
        return tuples
    return Records(kind, (), columns)


def _columns(records: list[Any], places: Iterable[object]) -> tuple[object, ...]:
    return tuple(by_field(list(map(itemgetter(place), records))) for place in places)


def restored(values: object) -> Any:
    """Return the values that :func:`by_field` was given.

    >>> restored(by_field([("k", Row(a=1)), ("l", Row(a=2))]))
    [('k', Row(a=1)), ('l', Row(a=2))]
    """
    if isinstance(values, Lists):
        every = iter(restored(values.records))
        return [list(islice(every, length)) for length in values.lengths]
    if not isinstance(values, Records):
        return values
    columns = list(map(restored, values.columns))
    if values.kind is Row:
        return rows_of(values.names, columns)
    if values.names:
        return _objects_of(values.kind, values.names, columns)
    rows = zip(*columns, strict=True)
    return list(rows if values.kind is tuple else map(tuple.__new__, repeat(values.kind), rows))


def _holds_records(value: Any) -> bool:
    """Return whether a value is a record, or a tuple or list with one."""
    kind: Any = type(value)
    if kind is tuple or kind is list:
        return any(map(_holds_records, value))
    if coder_of(kind) is not None:
        return False
    return _is_named_tuple(kind) or layout_of(kind).by_field


@lru_cache(maxsize=256)
def _is_named_tuple(kind: Any) -> bool:
    """Return whether a type is a named tuple whose instances are pickled as any named tuple."""
    own = vars(kind)
    return (
        kind.__bases__ == (tuple,)
        and "_fields" in own
        and own.get("__slots__") == ()
        and kind not in dispatch_table
        and not {"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"} & own.keys()
    )


class Layout(NamedTuple):
    """Where values of a class keep their fields.

    Attributes:
        by_field: whether they can be sent by field.
        names: the names of the slots, if the values have slots.
    """

    by_field: bool = False
    names: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def layout_of(kind: Any) -> Layout:
    """Return where values of a class keep their fields."""
    if kind is Row:
        return Layout(True)
    names = fields_of(kind)
    if not names or issubclass(kind, tuple) or is_own(kind.__module__):
        return Layout()
    slots = set().union(*(_slots(base) for base in kind.__mro__)) - {"__weakref__"}
    if kind.__dictoffset__:
        return Layout(by_field=not slots)
    return Layout(True, names) if slots == set(names) else Layout()


def _slots(kind: type) -> set[str]:
    own = vars(kind).get("__slots__", ())
    return {own} if isinstance(own, str) else set(own)


def _objects_of(kind: Any, names: tuple[str, ...], columns: list[list[Any]]) -> list[Any]:
    """Return the values of a class, without calling it."""
    values = list(map(object.__new__, repeat(kind, len(columns[0]))))
    for name, column in zip(names, columns, strict=True):
        deque(map(object.__setattr__, values, repeat(name), column), maxlen=0)
    return values
