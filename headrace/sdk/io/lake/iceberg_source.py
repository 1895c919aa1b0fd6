"""The snapshots of an Iceberg table as versions, through the package pyiceberg.

What a snapshot has changed is found by its files: those of the snapshot and not of its parent have new rows,
those of the parent alone have rows that are gone. Rows that are in both, as of a file that was rewritten,
cancel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from headrace.errors import PipelineError, require_extra
from headrace.sdk.io.files.file_source import selected
from headrace.sdk.io.lake.table_versions import RowDiff, net_changes
from headrace.sdk.io.secret import Secret, resolved


@attrs.frozen
class IcebergSnapshots:
    """An Iceberg table as its snapshots, which are named by their numbers.

    Args:
        name: name of the table, with its namespace.
        catalog: name of the catalog.
        properties: properties of the catalog, which can hold credentials.
        columns: the columns to read; None for all.
    """

    name: str
    catalog: str
    properties: Mapping[str, str | Secret] = attrs.field(repr=False)
    columns: tuple[str, ...] | None = None

    @property
    def dataset(self) -> str:
        """The catalog and the table."""
        return f"iceberg:{self.catalog}/{self.name}"

    def current(self) -> int | None:
        """Return the current snapshot."""
        snapshot = self._table().current_snapshot()
        return None if snapshot is None else int(snapshot.snapshot_id)

    def following(self, version: int | None) -> int | None:
        """Return the snapshot after another.

        Raises:
            PipelineError: the snapshot is no longer in the history of the current one.
        """
        table = self._table()
        snapshot, after = table.current_snapshot(), None
        while snapshot is not None and snapshot.snapshot_id != version:
            after, parent = int(snapshot.snapshot_id), snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        if snapshot is None and version is not None:
            raise PipelineError(
                f"the snapshot {version} of {self.dataset} is not in the history of the current one",
                remedy="do not expire snapshots that are still to be read, nor roll the table back; "
                "start from a new checkpoint",
            )
        return after

    def time(self, version: int) -> int:
        """Return when a snapshot was committed, in microseconds since 1970."""
        return int(self._snapshot(self._table(), version).timestamp_ms) * 1000

    def parts(self, version: int) -> int:
        """Return the number of data files."""
        return len(self._tasks(self._table(), version))

    def batches(self, version: int, part: int, fields: Sequence[str] = ()) -> Iterator[Any]:
        """Yield the rows of a data file."""
        table = self._table()
        tasks = self._tasks(table, version)
        yield from self._arrow(table, version, [tasks[sorted(tasks)[part]]], fields).to_batches()

    def changes(self, version: int) -> list[RowDiff]:
        """Return what a snapshot has changed."""
        table = self._table()
        parent = self._snapshot(table, version).parent_snapshot_id
        after = self._tasks(table, version)
        before = {} if parent is None else self._tasks(table, parent)
        new = [after[name] for name in sorted(after.keys() - before.keys())]
        gone = [before[name] for name in sorted(before.keys() - after.keys())]
        return net_changes(
            self._rows_of(table, version, new),
            self._rows_of(table, parent, gone) if gone else [],
        )

    def _table(self) -> Any:
        catalogs = require_extra(
            "pyiceberg.catalog", "iceberg", "Iceberg tables are read with pyiceberg"
        )
        return catalogs.load_catalog(self.catalog, **resolved(self.properties)).load_table(
            self.name
        )

    def _snapshot(self, table: Any, version: int) -> Any:
        snapshot = table.snapshot_by_id(version)
        if snapshot is None:
            raise PipelineError(
                f"there is no snapshot {version} of {self.dataset}",
                remedy="do not expire snapshots that are still to be read",
            )
        return snapshot

    def _scan(self, table: Any, version: int) -> Any:
        self._snapshot(table, version)
        return table.scan(snapshot_id=version, selected_fields=self.columns or ("*",))

    def _tasks(self, table: Any, version: int) -> dict[tuple[str, ...], Any]:
        """Return what is to be scanned, by the names of its file and of the files with its deletions."""
        return {
            (task.file.file_path, *sorted(each.file_path for each in task.delete_files)): task
            for task in self._scan(table, version).plan_files()
        }

    def _rows_of(self, table: Any, version: int, tasks: list[Any]) -> list[dict[str, Any]]:
        return list(self._arrow(table, version, tasks).to_pylist())

    def _arrow(self, table: Any, version: int, tasks: list[Any], fields: Sequence[str] = ()) -> Any:
        """Return the rows of some tasks as an Arrow table."""
        reader = require_extra(
            "pyiceberg.io.pyarrow", "iceberg", "Iceberg tables are read with pyarrow"
        )
        scan = self._scan(table, version)
        names = [field.name for field in scan.projection().fields]
        narrowed = scan.select(*selected(names, fields)) if fields else scan
        arrow = reader.ArrowScan(
            table.metadata, table.io, narrowed.projection(), narrowed.row_filter
        )
        return arrow.to_table(tasks)
