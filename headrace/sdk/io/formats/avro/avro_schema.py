"""Avro schemas of records: given, from the types of their fields, or from their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from itertools import count
from typing import Any, Final, get_args, get_origin
from uuid import UUID

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.elements.schemas import Schema, plain_type, required_schema, schema_of
from headrace.sdk.io.formats.avro.package import avro

_INSTANT: Final = {"type": "long", "logicalType": "timestamp-micros"}
_LOCAL: Final = {"type": "long", "logicalType": "local-timestamp-micros"}

_TYPES: Final[dict[Any, Any]] = {
    str: "string",
    int: "long",
    float: "double",
    bool: "boolean",
    bytes: "bytes",
    datetime: _INSTANT,
    date: {"type": "int", "logicalType": "date"},
    time: {"type": "long", "logicalType": "time-micros"},
    UUID: {"type": "string", "logicalType": "uuid"},
}

_Names = Callable[[], str]


def avro_schema(schema: object) -> Any:
    """Return a schema that a user gives as a parsed Avro schema.

    Args:
        schema: an Avro schema as a dict, as JSON text, or parsed; a class of records; or types by the names
            of fields. In the last two cases each field may be null.

    Raises:
        PipelineError: it is not valid, or a field has a type that is not supported.

    >>> avro_schema({"airport": str})["fields"]
    [{'default': None, 'name': 'airport', 'type': ['null', 'string']}]
    """
    if isinstance(schema, str):
        schema = _from_json(schema)
    if isinstance(schema, (type, Schema)):
        schema = dict(required_schema(schema).fields)
    elif isinstance(schema, Mapping) and "type" in schema and not isinstance(schema["type"], type):
        return _parsed(schema)
    if not isinstance(schema, Mapping):
        return _parsed(schema)
    names = _names()
    fields = {name: _required_type(name, kind, names) for name, kind in schema.items()}
    return _parsed(_record(fields, "Record"))


def declared_schema(schema: Schema | None) -> Any:
    """Return the Avro schema of declared types; None if a type depends on the values.

    >>> declared_schema(None) is None
    True
    """
    names = _names()
    if schema is None or not schema.fields:
        return None
    fields = {name: avro_type(kind, names) for name, kind in schema.fields}
    return None if None in fields.values() else _parsed(_record(fields, "Record"))


def inferred_schema(records: Sequence[Mapping[str, object]]) -> Any:
    """Return the Avro schema of the values of records.

    Raises:
        ElementError: values do not have one type.

    >>> inferred_schema([{"delay": 7}, {"delay": None}])["fields"]
    [{'default': None, 'name': 'delay', 'type': ['null', 'long']}]
    """
    return _parsed(_record_of(records, "Record", _names()))


def avro_type(kind: object, names: _Names) -> Any:
    """Return the Avro type for values of a Python type; None if it depends on the values."""
    kind = plain_type(kind)
    if get_origin(kind) in (list, dict):
        item = avro_type(get_args(kind)[-1], names)
        if item is None:
            return None
        is_list = get_origin(kind) is list
        return {"type": "array", "items": item} if is_list else {"type": "map", "values": item}
    record = schema_of(kind)
    if record is None:
        # Datetimes have a zone or not, which only the values tell.
        return None if kind is datetime else _TYPES.get(kind)
    fields = {name: avro_type(field, names) for name, field in record.fields}
    return None if None in fields.values() else _record(fields, names())


def _required_type(name: str, kind: object, names: _Names) -> object:
    found = _INSTANT if plain_type(kind) is datetime else avro_type(kind, names)
    if found is None:
        raise PipelineError(
            f"the field {name!r} has the unsupported type {shorten(kind)}",
            remedy=f"use one of {', '.join(known.__name__ for known in _TYPES)}, or give an Avro schema",
        )
    return found


def _type_of(values: Iterable[Any], where: str, names: _Names) -> object:
    """Return the Avro type of values; some may be None."""
    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    if not kinds:
        return "null"
    if kinds == {int, float}:
        return "double"
    kind = kinds.pop()
    if kinds:
        _refuse(where, f"values of the types {kind.__name__} and {kinds.pop().__name__}")
    if kind is list:
        items = [item for value in present for item in value]
        return {"type": "array", "items": _optional(_type_of(items, where, names))}
    if kind is dict:
        return _record_of(present, names(), names)
    if kind is datetime:
        return _LOCAL if all(value.tzinfo is None for value in present) else _INSTANT
    if kind not in _TYPES:
        _refuse(where, f"values such as {shorten(present[0])}, of type {kind.__name__}")
    return _TYPES[kind]


def _refuse(where: str, what: str) -> None:
    raise ElementError(
        f"the field {where!r} has {what}, so its Avro type is unknown",
        remedy="convert them with an hr.Map before the sink, or give an Avro schema",
    )


def _record_of(
    records: Sequence[Mapping[str, object]], name: str, names: _Names
) -> dict[str, object]:
    fields = dict.fromkeys(field for record in records for field in record)
    return _record(
        {field: _type_of((r.get(field) for r in records), field, names) for field in fields}, name
    )


def _record(fields: Mapping[str, object], name: str) -> dict[str, object]:
    """Return the schema of a record; each field may be null."""
    entries = [
        {"name": field, "type": _optional(kind), "default": None} for field, kind in fields.items()
    ]
    return {"type": "record", "name": name, "fields": entries}


def _optional(kind: object) -> object:
    return kind if kind == "null" else ["null", kind]


def _names() -> _Names:
    """Return a function that returns the names of nested records, each once."""
    numbers = count(1)
    return lambda: f"Record{next(numbers)}"


def _from_json(text: str) -> object:
    from json import loads

    try:
        return loads(text)
    except ValueError as error:
        raise PipelineError(
            f"the Avro schema {shorten(text)} is not JSON: {error}", remedy="correct the schema"
        ) from error


def _parsed(schema: object) -> object:
    errors = avro("fastavro.schema")
    try:
        return avro().parse_schema(schema)
    except (errors.SchemaParseException, errors.UnknownType, AttributeError, TypeError) as error:
        raise PipelineError(
            f"the Avro schema {shorten(schema)} is not valid: {error}",
            remedy="correct it, or give a class of records or types by the names of fields",
        ) from error
