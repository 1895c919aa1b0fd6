"""AvroGenericCoder: records as Avro, without a header; the schema is a part of the program."""

from __future__ import annotations

import io
import json
from functools import cached_property
from typing import Any

from headrace.errors import shorten
from headrace.sdk.coders.base import Coder
from headrace.sdk.io.formats.avro.package import avro


class AvroRecord:
    """A record of a schema, as a dictionary (Beam's name).

    Args:
        value: the fields by name.

    >>> AvroRecord({"age": 23}) == AvroRecord({"age": 23})
    True
    """

    def __init__(self, value: Any) -> None:
        self.record = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroRecord) and self.record == other.record

    def __hash__(self) -> int:
        return hash(json.dumps(self.record, sort_keys=True, default=str))

    def __repr__(self) -> str:
        return f"AvroRecord({shorten(self.record)})"


class AvroGenericCoder(Coder):
    """Encodes records as Avro; needs ``headrace[avro]``.

    Args:
        schema: the schema, as JSON.

    >>> coder = AvroGenericCoder(
    ...     '{"type": "record", "name": "Person", "fields": [{"name": "age", "type": "int"}]}'
    ... )
    >>> coder.encode(AvroRecord({"age": 23}))
    b'.'
    """

    def __init__(self, schema: str) -> None:
        self.schema = schema

    @cached_property
    def _parsed(self) -> object:
        return avro().parse_schema(json.loads(self.schema))

    def encode(self, value: Any) -> bytes:
        stream = io.BytesIO()
        record = value.record if isinstance(value, AvroRecord) else value
        avro().schemaless_writer(stream, self._parsed, record)
        return stream.getvalue()

    def decode(self, encoded: bytes) -> Any:
        stream = io.BytesIO(encoded)
        return AvroRecord(avro().schemaless_reader(stream, self._parsed, None))

    def to_type_hint(self) -> Any:
        return AvroRecord

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroGenericCoder) and self.schema == other.schema

    def __hash__(self) -> int:
        return hash(self.schema)
