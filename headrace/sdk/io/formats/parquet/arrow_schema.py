"""Arrow schemas of records, from the types of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, get_args, get_origin

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.schemas import Schema, plain_type, required_schema, schema_of
from headrace.sdk.io.formats.parquet.arrow import arrow


def arrow_schema(schema: object) -> Any:
    """Return a schema that a user gives as an Arrow schema.

    Args:
        schema: a pyarrow schema, a class of records, or types by the names of columns.

    Raises:
        PipelineError: a column has a type that is not supported.

    >>> arrow_schema({"airport": str, "delay": int}).names
    ['airport', 'delay']
    """
    if isinstance(schema, (type, Schema)):
        schema = dict(required_schema(schema).fields)
    if not isinstance(schema, Mapping):
        return schema
    return arrow().schema([(name, _required_type(name, kind)) for name, kind in schema.items()])


def _required_type(name: str, kind: object) -> Any:
    found = arrow_type(kind)
    if found is None:
        raise PipelineError(
            f"the column {name!r} has the unsupported type {shorten(kind)}",
            remedy=f"use one of {', '.join(known.__name__ for known in _types())}, or a pyarrow schema",
        )
    return found


def arrow_type(kind: object) -> Any:
    """Return the Arrow type for values of a Python type; None if it depends on the values.

    A list and a class of records have an Arrow type if the types in them have one.

    >>> arrow_type(list[int] | None)
    ListType(list<item: int64>)
    >>> arrow_type(object) is None
    True
    """
    return type_from_parts(kind, _types(), {list: arrow().list_})


def _types() -> dict[Any, Any]:
    return basic_types() | {datetime: arrow().timestamp("us", "UTC")}


def basic_types() -> dict[Any, Any]:
    """Return the Arrow types of the Python types that have only one."""
    pyarrow = arrow()
    return {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
        bytes: pyarrow.binary(),
        date: pyarrow.date32(),
    }


def type_from_parts(
    kind: object, scalars: Mapping[Any, Any], generics: Mapping[Any, Callable[..., Any]]
) -> Any:
    """Return the Arrow type for a Python type, made of the types of its parts; None if one has none.

    Args:
        kind: the type; a class of records becomes a struct.
        scalars: the Arrow types of types without parts.
        generics: by generic type, the function that makes an Arrow type of those of its arguments.

    >>> type_from_parts(list[int | None], basic_types(), {list: arrow().list_})
    ListType(list<item: int64>)
    """
    kind = plain_type(kind)
    if kind in scalars:
        return scalars[kind]
    make = generics.get(get_origin(kind))
    if make is not None:
        parts = [type_from_parts(part, scalars, generics) for part in get_args(kind)]
        return None if None in parts else make(*parts)
    schema = None if kind is dict else schema_of(kind)
    named = () if schema is None else schema.fields
    fields = [(name, type_from_parts(field, scalars, generics)) for name, field in named]
    known = bool(fields) and all(field is not None for _, field in fields)
    return arrow().struct(fields) if known else None


def arrow_array(values: list[Any], kind: object) -> Any:
    """Return values as an Arrow array.

    Args:
        values: the values.
        kind: their Python type; the Arrow type is inferred from the values if this is not enough, and for
            datetimes, which have a zone or not.

    >>> arrow_array([1, None], float).type
    DataType(double)
    """
    inferred = plain_type(kind) is datetime and any(value is not None for value in values)
    return arrow().array(values, None if inferred else arrow_type(kind))
