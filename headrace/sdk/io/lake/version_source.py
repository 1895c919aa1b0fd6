"""The rows of one version of a table in files, as elements or as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import attrs

from headrace.errors import ElementError, TimeError, note_element, shorten
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle, TableRecords
from headrace.sdk.changelogs.change_options import TimeOf, reads_column
from headrace.sdk.elements.record_tables import AS_DICTS
from headrace.sdk.io.files.file_source import needed, require_columns, selected
from headrace.sdk.io.formats.parquet.time_columns import timed_table
from headrace.sdk.io.lake.table_versions import TableVersions
from headrace.sdk.sources.source import BoundedSource, BoundedTables
from headrace.windowing.time.timestamps import Timestamp, micros
from headrace.windowing.timestamped_value import TimestampedValue


@attrs.frozen(eq=False)
class VersionSource(BoundedSource[dict[str, Any]], BoundedTables):
    """The rows of one version.

    Args:
        table: the table.
        version: the version; None for the last one.
        timestamp: a column, or a function of the row, that gives its event time.
        fields: the columns of the tables of versions that have all of these; by default all columns.
    """

    table: TableVersions
    version: Any = None
    timestamp: TimeOf = None
    fields: tuple[str, ...] = attrs.field(default=(), kw_only=True)

    @property
    def dataset(self) -> str:  # type: ignore[override]  # it is only read
        """Where it reads, without secrets."""
        return self.table.dataset

    @property
    def records(self) -> TableRecords | None:
        """How rows become elements; None if a function gives the time."""
        return None if callable(self.timestamp) else AS_DICTS

    @property
    def fields_read(self) -> Sequence[str]:
        return needed(self.fields or None, self.timestamp) or ()

    def with_fields(self, names: Sequence[str]) -> Self:
        return attrs.evolve(self, fields=tuple(names))

    def partitions(self) -> Sequence[Any]:
        version = self.table.current() if self.version is None else self.version
        if version is None:
            return []
        return [(version, part) for part in range(self.table.parts(version))]

    def read(self, partition: Any) -> Iterator[Any]:
        for batch in self.table.batches(*partition):
            rows = batch.to_pylist()
            yield from rows if self.timestamp is None else self._at_their_times(batch, rows)

    def read_tables(self, partition: Any) -> Iterator[Bundle]:
        version, part = partition
        for batch in self.table.batches(version, part, self.fields_read):
            try:
                yield self._table(batch)
            except TimeError:
                for _ in self.read(partition):
                    pass  # it raises an error that names the row
                raise

    def _table(self, batch: Any) -> TableBundle:
        import pyarrow as pa

        table = pa.Table.from_batches([batch])
        kept = selected(table.schema.names, self.fields)
        time = self.timestamp if isinstance(self.timestamp, str) else None
        return timed_table(table, kept, AS_DICTS, time, self.dataset)

    def _at_their_times(
        self, batch: Any, rows: list[dict[str, Any]]
    ) -> Iterator[TimestampedValue[dict[str, Any]]]:
        assert self.timestamp is not None
        if isinstance(self.timestamp, str):
            require_columns(batch.schema.names, [self.timestamp], self.dataset)
        time_of = reads_column(self.timestamp)
        for row in rows:
            try:
                at = Timestamp(micros=micros(time_of(row)))
            except TimeError as error:
                where = f"{self.dataset}: {shorten(row)}"
                raise ElementError(error.problem, where=where, remedy=error.remedy) from error
            except Exception as error:  # of the user's function
                note_element(error, row)
                raise
            yield TimestampedValue(row, at)
