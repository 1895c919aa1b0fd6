"""Values that cannot change: values of some types, and tuples and frozen records of such values.

A type is looked up once; then a dictionary has what must be known of its values.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import chain
from operator import attrgetter
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, TypeAlias
from uuid import UUID

import attrs

from headrace.windowing.time.timestamps import Duration, Timestamp

IMMUTABLE: Final[frozenset[type]] = frozenset(
    {
        *(str, bytes, int, float, complex, bool, type(None)),
        *(date, datetime, timedelta, Decimal, Timestamp, Duration),
    }
)
"""Types whose values cannot change, like tuples of them; subclasses may have attributes that change."""

_ALSO: Final = (
    time,
    timezone,
    Fraction,
    UUID,
    range,
    re.Pattern,
    FunctionType,
    BuiltinFunctionType,
)
"""Further types whose values cannot change, or are copied by name."""

ReadParts: TypeAlias = Callable[[Any], Iterable[Any]]
"""Returns the values in a value, which cannot change by itself."""


def are_immutable(values: Iterable[object]) -> bool:
    """Return whether no value can change: all are of immutable types, or tuples of such values.

    A type can also have an attribute ``gives_copies``, like lists that are stored in files.

    >>> are_immutable([1, "a", (2, ("b", None))]), are_immutable([("a", [1])])
    (True, False)
    """
    while kinds := set(map(type, values)) - IMMUTABLE:
        kinds = {kind for kind in kinds if not getattr(kind, "gives_copies", False)}
        if not kinds:
            return True
        if kinds != {tuple}:
            return False
        values = list(chain.from_iterable(value for value in values if type(value) is tuple))
    return True


def is_immutable(value: object) -> bool:
    """Return whether a value cannot change; of frozen records and named tuples too.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: object
    >>> is_immutable(Point(1)), is_immutable(Point([1])), is_immutable(frozenset("a"))
    (True, False, True)
    """
    kind = type(value)
    if kind in IMMUTABLE:
        return True
    parts = _KNOWN.get(kind, _NEW)
    if parts is _NEW:
        parts = _KNOWN[kind] = _parts_of(kind)
    return parts is not None and all(map(is_immutable, parts(value)))


def _nothing(value: object) -> tuple[()]:
    return ()


def _values(value: Any) -> Iterable[Any]:
    return value  # type: ignore[no-any-return]  # a tuple or a set


_NEW: Final[Any] = object()

_KNOWN: Final[dict[type, ReadParts | None]] = {tuple: _values, frozenset: _values}
"""The parts of values by type; None for types whose values can change."""


def _parts_of(kind: type) -> ReadParts | None:
    if issubclass(kind, (type, Enum, PurePath)) or kind in _ALSO or _is_number(kind):
        return _nothing
    if getattr(kind, "gives_copies", False):
        return _nothing
    if issubclass(kind, tuple):
        return None if kind.__dictoffset__ else _values
    fields = _fields_of_frozen(kind)
    if fields is None:
        return None
    if len(fields) > 1:
        return attrgetter(*fields)
    return (lambda value: (getattr(value, fields[0]),)) if fields else _nothing


def _is_number(kind: type) -> bool:
    """Return whether values are numbers or instants of NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(
        kind, (numpy.number, numpy.bool_, numpy.datetime64, numpy.timedelta64)
    )


def _fields_of_frozen(kind: Any) -> tuple[str, ...] | None:
    """Return the names of all attributes of a frozen dataclass or attrs class; None for other types."""
    own = vars(kind)
    if "__dataclass_fields__" in own and own["__dataclass_params__"].frozen:
        names = tuple(field.name for field in dataclasses.fields(kind))
    elif "__attrs_attrs__" in own and kind.__setattr__.__name__ == "_frozen_setattrs":
        names = tuple(field.name for field in attrs.fields(kind))
    else:
        return None
    return names
