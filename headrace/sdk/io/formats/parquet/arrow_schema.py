"""Arrow schemas of records, from the types of their fields."""

from __future__ import annotations

from collections.abc import Mapping
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
    kind = plain_type(kind)
    if get_origin(kind) is list:
        item = arrow_type(get_args(kind)[0])
        return None if item is None else arrow().list_(item)
    record = schema_of(kind)
    if record is None:
        return _types().get(kind)
    fields = [(name, arrow_type(field)) for name, field in record.fields]
    known = all(field is not None for _, field in fields)
    return arrow().struct(fields) if known else None


def _types() -> dict[Any, Any]:
    pyarrow = arrow()
    return {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
        bytes: pyarrow.binary(),
        datetime: pyarrow.timestamp("us", "UTC"),
        date: pyarrow.date32(),
    }


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
