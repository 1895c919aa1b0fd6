"""Serdes that need no package: bytes, text, numbers, and JSON with or without a class of records."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from types import NoneType
from typing import Any, Final

import attrs

from headrace.errors import ElementError, shorten
from headrace.sdk.elements.row import Row, rows_of
from headrace.sdk.elements.schemas import (
    Schema,
    arguments_of,
    checked_records,
    is_record,
    plain_type,
    required_schema,
)
from headrace.sdk.io.formats.column_types import checked
from headrace.sdk.io.formats.plain_data import in_json, named
from headrace.sdk.io.serdes.base import RecordFields, Serde
from headrace.sdk.io.serdes.registry import Framing, SchemaRegistry


@attrs.frozen
class BytesSerde(Serde):
    """Bytes as they are.

    >>> hr.io.BytesSerde().deserialize("sales", b"quay")
    b'quay'
    """

    def dump(self, topic: str, value: Any) -> bytes:
        """Return the bytes.

        Raises:
            ElementError: the value is not bytes.
        """
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise ElementError(
            f"{shorten(value)} is a {type(value).__name__}, not bytes",
            remedy="give a serializer, such as hr.io.JsonSerde(), or encode it with an hr.Map",
        )

    def load(self, topic: str, data: bytes) -> bytes:
        """Return the bytes."""
        return data

    def deserialize_all(self, topic: str, column: Sequence[bytes | None]) -> list[Any]:
        return list(column)

    @property
    def element_type(self) -> Any:
        """Bytes."""
        return bytes


@attrs.frozen
class StringSerde(Serde):
    r"""Text.

    Args:
        encoding: name of its encoding.

    >>> hr.io.StringSerde().serialize("sales", "Málaga")
    b'M\xc3\xa1laga'
    """

    encoding: str = "utf-8"

    def dump(self, topic: str, value: Any) -> bytes:
        """Return the encoded text.

        Raises:
            ElementError: the value is not text.
        """
        if isinstance(value, str):
            return value.encode(self.encoding)
        raise ElementError(
            f"{shorten(value)} is a {type(value).__name__}, not text",
            remedy="give another serializer, or convert it with an hr.Map(str)",
        )

    def load(self, topic: str, data: bytes) -> str:
        """Return the decoded text."""
        return data.decode(self.encoding)

    @property
    def element_type(self) -> Any:
        """Text."""
        return str


@attrs.frozen
class NumberSerde(Serde):
    r"""Numbers as Kafka's Java client writes them: of fixed width, big-endian.

    Args:
        width: its format in the notation of :mod:`struct`: ``q`` is a long, ``i`` an integer, ``h`` a short,
            ``d`` a double and ``f`` a float.

    >>> hr.io.NumberSerde("q").serialize("sales", 7)
    b'\x00\x00\x00\x00\x00\x00\x00\x07'
    """

    width: str = attrs.field(default="q", validator=attrs.validators.in_("qihdf"))

    def dump(self, topic: str, value: Any) -> bytes:
        """Return the bytes of a number.

        Raises:
            ElementError: it is not a number, or too large.
        """
        try:
            return struct.pack(f">{self.width}", value)
        except struct.error as error:
            raise ElementError(
                f"{shorten(value)} cannot be written: {error}", remedy="use another serializer"
            ) from error

    def load(self, topic: str, data: bytes) -> Any:
        """Return the number.

        Raises:
            ElementError: there are fewer or more bytes than those of the number.
        """
        try:
            return struct.unpack(f">{self.width}", data)[0]
        except struct.error as error:
            raise ElementError(
                f"{shorten(data)} is not a number: {error}", remedy="use another deserializer"
            ) from error

    @property
    def element_type(self) -> Any:
        """A whole number or a float."""
        return float if self.width in "df" else int


_FROM_JSON: Final[Mapping[Any, Any]] = {
    float: float,
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
}
"""Conversions to types that JSON does not have, or writes in several ways."""


_IN_JSON: Final[Mapping[Any, tuple[type, ...]]] = {
    float: (float, int),
    datetime: (str,),
    date: (str,),
}
"""The types of values before conversion, if they are not the type of the field."""

_FIELD_TYPES: Final = (str, int, float, bool, datetime, date)


def _record_class(kind: Any) -> Any:
    if isinstance(kind, Mapping):
        return Schema.from_fields(checked(kind, _FIELD_TYPES).items())
    if kind is not None and not isinstance(kind, Schema):
        required_schema(kind)
    return kind


@attrs.frozen
class JsonSerde(Serde):
    """JSON: dicts, lists, text and numbers, or records of a class.

    Values that are written may contain records, times and decimals; times are in ISO 8601 form.

    Args:
        schema: a class of records, or the type of each field of rows by its name: str, int, float, bool, or
            datetime or date in ISO 8601 form. Fields are checked, other fields are ignored, and missing ones
            are None. Without one, any JSON is read.
        registry: the schema registry whose numbers messages begin with.
        json_schema: the JSON schema that is registered when messages are written with a registry, as a dict
            or as JSON text.

    >>> from typing import NamedTuple
    >>> class Sale(NamedTuple):
    ...     shop: str
    ...     total: float
    >>> serde = hr.io.JsonSerde(Sale)
    >>> serde.deserialize("sales", b'{"shop": "quay", "total": 7}')
    Sale(shop='quay', total=7.0)
    >>> serde.serialize("sales", Sale("weir", 1.5))
    b'{"shop":"weir","total":1.5}'
    """

    schema: type | Schema | None = attrs.field(default=None, converter=_record_class)
    registry: SchemaRegistry | None = None
    json_schema: Any = attrs.field(default=None, eq=repr)
    is_key: bool = attrs.field(default=False, kw_only=True)

    def dump(self, topic: str, value: Any) -> bytes:
        """Return the JSON of a value.

        Raises:
            ElementError: it has no JSON form.
        """
        try:
            text = json.dumps(named(_plain(value)), default=in_json, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise ElementError(
                f"{shorten(value)} cannot be written as JSON: {error}",
                remedy="convert it with an hr.Map before the sink",
            ) from error
        framing = self._framing
        return framing.framed(topic, text.encode()) if framing else text.encode()

    def load(self, topic: str, data: bytes) -> Any:
        """Return the value of JSON.

        Raises:
            ElementError: it is not JSON, or does not fit the class.
        """
        value = self._parsed(data)
        if isinstance(self.schema, Schema):
            return rows_of(self.schema.names, _columns(self.schema, [value]).values())[0]
        return value if self.schema is None else _record(self.schema, value)

    @property
    def record_fields(self) -> RecordFields | None:
        """The fields of rows, if there are their types."""
        schema = self.schema
        return RecordFields(Row, dict(schema.fields)) if isinstance(schema, Schema) else None

    def record_columns(self, topic: str, column: Sequence[bytes]) -> Mapping[str, list[Any]]:
        """Return the values of the objects by field.

        Raises:
            ElementError: a message is not JSON, or does not fit the schema.
        """
        assert isinstance(self.schema, Schema)
        return _columns(self.schema, list(map(self._parsed, column)))

    def _parsed(self, data: bytes) -> Any:
        """Return the value of JSON, without its header."""
        framing = self._framing
        if framing:
            data = framing.unframed(data)[1]
        try:
            return json.loads(data)
        except ValueError as error:
            raise ElementError(
                f"{shorten(data)} is not JSON: {error}", remedy="give another deserializer"
            ) from error

    @property
    def element_type(self) -> Any:
        """The class of records or the schema of rows, if there is one."""
        return Any if self.schema is None else self.schema

    def check(self) -> None:
        if self.registry is not None:
            self.registry.check()

    def for_keys(self) -> JsonSerde:
        """Return the serde for keys."""
        return attrs.evolve(self, is_key=True)

    @property
    def _framing(self) -> Framing | None:
        if self.registry is None:
            return None
        schema = self.json_schema
        text = schema if isinstance(schema, str) or schema is None else json.dumps(schema)
        return Framing(self.registry, "JSON", text, self.is_key)


def _plain(value: Any) -> Any:
    """Return a record as ``json.dumps`` expects it."""
    return in_json(value) if is_record(value) and not isinstance(value, Mapping) else value


def _record(kind: type, value: Any) -> Any:
    """Return a record of the fields of an object."""
    if not isinstance(value, dict):
        raise ElementError(
            f"{shorten(value)} is not an object with the fields of {kind.__name__}",
            remedy="give a JsonSerde without a class of records",
        )
    types = dict(required_schema(kind).fields)
    names = [argument.field for argument in arguments_of(kind)]
    columns = [[_converted(types[name], value.get(name), name)] for name in names]
    return checked_records(kind, names, columns)[0]


def _columns(schema: Schema, objects: list[Any]) -> dict[str, list[Any]]:
    """Return the values of objects by field, as the types of the schema."""
    others = [each for each in objects if not isinstance(each, dict)]
    if others:
        raise ElementError(
            f"{shorten(others[0])} is not an object with fields",
            remedy="give a JsonSerde without a schema",
        )
    return {
        name: _column(name, kind, [each.get(name) for each in objects])
        for name, kind in schema.fields
    }


def _column(name: str, kind: type, values: list[Any]) -> list[Any]:
    allowed = (NoneType, *_IN_JSON.get(kind, (kind,)))
    if set(map(type, values)) - set(allowed):
        wrong = next(value for value in values if type(value) not in allowed)
        raise ElementError(
            f"the field {name!r} has {shorten(wrong)}, which is not of the type {kind.__name__}",
            remedy="correct the message, or give the field another type",
        )
    return [_converted(kind, value, name) for value in values] if kind in _FROM_JSON else values


def _converted(kind: Any, value: Any, name: str) -> Any:
    """Return a value as one of the type of its field."""
    convert = _FROM_JSON.get(plain_type(kind))
    if convert is None or value is None:
        return value
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise ElementError(
            f"the field {name!r} has {shorten(value)}: {error}",
            remedy="correct the message, or give the field another type",
        ) from error
