"""Schemas: the names and types of the fields of records.

A record is a value with named fields: a Row, a named tuple, or an instance of a dataclass or an attrs class.
The last three have a class that declares the fields, which can be used wherever a schema is asked for. A
Row has no such class, so the schema of a collection of rows is a :class:`Schema`, as its element type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, fields as dataclass_fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from types import NoneType
from typing import Any, Final, NamedTuple, get_args, get_type_hints

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.elements.row import Row, rows_of


@attrs.frozen
class Schema:
    """The fields of records: names and types, in order.

    Attributes:
        record: the class of the records.
        fields: the name and the type of each field; ``typing.Any`` for an unknown type.

    >>> print(Schema(Row, (("airport", str), ("delay", int))))
    Row(airport: str, delay: int)
    """

    record: type
    fields: tuple[tuple[str, Any], ...]

    @staticmethod
    def from_fields(fields: Iterable[tuple[str, object]]) -> Schema:
        """Return the schema of rows with fields of these names and types.

        >>> print(Schema.from_fields([("airport", str), ("delay", int)]))
        Row(airport: str, delay: int)
        """
        return Schema(Row, tuple(fields))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(name for name, _ in self.fields)

    def __str__(self) -> str:
        fields = ", ".join(f"{name}: {type_name(kind)}" for name, kind in self.fields)
        return f"{self.record.__name__}({fields})"


def type_name(kind: object) -> str:
    """Return the name of a type, as in its annotation.

    >>> type_name(int), type_name(list[int]), type_name(int | None)
    ('int', 'list[int]', 'int | None')
    """
    return kind.__name__ if isinstance(kind, type) else str(kind)


def schema_of(kind: object) -> Schema | None:
    """Return the schema of elements of a type; None if their fields are not known.

    Args:
        kind: a named tuple, dataclass or attrs class, or a Schema.

    >>> class Delay(NamedTuple):
    ...     airport: str
    ...     minutes: int | None
    >>> print(schema_of(Delay))
    Delay(airport: str, minutes: int | None)
    >>> schema_of(Row), schema_of(int)
    (None, None)
    """
    if isinstance(kind, Schema):
        return kind
    return _schema_of_class(kind) if isinstance(kind, type) else None


@lru_cache(maxsize=256)
def _schema_of_class(kind: type) -> Schema | None:
    names = _declared_names(kind)
    if names is None:
        return None
    try:
        hints = get_type_hints(kind)
    except Exception:  # annotations can contain names that are not defined here
        hints = {}
    return Schema(kind, tuple((name, hints.get(name, Any)) for name in names))


def _declared_names(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields that a class declares; None if it is not a class of records."""
    if issubclass(kind, tuple):
        return getattr(kind, "_fields", None)
    if attrs.has(kind):
        return tuple(field.name for field in attrs.fields(kind))
    if is_dataclass(kind):
        return tuple(field.name for field in dataclass_fields(kind))
    return None


def required_schema(kind: object) -> Schema:
    """Return the schema of a class of records.

    Raises:
        PipelineError: it is not one.

    >>> required_schema(int)
    Traceback (most recent call last):
    headrace.errors.PipelineError: <class 'int'> has no named fields...
    """
    found = schema_of(kind)
    if found is not None:
        return found
    raise PipelineError(
        f"{shorten(kind)} has no named fields",
        remedy="use a typing.NamedTuple, a dataclass or an attrs class as the schema",
    )


def plain_type(kind: object) -> Any:
    """Return a type without None, as any field can be None.

    >>> plain_type(int | None), plain_type(int | str)
    (<class 'int'>, int | str)
    """
    types = [each for each in get_args(kind) if each is not NoneType]
    return types[0] if len(types) == 1 and NoneType in get_args(kind) else kind


Reader = Callable[[Any], Mapping[str, Any]]
"""A function that returns the fields of a record by name."""


@lru_cache(maxsize=256)
def reader_of(kind: type) -> Reader | None:
    """Return a function that returns the fields of an element by name; None if it has no named fields.

    Args:
        kind: class of the element.

    >>> reader_of(Row)(Row(airport="EWR", delay=7))
    {'airport': 'EWR', 'delay': 7}
    """
    if issubclass(kind, Row):
        return vars
    if issubclass(kind, Mapping):
        return _itself
    names = _declared_names(kind)
    if names is None:
        return None
    return _named_items(names) if issubclass(kind, tuple) else _attributes(names)


def _itself(record: Mapping[str, object]) -> Mapping[str, object]:
    return record


def _named_items(names: Sequence[str]) -> Reader:
    return lambda record: dict(zip(names, record, strict=True))


def _attributes(names: Sequence[str]) -> Reader:
    if len(names) < 2:
        return lambda record: {name: getattr(record, name) for name in names}
    items = attrgetter(*names)
    return lambda record: dict(zip(names, items(record), strict=True))


def is_record(value: object) -> bool:
    """Return whether a value has named fields.

    >>> is_record(Row(a=1)), is_record(("a", 1))
    (True, False)
    """
    kind: Any = type(value)
    return reader_of(kind) is not None


def fields_of(element: object) -> Mapping[str, Any]:
    """Return the fields of an element by name.

    Args:
        element: a dict, Row, named tuple, or an instance of an attrs class or dataclass.

    Raises:
        ElementError: the element has no named fields.

    >>> fields_of(Row(airport="EWR", delay=7))
    {'airport': 'EWR', 'delay': 7}
    """
    kind: Any = type(element)
    read = reader_of(kind)
    if read is not None:
        return read(element)
    raise ElementError(
        f"the element {shorten(element)} has no named fields",
        remedy=_remedy(element),
    )


def _remedy(element: object) -> str:
    if isinstance(element, tuple) and len(element) == 2:
        return "add hr.MapTuple(lambda key, value: hr.Row(key=key, value=value)) before the sink"
    return (
        "convert it to an hr.Row or a dict with an hr.Map before the sink, or use hr.io.WriteToText"
    )


class Argument(NamedTuple):
    """An argument with which a class of records is called.

    Attributes:
        field: name of the field that it sets.
        name: its own name.
        keyword: whether it is passed by name only.
    """

    field: str
    name: str
    keyword: bool = False


def arguments_of(kind: type) -> tuple[Argument, ...]:
    """Return the arguments of a class of records, in order.

    >>> arguments_of(attrs.make_class("Delay", ["airport", "_minutes"]))
    (Argument(field='airport', name='airport', keyword=False),
     Argument(field='_minutes', name='minutes', keyword=False))
    """
    if attrs.has(kind):
        return tuple(
            Argument(f.name, str(f.alias), f.kw_only is True) for f in attrs.fields(kind) if f.init
        )
    if is_dataclass(kind):
        fields: Iterable[Field[Any]] = dataclass_fields(kind)
        return tuple(Argument(f.name, f.name, f.kw_only is True) for f in fields if f.init)
    return tuple(Argument(name, name) for name in _declared_names(kind) or ())


def records_of(kind: type, names: Sequence[str], columns: Iterable[list[Any]]) -> list[Any]:
    """Return the records of columns.

    Args:
        kind: Row, or a class of records.
        names: the names of the columns: for a class, the fields that are its arguments.
        columns: the values of each column.

    >>> records_of(Row, ["a", "b"], [[1, 2], ["x", "y"]])
    [Row(a=1, b='x'), Row(a=2, b='y')]
    """
    if issubclass(kind, Row):
        return rows_of(names, columns)
    arguments = arguments_of(kind)
    by_field = dict(zip(names, columns, strict=True))
    ordered = [by_field[argument.field] for argument in arguments]
    if not any(argument.keyword for argument in arguments):
        return list(map(kind, *ordered)) if ordered else []
    names = [argument.name for argument in arguments]
    return [kind(**dict(zip(names, values, strict=True))) for values in zip(*ordered, strict=True)]


_CHECKED: Final[dict[Any, frozenset[type]]] = {
    **{k: frozenset({k, NoneType}) for k in (str, int, bool, bytes, datetime, date, Decimal)},
    float: frozenset({float, int, NoneType}),
}
"""The types of the values of fields with a simple type."""


def checked_records(kind: type, names: Sequence[str], columns: Sequence[list[Any]]) -> list[Any]:
    """Return the records of columns, after checking that the values have the types of the fields.

    A mapping becomes a record, if the type of its field is a class of records.

    Args:
        kind: a class of records.
        names: the fields that are its arguments.
        columns: the values of each field.

    Raises:
        ElementError: a value is of another type.

    >>> checked_records(
    ...     attrs.make_class("Delay", {"minutes": attrs.field(type=int)}), ["minutes"], [[7]]
    ... )
    [Delay(minutes=7)]
    """
    types = dict(required_schema(kind).fields)
    given = zip(names, columns, strict=True)
    checked = [_checked(kind, name, plain_type(types[name]), column) for name, column in given]
    return records_of(kind, names, checked)


def _checked(kind: type, name: str, field: Any, values: list[Any]) -> list[Any]:
    """Return the values of a field of type ``field``; mappings as records, if this is a class of them."""
    if schema_of(field) is not None:
        wrong = (v for v in values if v is not None and not isinstance(v, Mapping))
    elif field in _CHECKED:
        wrong = (v for v in values if type(v) not in _CHECKED[field])
    else:
        return values
    for value in wrong:
        raise ElementError(
            f"{shorten(value)} in the column {name!r} is not of type {type_name(field)}",
            remedy=f"give {name!r} another type in {kind.__name__}",
        )
    return values if field in _CHECKED else _nested(field, values)


def _nested(kind: type, values: list[Any]) -> list[object]:
    """Return mappings as records; None stays None."""
    names = [argument.field for argument in arguments_of(kind)]
    given = [value for value in values if value is not None]
    records = iter(checked_records(kind, names, [[v.get(name) for v in given] for name in names]))
    return [None if value is None else next(records) for value in values]
