"""Parquet files: each record is a dictionary or a row, as in Beam, or an instance of a class."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from typing import Any, ClassVar, Final, Self

import attrs

from headrace.errors import ElementError, FileError, PipelineError, TimeError
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle, TableRecords
from headrace.sdk.elements.record_tables import AS_DICTS, AS_ROWS, values_by_name
from headrace.sdk.elements.row import rows_of
from headrace.sdk.elements.schemas import arguments_of, checked_records, required_schema
from headrace.sdk.io.files.file_places import START, FilePlace, Places
from headrace.sdk.io.files.file_source import (
    CHUNK_ROWS,
    Columns,
    FileSource,
    names_of,
    needed,
    require_columns,
    selected,
)
from headrace.sdk.io.files.file_tables import FileTables
from headrace.sdk.io.files.opening import opened
from headrace.sdk.io.files.read_errors import reading
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.small_dictionaries import small_dictionary_columns
from headrace.sdk.io.formats.parquet.time_columns import timed_table

TABLE_ROWS: Final = 1 << 17
"""The number of records in a table."""


@attrs.frozen(eq=False)
class ParquetFiles(FileSource, FileTables):
    """The records of Parquet files, as dictionaries, rows or instances of a class.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        columns: the columns of the records; all by default.
        schema: a class of records, whose fields are the columns; None for dictionaries or rows.
        as_rows: whether records are rows.
        timestamp: a column, or a function of the dictionary, that gives its event time.
        fields: the columns of the tables of files that have all of these; by default those of the records.
        keys: the columns whose text stays numbers of a dictionary where the file has a small one.

    >>> ParquetFiles("delays.parquet").bundle({"airport": ["EWR"], "delay": [7]}).values
    [{'airport': 'EWR', 'delay': 7}]
    """

    tells_places: ClassVar[bool] = True

    columns: tuple[str, ...] | None = attrs.field(default=None, converter=names_of)
    schema: type | None = attrs.field(default=None, kw_only=True)
    as_rows: bool = attrs.field(default=False, kw_only=True)
    fields: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    keys: tuple[str, ...] = attrs.field(default=(), kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check that only one argument names the columns, or the kind of the records."""
        if self.schema is not None:
            if self.as_rows:
                raise PipelineError(
                    "there are both as_rows and a schema, whose instances are the elements",
                    remedy="remove as_rows, or remove the schema",
                )
            required_schema(self.schema)
            if self.columns is not None:
                raise PipelineError(
                    "there are both columns and a schema, whose fields are the columns",
                    remedy="remove columns, or remove the schema",
                )

    @property
    def _names(self) -> tuple[str, ...] | None:
        """The names of the columns of the records; None for all columns."""
        if self.schema is None:
            return self.columns
        return tuple(argument.field for argument in arguments_of(self.schema))

    def column_names(self) -> tuple[str, ...] | None:
        return needed(self._names, self.timestamp)

    def values(self, columns: Columns) -> list[Any]:
        names = tuple(columns if self._names is None else self._names)
        cells = [columns[name] for name in names]
        if self.schema is not None:
            return checked_records(self.schema, names, cells)
        if self.as_rows:
            return rows_of(names, cells)
        return [dict(zip(names, record, strict=True)) for record in zip(*cells, strict=True)]

    def read_columns(self, path: str) -> Iterator[Columns]:
        return self.columns_from(path, START)

    def places(self, path: str, place: FilePlace, limit: int) -> Places:
        """Return the ends of the parts, one for each row group."""
        with self.opened_file(path) as file:
            ends = _ends_of_row_groups(file)
        last = place.records + limit
        found = dict.fromkeys(min(end, last) for end in ends if end > place.records)
        return Places(tuple(map(FilePlace, found)))

    def can_start_at(self, place: FilePlace) -> bool:
        return True

    @property
    def records(self) -> TableRecords | None:
        """How rows become elements; None for instances of a class, or if a function gives the time."""
        if self.schema is not None or callable(self.timestamp) or self.columns == ():
            return None
        return AS_ROWS if self.as_rows else AS_DICTS

    @property
    def fields_read(self) -> Sequence[str]:
        return needed(self.fields or None, self.timestamp) or ()

    def with_fields(self, names: Sequence[str]) -> Self:
        return attrs.evolve(self, fields=tuple(names))

    def with_keys(self, names: Collection[str]) -> Self:
        return attrs.evolve(self, keys=tuple(names))

    def tables_from(self, path: str, place: FilePlace) -> Iterator[Bundle]:
        with self.opened_file(path, self.keys) as file:
            kept = self._kept(self._selected(file, path))
            read = needed(kept, self.timestamp)
            for batch in _batches_from(file, place.records, list(read or kept), TABLE_ROWS):
                yield self._table(arrow().Table.from_batches([batch]), kept, path)

    def table_bundle(self, table: Any, kept: Sequence[str] = ()) -> TableBundle:
        """Return some columns of a table with its timestamps; all columns by default.

        Raises:
            TimeError: a timestamp is not valid.
        """
        assert self.records is not None
        time = self.timestamp if isinstance(self.timestamp, str) else None
        return timed_table(table, kept or table.schema.names, self.records, time)

    def _table(self, table: Any, kept: tuple[str, ...], path: str) -> TableBundle:
        """Return some columns of a table with its timestamps, as the elements of the source."""
        try:
            return self.table_bundle(table, kept)
        except TimeError:
            for _ in self.read_file(path):
                pass  # it raises an error that names the record
            raise

    def _kept(self, read: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of the tables of a file, from those to read of it for records."""
        return selected(read if self._names is None else self._names, self.fields)

    def _selected(self, file: Any, path: str) -> list[str]:
        """Return the columns to read from a file."""
        names = file.schema_arrow.names
        selected = self.column_names() or names
        time = (self.timestamp,) if isinstance(self.timestamp, str) else ()
        require_columns(names, (*selected, *time), path)
        return list(selected)

    @contextmanager
    def opened_file(self, path: str, keys: Sequence[str] = ()) -> Iterator[Any]:
        """Open a file.

        Args:
            path: its path.
            keys: the columns that it reads as numbers of a dictionary, if this is small.
        """
        parquet, pyarrow = arrow("pyarrow.parquet"), arrow()
        with reading(path), _as_os_errors(pyarrow), ExitStack() as stack:
            source = opened(path)
            if not isinstance(source, str):
                stack.enter_context(source)
            file = stack.enter_context(parquet.ParquetFile(source))
            small = small_dictionary_columns(file, keys)
            if small:
                read = parquet.ParquetFile(source, metadata=file.metadata, read_dictionary=small)
                file = stack.enter_context(read)
            yield file

    def columns_from(self, path: str, place: FilePlace) -> Iterator[Columns]:
        with self.opened_file(path) as file:
            for batch in _batches_from(file, place.records, self._selected(file, path)):
                yield _values_of(batch, path)


def _values_of(batch: Any, path: str) -> Columns:
    try:
        return values_by_name(batch)
    except ElementError as error:
        raise FileError(error.problem, where=path, remedy=error.remedy) from error


def _batches_from(
    file: Any, record: int, columns: list[str], rows: int = CHUNK_ROWS
) -> Iterator[Any]:
    """Return the record batches of a file from a record on, of at most ``rows`` rows each."""
    ends = _ends_of_row_groups(file)
    groups = [number for number, end in enumerate(ends) if end > record]
    if not groups:
        return
    at = ends[groups[0] - 1] if groups[0] else 0
    for batch in file.iter_batches(rows, row_groups=groups, columns=columns):
        at += batch.num_rows
        if at > record:
            yield batch.slice(max(0, batch.num_rows - (at - record)))


def _ends_of_row_groups(file: Any) -> list[int]:
    """Return the number of records up to the end of each row group."""
    sizes = (file.metadata.row_group(n).num_rows for n in range(file.num_row_groups))
    return list(accumulate(sizes))


@contextmanager
def _as_os_errors(pyarrow: Any) -> Iterator[None]:
    """Raise Arrow's errors as OSError."""
    try:
        yield
    except pyarrow.ArrowException as error:
        raise OSError(str(error)) from error
