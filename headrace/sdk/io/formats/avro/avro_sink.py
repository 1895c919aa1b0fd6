"""A sink of Avro files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self
from zlib import crc32

import attrs

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.elements.schemas import Schema, fields_of, schema_of
from headrace.sdk.io.files.file_sink import FileSink, diffs_of
from headrace.sdk.io.files.joined_pieces import Piece, Written
from headrace.sdk.io.files.opening import open_file
from headrace.sdk.io.formats.avro.avro_schema import avro_schema, declared_schema, inferred_schema
from headrace.sdk.io.formats.avro.package import avro, checked_codec
from headrace.sdk.io.formats.plain_data import in_arrow
from headrace.sdk.io.formats.record_columns import with_diff


@attrs.frozen(eq=False)
class AvroSink(FileSink):
    """Writes each element's fields as a record of Avro.

    Args:
        schema: an Avro schema (a dict, or JSON text), a class of records, or the types of the fields by their
            names. By default it is the schema of the elements as far as it is known, or else it is inferred
            from the elements of a file.
        codec: compression of blocks: null, deflate, bzip2, snappy, zstandard, …
        element_schema: the schema of the elements, if it is known.

    >>> AvroSink(hr.io.FileNaming("out"), {"airport": str}, num_shards=1).accepts_retractions
    False
    """

    schema: Any = attrs.field(
        default=None, converter=attrs.converters.optional(avro_schema), eq=False
    )
    codec: str = attrs.field(default="deflate", converter=checked_codec)
    element_schema: Schema | None = attrs.field(default=None, kw_only=True)

    def display_data(self) -> dict[str, Any]:
        """Return the schema and the codec, and what all file sinks have."""
        return {**super().display_data(), "schema": str(self.schema), "codec": self.codec}

    def with_element_type(self, kind: object) -> Self:
        return attrs.evolve(self, element_schema=schema_of(kind))

    def write_file(self, path: str, bundle: Bundle) -> Written:
        records = self.records(bundle)
        schema = self._schema_of(records)
        self._write(path, schema, records)
        return Written(f"{crc32(repr(schema).encode()):08x}")

    def assemble(self, path: str, pieces: Sequence[Piece]) -> None:
        """Join pieces: block by block if they have one schema, or else record by record."""
        schemas = [self._schema_in(piece.path) for piece in pieces]
        if any(schema != schemas[0] for schema in schemas):
            records = [record for piece in pieces for record in self._records_in(piece.path)]
            self._write(path, self._schema_of(records), records)
            return
        with open_file(path, "wb", self.compression, self.naming.end) as whole:
            schema = schemas[0] if schemas else self._schema_of([])
            writer = avro("fastavro.write").Writer(whole, schema, self.codec)
            for block in self._blocks_in(pieces):
                writer.write_block(block)
            writer.flush()

    def records(self, bundle: Bundle) -> list[Any]:
        """Return elements as what fastavro writes."""
        if self.schema is not None and not _is_record(self.schema):
            return list(map(in_arrow, bundle.values))
        records: list[Any] = [
            {name: in_arrow(value) for name, value in fields_of(element).items()}
            for element in bundle.values
        ]
        if self.diff_column is None:
            return records
        diffs = diffs_of(bundle)
        return [with_diff(r, self.diff_column, d) for r, d in zip(records, diffs, strict=True)]

    def _schema_of(self, records: Sequence[Mapping[str, object]]) -> Any:
        if self.schema is not None:
            return self._with_diff(self.schema)
        declared = declared_schema(self.element_schema)
        if declared is not None and self._fits(declared, records):
            return self._with_diff(declared)
        return inferred_schema(records)

    def _fits(self, declared: Any, records: Sequence[Mapping[str, object]]) -> bool:
        """Return whether records have no other fields than the declared ones."""
        known = {field["name"] for field in declared["fields"]} | {self.diff_column}
        return all(record.keys() <= known for record in records)

    def _with_diff(self, schema: Any) -> object:
        if self.diff_column is None or not _is_record(schema):
            return schema
        if any(field["name"] == self.diff_column for field in schema["fields"]):
            return schema
        diff = {"name": self.diff_column, "type": "long"}
        return {**schema, "fields": [*schema["fields"], diff]}

    def _write(self, path: str, schema: object, records: Sequence[object]) -> None:
        with open_file(path, "wb", self.compression, self.naming.end) as file:
            writer = avro("fastavro.write").Writer(file, schema, self.codec)
            for record in records:
                try:
                    writer.write(record)
                except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
                    raise ElementError(
                        f"the element {shorten(record)} does not fit the schema: {error}",
                        remedy="convert it with an hr.Map before the sink, or give another schema",
                    ) from error
            writer.flush()

    def _opened(self, path: str) -> Any:
        return open_file(path, "rb", self.compression, self.naming.end)

    def _schema_in(self, path: str) -> Any:
        with self._opened(path) as file:
            return avro().block_reader(file).writer_schema

    def _blocks_in(self, pieces: Sequence[Piece]) -> Iterator[Any]:
        for piece in pieces:
            with self._opened(piece.path) as part:
                yield from avro().block_reader(part)

    def _records_in(self, path: str) -> list[Any]:
        with self._opened(path) as file:
            return list(avro().reader(file))


def _is_record(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "record"
