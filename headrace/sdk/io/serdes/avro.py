"""The serde of Avro: messages without a header, or with the number of their schema in a registry."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.elements.schemas import arguments_of, fields_of, is_record, records_of, schema_of
from headrace.sdk.io.formats.avro.avro_schema import avro_schema
from headrace.sdk.io.formats.avro.package import avro
from headrace.sdk.io.formats.plain_data import in_arrow
from headrace.sdk.io.serdes.base import RecordFields, Serde
from headrace.sdk.io.serdes.registry import Framing, SchemaRegistry

_WRITERS: Final[dict[tuple[SchemaRegistry, int], Any]] = {}
"""A cache: the parsed schemas of a registry."""


def _as_text(schema: Any) -> str | None:
    """Return a schema as JSON, without what fastavro adds when it parses one."""
    if schema is None:
        return None
    if isinstance(schema, str):
        avro_schema(schema)
        return schema
    parsed = schema if isinstance(schema, Mapping) and "type" in schema else avro_schema(schema)
    avro_schema(parsed)
    return json.dumps(_without_marks(parsed))


def _without_marks(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {k: _without_marks(v) for k, v in schema.items() if not k.startswith("__")}
    return [_without_marks(each) for each in schema] if isinstance(schema, list) else schema


@attrs.frozen(init=False)
class AvroSerde(Serde):
    """Avro; needs ``headrace[avro]``, and with a registry ``headrace[schema-registry]``.

    Values are what the package fastavro makes of the types of Avro: a record is a dict. Records of a class
    can be written too, and are read if the class is given as the schema.

    Args:
        schema: an Avro schema as a dict or as JSON text, or a class of records. With a registry it can be
            left out to read messages; if it is given, messages are converted to it as Avro's rules of schema
            resolution say.
        registry: the schema registry whose numbers messages begin with; without one, messages have no
            header and were written with ``schema``.

    Raises:
        PipelineError: there is neither a schema nor a registry, or the schema is not valid.

    >>> from typing import NamedTuple
    >>> class Sale(NamedTuple):
    ...     shop: str
    ...     total: int
    >>> serde = hr.io.AvroSerde(Sale)
    >>> serde.deserialize("sales", serde.serialize("sales", Sale("quay", 7)))
    Sale(shop='quay', total=7)
    """

    kind: type | None = attrs.field(init=False, repr=False)
    schema: str | None
    registry: SchemaRegistry | None = None
    is_key: bool = attrs.field(default=False, kw_only=True)

    def __init__(
        self, schema: Any = None, registry: SchemaRegistry | None = None, *, is_key: bool = False
    ) -> None:
        if schema is None and registry is None:
            raise PipelineError(
                "AvroSerde has no schema", remedy="give a schema, or the registry that has it"
            )
        kind = schema if isinstance(schema, type) and schema_of(schema) is not None else None
        object.__setattr__(self, "kind", kind)
        self.__attrs_init__(_as_text(schema), registry, is_key=is_key)

    def dump(self, topic: str, value: Any) -> bytes:
        """Return a value as Avro.

        Raises:
            ElementError: it does not fit the schema.
            PipelineError: there is no schema, or the registry does not take it.
        """
        if self.schema is None:
            raise PipelineError("AvroSerde has no schema to write with", remedy="give it a schema")
        stream = io.BytesIO()
        try:
            avro().schemaless_writer(stream, parsed(self.schema), _plain(value))
        except Exception as error:
            raise ElementError(
                f"{shorten(value)} does not fit the Avro schema: {type(error).__name__}: {error}",
                remedy="convert it with an hr.Map, or give another schema",
            ) from error
        framing = self._framing
        return framing.framed(topic, stream.getvalue()) if framing else stream.getvalue()

    def load(self, topic: str, data: bytes) -> Any:
        """Return the value of Avro.

        Raises:
            ElementError: the data does not fit the schema.
            PipelineError: the registry does not answer.
        """
        framing, given = self._framing, self.schema and parsed(self.schema)
        writer, reader = given, None
        if framing:
            number, data = framing.unframed(data)
            # The schema of a class has another name than the one in the registry; its fields are taken.
            writer, reader = self._writer(number), None if self.kind else given
        stream = io.BytesIO(data)
        try:
            value = avro().schemaless_reader(stream, writer, reader)
            rest = len(data) - stream.tell()
        except Exception as error:
            raise _bad(data, f"{type(error).__name__}: {error}") from error
        if rest:
            raise _bad(data, f"{rest} bytes are left")
        return value if self.kind is None else _record(self.kind, value)

    def _writer(self, number: int) -> Any:
        registry = self.registry
        assert registry is not None
        key = registry, number
        if key not in _WRITERS:
            schema = registry.schema(number)
            if schema.schema_type != "AVRO":
                raise _bad(b"", f"the schema {number} is one of {schema.schema_type}")
            _WRITERS[key] = avro_schema(schema.schema_str)
        return _WRITERS[key]

    @property
    def record_fields(self) -> RecordFields | None:
        """The fields of dictionaries, if the schema is a record of simple types."""
        types = None if self.kind or self.schema is None else _simple_types(parsed(self.schema))
        return RecordFields(dict, types) if types else None

    def record_columns(self, topic: str, column: Sequence[bytes]) -> Mapping[str, list[Any]]:
        """Return the values of the records by field.

        Raises:
            ElementError: a message does not fit the schema.
            PipelineError: the registry does not answer.
        """
        assert self.record_fields is not None
        records = [self.load(topic, data) for data in column]
        return {name: [each[name] for each in records] for name in self.record_fields.types}

    @property
    def element_type(self) -> Any:
        """The class of records, if there is one."""
        return Any if self.kind is None else self.kind

    def check(self) -> None:
        avro()
        if self.registry is not None:
            self.registry.check()

    def for_keys(self) -> AvroSerde:
        """Return the serde for keys."""
        schema: Any = self.kind or self.schema
        return AvroSerde(schema, self.registry, is_key=True)

    @property
    def _framing(self) -> Framing | None:
        registry = self.registry
        return None if registry is None else Framing(registry, "AVRO", self.schema, self.is_key)


_SIMPLE: Final[Mapping[str, type]] = {
    "string": str,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": bool,
    "bytes": bytes,
}
"""The Python types of simple types of Avro."""


def _simple_types(schema: Any) -> dict[str, type] | None:
    """Return the types of the fields of a record; None for a field of another type, or no record.

    >>> _simple_types({"type": "record", "fields": [{"name": "n", "type": ["null", "int"]}]})
    {'n': <class 'int'>}
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "record":
        return None
    kinds = {field["name"]: _simple_type(field["type"]) for field in schema["fields"]}
    types = {name: kind for name, kind in kinds.items() if kind is not None}
    return types if len(types) == len(kinds) else None


def _simple_type(kind: Any) -> type | None:
    """Return the type of a field, which can also be null; None for a type that is not simple."""
    options = [kind] if not isinstance(kind, list) else [each for each in kind if each != "null"]
    (name,) = options if len(options) == 1 else (None,)
    return _SIMPLE.get(name) if isinstance(name, str) else None


_PARSED: Final[dict[str, Any]] = {}
"""A cache: parsed schemas by their text."""


def parsed(text: str) -> Any:
    """Return a schema as fastavro wants it.

    >>> parsed('{"type": "record", "name": "Sale", "fields": []}')["name"]
    'Sale'
    """
    if text not in _PARSED:
        _PARSED[text] = avro_schema(text)
    return _PARSED[text]


def _bad(data: bytes, why: str) -> ElementError:
    return ElementError(
        f"the message {shorten(data)} does not fit the Avro schema: {why}",
        remedy="give the schema with which it was written, or the registry that has it",
    )


def _plain(value: Any) -> Any:
    """Return a value with its records as dicts."""
    if is_record(value) and not isinstance(value, Mapping):
        return {name: _plain(item) for name, item in fields_of(value).items()}
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return list(map(_plain, value)) if isinstance(value, list) else in_arrow(value)


def _record(kind: type, value: Any) -> Any:
    if not isinstance(value, dict):
        raise _bad(b"", f"{shorten(value)} is not a record")
    names = [argument.field for argument in arguments_of(kind)]
    return records_of(kind, names, [[value.get(name)] for name in names])[0]
