"""Parquet files as Arrow tables: ReadFromParquetBatched, ReadAllFromParquetBatched, WriteToParquetBatched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.io.files.file_places import FilePlace, Places
from headrace.sdk.io.files.file_source import Columns, names_of, require_columns
from headrace.sdk.io.files.opening import FilePattern
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.arrow_schema import arrow_schema
from headrace.sdk.io.formats.parquet.parquet_files import ParquetFiles
from headrace.sdk.io.formats.parquet.parquet_io import parquet_suffix
from headrace.sdk.io.formats.parquet.parquet_sink import ParquetSink
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.io.formats.reading import ReadFromFiles
from headrace.sdk.io.formats.reading_all import ReadAllFromFiles
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.io.formats.writing import WriteTo
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored


@attrs.frozen(eq=False)
class ParquetTables(ParquetFiles):
    """The row groups of Parquet files as Arrow tables.

    >>> ParquetTables("delays.parquet", ["delay"]).column_names()
    ('delay',)
    """

    @property
    def records(self) -> None:
        """How rows become elements: they do not, since each element is a table."""
        return None

    @property
    def why_elements(self) -> str:
        return "each element is a table"

    def values(self, columns: Columns) -> list[Any]:
        return columns["table"]

    def places(self, path: str, place: FilePlace, limit: int) -> Places:
        """Return the ends of the row groups; each row group is one record."""
        with self.opened_file(path) as file:
            last = min(file.num_row_groups, place.records + limit)
        return Places(tuple(map(FilePlace, range(place.records + 1, last + 1))))

    def columns_from(self, path: str, place: FilePlace) -> Iterator[Columns]:
        with self.opened_file(path) as file:
            names = self.column_names()
            require_columns(file.schema_arrow.names, names or (), path)
            columns = None if names is None else list(names)
            for number in range(place.records, file.num_row_groups):
                yield {"table": [file.read_row_group(number, columns)]}


@attrs.frozen(eq=False)
class ArrowTableSink(ParquetSink):
    """Writes the records of Arrow tables to Parquet files.

    >>> ArrowTableSink(hr.io.FileNaming("out"), {"airport": str}).accepts_retractions
    False
    """

    def table(self, bundle: Bundle) -> Any:
        pyarrow = arrow()
        schema = None if self.schema is None else arrow_schema(self.schema)
        tables = list(map(_as_table, bundle.values))
        if not tables:
            return pyarrow.Table.from_pylist([], schema or pyarrow.schema([]))
        try:
            whole = pyarrow.concat_tables(tables, promote_options="permissive")
            return whole if schema is None else whole.select(schema.names).cast(schema)
        except (pyarrow.ArrowException, KeyError, ValueError) as error:
            raise ElementError(
                f"tables such as {shorten(tables[0])} do not fit the schema: {error}",
                remedy="convert them with an hr.Map before the sink, or give another schema",
            ) from error


def _as_table(element: object) -> object:
    pyarrow = arrow()
    if isinstance(element, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([element])
    if isinstance(element, pyarrow.Table):
        return element
    raise ElementError(
        f"the element {shorten(element)} is not an Arrow table",
        remedy="use hr.io.WriteToParquet for records",
    )


class ReadFromParquetBatched(ReadFromFiles[Any]):
    """Reads the row groups of Parquet files as Arrow tables (Beam's ReadFromParquetBatched); needs pyarrow.

    Args:
        file_pattern: a path, a glob, a directory, or a list of them.
        validate: whether to raise an error if a pattern matches no file now.
        columns: the columns of the tables; all by default.
        watch: whether to continue with new files; or the interval between checks, in seconds.

    Raises:
        PipelineError: pyarrow is not installed.
        FileError: no file matches, or one cannot be read.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "delays")
    >>> with Pipeline() as p:
    ...     _ = p | Create([{"delay": 7}, {"delay": 9}]) | hr.io.WriteToParquet(path)
    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | hr.io.ReadFromParquetBatched(f"{path}*")
    ...         | Map(lambda table: print(table.num_rows))
    ...     )
    2
    """

    def __init__(
        self,
        file_pattern: FilePattern,
        *,
        validate: bool = True,
        columns: Sequence[str] | None = None,
        watch: bool | float = False,
    ) -> None:
        kind = arrow().Table
        options = ReadOptions(validate, watch=watch)
        super().__init__(ParquetTables(file_pattern, columns), kind, options)


class ReadAllFromParquetBatched(ReadAllFromFiles[Any]):
    """Reads the row groups of the Parquet files that a collection names, as Arrow tables (Beam's name).

    Args:
        columns: the columns of the tables; all by default.
        with_filename: whether elements are pairs of the path of the file and the table.
        min_bundle_size: has no effect.
        desired_bundle_size: has no effect.

    Raises:
        PipelineError: pyarrow is not installed.
        FileError: a path does not exist, or a file cannot be read.

    >>> with TestPipeline() as p:
    ...     _ = p | Create(["nowhere.parquet"]) | hr.io.ReadAllFromParquetBatched()
    Traceback (most recent call last):
    headrace.errors.FileError: no file matches 'nowhere.parquet'...
    """

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        *,
        with_filename: bool = False,
        min_bundle_size: int = 0,
        desired_bundle_size: int = 0,
    ) -> None:
        warn_of_ignored(
            "ReadAllFromParquetBatched",
            min_bundle_size=min_bundle_size,
            desired_bundle_size=desired_bundle_size,
        )
        super().__init__(ParquetTables((), names_of(columns)), arrow().Table, with_filename)


class WriteToParquetBatched(WriteTo):
    """Writes the records of Arrow tables to Parquet files (Beam's WriteToParquetBatched); needs pyarrow.

    For the names of files see :class:`~headrace.io.WriteToText`.

    Args:
        file_path_prefix: the beginning of the paths; missing directories are created.
        schema: a pyarrow schema, a class of records, or the types of the columns by their names; by default
            that of the tables.
        codec: compression of columns: none, snappy, gzip, zstd, …
        num_shards: number of files for each batch. 0 joins small parts, and leaves large ones as they are.
        file_name_suffix: the end of the paths; by default ``.parquet``, but nothing if
            ``shard_name_template`` is ``""``.
        shard_name_template: template of the shard's name, ``-SSSSS-of-NNNNN`` by default; ``""`` for one
            file without numbers.
        windowed_writes: whether each window has files of its own (Beam's withWindowedWrites).

    Raises:
        PipelineError: pyarrow is not installed.
        ElementError: an element is not a table, or does not fit the schema.

    >>> with TestPipeline() as p:
    ...     _ = p | Create([{"delay": 7}]) | hr.io.WriteToParquetBatched("/tmp/never")
    Traceback (most recent call last):
    headrace.errors.ElementError: the element {'delay': 7} is not an Arrow table...
    """

    def __init__(
        self,
        file_path_prefix: PathPrefix,
        schema: Any = None,
        codec: str = "none",
        *,
        num_shards: int | None = 0,
        file_name_suffix: str | None = None,
        shard_name_template: str | None = None,
        windowed_writes: bool = False,
    ) -> None:
        arrow()
        if file_name_suffix is None:
            file_name_suffix = parquet_suffix(shard_name_template)
        files = WriteOptions(
            file_path_prefix,
            file_name_suffix,
            shard_name_template,
            num_shards,
            windowed_writes=windowed_writes,
        )
        super().__init__(files.sink(ArrowTableSink, schema, codec))
