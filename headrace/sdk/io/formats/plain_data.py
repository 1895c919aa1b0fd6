"""Values in the form in which files store them: times and the like as text or plain data."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from headrace.sdk.elements.schemas import fields_of, is_record
from headrace.windowing.time.timestamps import Timestamp


def in_json(value: object) -> Any:
    """Return the JSON form of a value of a type that JSON does not have; for ``json.dumps``.

    Raises:
        TypeError: the value has no JSON form.

    >>> in_json(Timestamp(0)), in_json(date(2013, 1, 1)), in_json(Decimal("1.50"))
    ('1970-01-01T00:00:00Z', '2013-01-01', '1.50')
    """
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Timestamp):
        return value.to_rfc3339()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if is_record(value):
        return named(dict(fields_of(value)))
    raise TypeError(f"{type(value).__qualname__} has no JSON form")


def named(value: object) -> Any:
    """Return a value with the named tuples in it as dicts; JSON would have them as arrays.

    >>> from collections import namedtuple
    >>> named({"trip": namedtuple("Trip", "station minutes")("quay", 5)})
    {'trip': {'station': 'quay', 'minutes': 5}}
    """
    if type(value) in _PLAIN_TYPES:
        return value
    if isinstance(value, dict):
        return {name: named(item) for name, item in value.items()}
    if isinstance(value, tuple) and is_record(value):
        return {name: named(item) for name, item in fields_of(value).items()}
    return list(map(named, value)) if isinstance(value, (list, tuple)) else value


def in_text(value: object) -> Any:
    """Return the form of a value in a CSV field.

    >>> in_text(Timestamp(0)), in_text(1.5)
    ('1970-01-01T00:00:00Z', 1.5)
    """
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return value.to_rfc3339() if isinstance(value, Timestamp) else value


def in_arrow(value: object) -> Any:
    """Return the form of a value in an Arrow table.

    >>> in_arrow([Timestamp(0)])
    [datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)]
    """
    if isinstance(value, Timestamp):
        return value.to_utc_datetime(has_tz=True)
    if isinstance(value, list):
        return list(map(in_arrow, value))
    if is_record(value):
        return {name: in_arrow(field) for name, field in fields_of(value).items()}
    return value


def converted(column: list[Any], convert: Callable[[Any], object]) -> list[Any]:
    """Return the converted values of a column, or the column itself if it has only plain types.

    >>> column = [1, None]
    >>> converted(column, in_text) is column
    True
    """
    return column if set(map(type, column)) <= _PLAIN_TYPES else list(map(convert, column))


_PLAIN_TYPES: Final = frozenset({str, int, float, bool, type(None)})
