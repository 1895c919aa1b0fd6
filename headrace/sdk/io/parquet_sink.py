"""A sink of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs

from headrace.errors import ElementError, shorten
from headrace.sdk.io.arrow import arrow
from headrace.sdk.io.arrow_schema import arrow_array, arrow_schema
from headrace.sdk.io.file_sink import FileSink, Piece
from headrace.sdk.io.files import open_file
from headrace.sdk.io.plain_data import converted, in_arrow
from headrace.sdk.io.record_columns import columns_of, names_in
from headrace.sdk.schemas import Schema, schema_of
from headrace.triggers.bundle import Bundle


@attrs.frozen(eq=False)
class ParquetSink(FileSink):
    """Writes each element's fields as a record of Parquet.

    Args:
        schema: a pyarrow schema, a class of records, or the types of the columns by their names: str, int,
            float, bool, bytes, datetime (with a zone) or date. By default it is the schema of the elements
            as far as it is known, and the rest is inferred from the elements of a file.
        codec: compression of columns: none, snappy, gzip, zstd, …
        element_schema: the schema of the elements, if it is known.

    >>> ParquetSink(hr.io.FileNaming("out"), {"airport": str}, num_shards=1).accepts_retractions
    False
    """

    schema: Any = None
    codec: str = "none"
    element_schema: Schema | None = attrs.field(default=None, kw_only=True)

    def with_element_type(self, kind: Any) -> Self:
        return attrs.evolve(self, element_schema=schema_of(kind))

    def write_file(self, path: str, bundle: Bundle) -> str:
        self._write(path, self.table(bundle))
        return ""

    def assemble(self, path: str, pieces: Sequence[Piece]) -> None:
        tables = [self._read(piece.path) for piece in pieces]
        promoted = arrow().concat_tables(tables, promote_options="permissive") if tables else None
        self._write(path, self.table(Bundle([])) if promoted is None else promoted)

    def _read(self, path: str) -> Any:
        with open_file(path, "rb", "uncompressed") as file:
            return arrow("pyarrow.parquet").read_table(file)

    def _write(self, path: str, table: Any) -> None:
        with open_file(path, "wb", "uncompressed") as file:
            arrow("pyarrow.parquet").write_table(table, file, compression=self.codec)

    def table(self, bundle: Bundle) -> Any:
        """Return elements as an Arrow table."""
        schema = self._schema()
        names = names_in(bundle, None if schema is None else schema.names, self.element_schema)
        if schema is not None:
            names = tuple(name for name in names if name != self.diff_column)
        columns = columns_of(bundle, names, self.diff_column, exact=schema is None)
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

    def _arrays(self, columns: Mapping[str, list[Any]]) -> dict[str, Any]:
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
