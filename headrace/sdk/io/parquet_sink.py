"""A sink of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.io.arrow import arrow
from headrace.sdk.io.file_sink import FileSink, Piece
from headrace.sdk.io.plain_data import converted, in_arrow
from headrace.sdk.io.record_columns import columns_of, names_in
from headrace.triggers.bundle import Bundle


@attrs.frozen(eq=False)
class ParquetSink(FileSink):
    """Writes each element's fields as a record of Parquet.

    Args:
        schema: a pyarrow schema, or the types of the columns by their names: str, int, float, bool,
            bytes, datetime (with a zone) or date. By default it is inferred from the elements of a file.
        codec: compression of columns: none, snappy, gzip, zstd, …

    >>> ParquetSink(hr.io.FileNaming("out"), {"airport": str}, num_shards=1).accepts_retractions
    False
    """

    schema: Any = None
    codec: str = "none"

    def write_file(self, path: str, bundle: Bundle) -> str:
        self._write(path, self.table(bundle))
        return ""

    def assemble(self, path: str, pieces: Sequence[Piece]) -> None:
        tables = [arrow("pyarrow.parquet").read_table(piece.path) for piece in pieces]
        promoted = arrow().concat_tables(tables, promote_options="permissive") if tables else None
        self._write(path, self.table(Bundle([])) if promoted is None else promoted)

    def _write(self, path: str, table: Any) -> None:
        arrow("pyarrow.parquet").write_table(table, path, compression=self.codec)

    def table(self, bundle: Bundle) -> Any:
        """Return elements as an Arrow table."""
        schema = self._schema()
        names = names_in(bundle, None if schema is None else schema.names)
        if schema is not None:
            names = tuple(name for name in names if name != self.diff_column)
        columns = columns_of(bundle, names, self.diff_column, exact=schema is None)
        values = {name: converted(column, in_arrow) for name, column in columns.items()}
        pyarrow = arrow()
        try:
            return pyarrow.Table.from_pydict(values, schema)
        except (pyarrow.ArrowException, TypeError) as error:
            raise ElementError(
                f"elements such as {shorten(bundle.values[0])} do not fit "
                f"{'one schema' if schema is None else 'the schema'}: {error}",
                remedy="convert them with an hr.Map before the sink, so that each field has values of one "
                f"type{'' if schema is None else ', or give another schema'}",
            ) from error

    def _schema(self) -> Any:
        """Return the schema with the diff column, if there is one; None without a schema."""
        if self.schema is None:
            return None
        schema = _arrow_schema(self.schema)
        if self.diff_column is None or self.diff_column in schema.names:
            return schema
        return schema.append(arrow().field(self.diff_column, arrow().int64()))


def _arrow_schema(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    pyarrow = arrow()
    kinds = {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
        bytes: pyarrow.binary(),
        datetime: pyarrow.timestamp("us", "UTC"),
        date: pyarrow.date32(),
    }
    for name, kind in schema.items():
        if kind not in kinds:
            raise PipelineError(
                f"the column {name!r} has the unsupported type {shorten(kind)}",
                remedy=f"use one of {', '.join(known.__name__ for known in kinds)}, or a pyarrow schema",
            )
    return pyarrow.schema([(name, kinds[kind]) for name, kind in schema.items()])
