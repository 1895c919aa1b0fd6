"""Rows: values with named fields, without a class definition."""

from __future__ import annotations

from collections import deque, namedtuple
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import repeat
from typing import Any

from headrace.errors import shorten


class Row:
    """A value with fields (Beam's Row): ``Row(a=1, b=2)``. The order of the fields matters.

    >>> Row(a=1, b=2).b, Row(a=1) == Row(a=1)
    (2, True)
    """

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return dict(self.__dict__)

    _asdict = as_dict

    def __getattr__(self, name: str) -> Any:
        """Raise an error for a missing field."""
        known = ", ".join(self.__dict__) or "none"
        raise AttributeError(f"{shorten(self)} has no field {name!r}; its fields are {known}")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__dict__.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return list(self.__dict__.items()) == list(other.__dict__.items())

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields; this is faster than the default."""
        return _row, (type(self), self.__dict__)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


def _row(kind: type[Row], fields: dict[str, Any]) -> Row:
    row = object.__new__(kind)
    row.__dict__.update(fields)
    return row


def rows_of(names: Iterable[str], columns: Iterable[list[Any]]) -> list[Row]:
    """Return the rows of columns; faster than creating them one by one.

    >>> rows_of(["a", "b"], [[1, 2], ["x", "y"]])
    [Row(a=1, b='x'), Row(a=2, b='y')]
    """
    columns = list(columns)
    (count,) = set(map(len, columns)) or {0}
    rows = list(map(object.__new__, repeat(Row, count)))
    for name, column in zip(names, columns, strict=True):
        deque(map(setattr, rows, repeat(name), column), maxlen=0)
    return rows


@lru_cache
def record_type(name: str, fields: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Return the named tuple type with these fields (cached); its values can be pickled.

    >>> record_type("Key", ("a", "b"))(1, 2)
    Key(a=1, b=2)
    """
    record = namedtuple(name, fields)  # type: ignore[misc]
    record.__module__ = __name__
    record.__reduce__ = _reduce  # type: ignore[method-assign, assignment]
    return record


def _reduce(record: Any) -> tuple[object, ...]:
    return _record, (type(record).__name__, record._fields, tuple(record))


def _record(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> object:
    return record_type(name, fields)(*values)
