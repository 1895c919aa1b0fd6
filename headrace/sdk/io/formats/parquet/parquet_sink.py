"""A sink of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self
from zlib import crc32

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import ArrowBundle
from headrace.sdk.elements.record_tables import has_fields
from headrace.sdk.elements.schemas import Schema, schema_of
from headrace.sdk.elements.wide_tables import widened
from headrace.sdk.io.files.file_sink import FileSink
from headrace.sdk.io.files.joined_pieces import Piece, Written
from headrace.sdk.io.files.opening import open_file
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.arrow_schema import arrow_array, arrow_schema, arrow_type
from headrace.sdk.io.formats.plain_data import converted, in_arrow
from headrace.sdk.io.formats.record_columns import columns_of, names_in

ROW_GROUP_BYTES: Final = 64 * 1024 * 1024
"""The default size of row groups in memory."""


_PLAIN: Final = frozenset({"int64", "double", "string", "bool", "date32[day]"})
"""The names of Arrow's types that are those of the columns of Python values."""


def _is_known(sink: object, attribute: object, codec: str) -> None:
    try:
        known = codec.lower() == "none" or arrow().Codec.is_available(codec.lower())
    except ValueError:
        known = False
    if not known:
        raise PipelineError(
            f"the codec {codec!r} is unknown, or not a part of pyarrow here",
            remedy="use codec='snappy', 'gzip' or 'none'",
        )


@attrs.frozen(eq=False)
class ParquetSink(FileSink):
    """Writes each element's fields as a record of Parquet.

    Args:
        schema: a pyarrow schema, a class of records, or the types of the columns by their names: str, int,
            float, bool, bytes, datetime (with a zone) or date. By default it is the schema of the elements
            as far as it is known, and the rest is inferred from the elements of a file.
        codec: compression of columns: none, snappy, gzip, zstd, …
        row_group_buffer_size: the size of row groups in memory, in bytes.
        layout: whether timestamps are int96, and whether nested lists have the names of the format.
        element_schema: the schema of the elements, if it is known.

    >>> ParquetSink(hr.io.FileNaming("out"), {"airport": str}, num_shards=1).accepts_retractions
    False
    """

    schema: Any = None
    codec: str = attrs.field(default="none", validator=_is_known)
    row_group_buffer_size: int = attrs.field(
        default=ROW_GROUP_BYTES, validator=attrs.validators.gt(0)
    )
    layout: tuple[bool, bool] = (False, True)
    element_schema: Schema | None = attrs.field(default=None, kw_only=True)

    def display_data(self) -> dict[str, Any]:
        """Return the schema and the codec, and what all file sinks have."""
        return {**super().display_data(), "schema": str(self.schema), "codec": self.codec}

    def with_element_type(self, kind: object) -> Self:
        return attrs.evolve(self, element_schema=schema_of(kind))

    def write_file(self, path: str, bundle: Bundle) -> Written:
        table = self.table(bundle)
        self._write(path, table)
        return Written(f"{crc32(str(table.schema).encode()):08x}")

    def assemble(self, path: str, pieces: Sequence[Piece]) -> None:
        tables = [self._read(piece.path) for piece in pieces]
        promoted = arrow().concat_tables(tables, promote_options="permissive") if tables else None
        self._write(path, self.table(Bundle([])) if promoted is None else promoted)

    def _read(self, path: str) -> object:
        with open_file(path, "rb", "uncompressed") as file:
            return arrow("pyarrow.parquet").read_table(file)

    def _write(self, path: str, table: Any) -> None:
        with open_file(path, "wb", "uncompressed") as file:
            arrow("pyarrow.parquet").write_table(
                table,
                file,
                compression=self.codec,
                row_group_size=self._rows_of_group(table),
                use_deprecated_int96_timestamps=self.layout[0],
                use_compliant_nested_type=self.layout[1],
            )

    def _rows_of_group(self, table: Any) -> int:
        """Return the number of rows of a row group."""
        each = table.nbytes / table.num_rows if table.num_rows else 1
        return max(1, int(self.row_group_buffer_size // max(each, 1)))

    def table(self, bundle: Bundle) -> Any:
        """Return elements as an Arrow table."""
        made = self._of_columns(bundle)
        return self._of_elements(bundle) if made is None else made

    def _of_columns(self, bundle: Bundle) -> Any:
        """Return the table of elements that are a table with the columns to write; None for others."""
        own = self.schema is None and self.diff_column is None
        if not (own and isinstance(bundle, ArrowBundle) and has_fields(bundle.records)):
            return None
        table = widened(bundle.table)
        declared = dict(() if self.element_schema is None else self.element_schema.fields)
        alike = all(
            field.type == (arrow_type(declared.get(field.name)) or field.type)
            and str(field.type) in _PLAIN
            and table.column(field.name).null_count < max(1, len(table))
            for field in table.schema
        )
        return table if alike and table.column_names else None

    def _of_elements(self, bundle: Bundle) -> Any:
        schema = self._schema()
        names = names_in(bundle, None if schema is None else schema.names, self.element_schema)
        if schema is not None:
            names = tuple(name for name in names if name != self.diff_column)
        nullable = [] if schema is None else [field.name for field in schema if field.nullable]
        columns = columns_of(bundle, names, self.diff_column, schema is None, set(nullable))
        values = {name: converted(column, in_arrow) for name, column in columns.items()}
        pyarrow = arrow()
        try:
            return pyarrow.Table.from_pydict(
                self._arrays(values) if schema is None else values, schema
            )
        except (pyarrow.ArrowException, TypeError, OverflowError) as error:
            raise ElementError(
                f"elements such as {shorten(bundle.values[0])} do not fit "
                f"{'one schema' if schema is None else 'the schema'}: {error}",
                remedy="convert them with an hr.Map before the sink, so that each field has values of one "
                f"type{'' if schema is None else ', or give another schema'}",
            ) from error

    def _arrays(self, columns: Mapping[str, list[object]]) -> dict[str, object]:
        """Return columns as Arrow arrays of the declared types, where types are declared."""
        declared = dict(() if self.element_schema is None else self.element_schema.fields)
        if self.diff_column is not None:
            declared[self.diff_column] = int
        return {name: arrow_array(column, declared.get(name)) for name, column in columns.items()}

    def _schema(self) -> Any:
        """Return the schema with the diff column, if there is one; None without a schema."""
        if self.schema is None:
            return None
        schema = arrow_schema(self.schema)
        if self.diff_column is None or self.diff_column in schema.names:
            return schema
        return schema.append(arrow().field(self.diff_column, arrow().int64()))
