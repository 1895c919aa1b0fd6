"""ReadFromDelta and ReadFromIceberg: the rows of a version of a table, or all its changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

from headrace.errors import PipelineError, require_extra
from headrace.sdk.changelogs.change_options import TimeOf
from headrace.sdk.changelogs.from_changelog import FromChangelog
from headrace.sdk.io.lake.delta_source import DeltaVersions
from headrace.sdk.io.lake.iceberg_source import IcebergSnapshots
from headrace.sdk.io.lake.table_versions import ChangesSource, TableVersions
from headrace.sdk.io.lake.version_source import VersionSource
from headrace.sdk.io.secret import Secret
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Read
from headrace.windowing.time.timestamps import MIN_TIMESTAMP, DurationTypes, Timestamp


class ReadsVersions(PTransform[PBegin, PCollection[Any]]):
    """Reads a version of a table, or its changes.

    Args:
        table: the table.
        version: the version; None for the last one, or with changes for all present rows first.
        changes: whether changes are read.
        timestamp: the event time of a row.
        allowed_lateness: how far behind the watermark a row can be.
    """

    def __init__(
        self,
        table: TableVersions,
        version: int | None,
        changes: bool,
        timestamp: TimeOf,
        allowed_lateness: DurationTypes | None,
    ) -> None:
        super().__init__()
        self._table = table
        self._source = (
            ChangesSource(table, version) if changes else VersionSource(table, version, timestamp)
        )
        self._log = FromChangelog(
            timestamp=timestamp or _beginning,
            on_unmatched="pass",
            allowed_lateness=allowed_lateness,
        )
        if not changes and allowed_lateness is not None:
            raise PipelineError(
                f"{type(self).__name__} has allowed_lateness, but of one version nothing is late",
                remedy="remove it, or set changes=True",
            )

    def default_label(self) -> str:
        return f"{type(self).__name__}({self._table.dataset})"

    def display_data(self) -> dict[str, Any]:
        """Return what is read, without secrets."""
        return {"dataset": self._table.dataset}

    def expand(self, pcoll: PBegin) -> PCollection[Any]:
        read: Any = Read(self._source)
        rows: PCollection[Any]
        if isinstance(self._source, ChangesSource):
            rows = pcoll | "Changes" >> read | "Rows" >> self._log
        else:
            rows = pcoll | "Rows" >> read
        return rows


class ReadFromDelta(ReadsVersions):
    """Reads a Delta table: the rows of a version, or all its changes (not in Beam); needs deltalake.

    The rows are dicts. With ``changes`` the collection is unbounded: it has the present rows, and then a
    value for each row that is inserted and a retraction for each that is deleted; an update is both. The
    changes are those of the table's change data feed, so set its property ``delta.enableChangeDataFeed``;
    without it the package finds them by the files that a version adds and removes. The position is the
    version, and the driver reads.

    Args:
        path: path or URL of the table.
        version: without ``changes``, the version to read, by default the last; with ``changes``, the version
            after which changes are read, by default the present rows are read first.
        changes: whether to read changes.
        columns: the columns to read; by default all.
        timestamp: the event time of a row: a column, or a function. By default the beginning of time: a row
            and its retraction need the same time, which their commits do not have.
        allowed_lateness: how far behind the watermark a row can be, in seconds, with ``changes``; None for no
            limit. The watermark follows the times of the commits. See :class:`~headrace.FromChangelog`.
        storage_options: options of the storage, such as credentials, which can be
            :class:`~headrace.io.Secret`. They are not displayed.

    Raises:
        PipelineError: an argument is not valid, or deltalake or pyarrow is not installed.

    >>> import tempfile, deltalake, pyarrow
    >>> folder = tempfile.mkdtemp()
    >>> deltalake.write_deltalake(folder, pyarrow.table({"place": ["quay", "weir"], "n": [5, 7]}))
    >>> with Pipeline() as p:
    ...     _ = p | hr.io.ReadFromDelta(folder) | Map(lambda row: row["n"]) | Map(print)
    5
    7
    """

    def __init__(
        self,
        path: str | PathLike[str],
        version: int | None = None,
        changes: bool = False,
        columns: Iterable[str] | None = None,
        timestamp: TimeOf = None,
        allowed_lateness: DurationTypes | None = None,
        storage_options: Mapping[str, str | Secret] | None = None,
    ) -> None:
        require_extra("deltalake", "delta", "Delta tables are read with deltalake")
        names = None if columns is None else tuple(columns)
        table = DeltaVersions(fspath(path), names, dict(storage_options or {}))
        super().__init__(table, version, changes, timestamp, allowed_lateness)


class ReadFromIceberg(ReadsVersions):
    """Reads an Iceberg table: the rows of a snapshot, or all its changes (not in Beam); needs pyiceberg.

    The rows are dicts. With ``changes`` the collection is unbounded: it has the present rows, and then a
    value for each row that is inserted and a retraction for each that is deleted, from the files of each
    snapshot and of the one before it. Rows that a snapshot only rewrites, as a compaction does, change
    nothing. Tables with equality deletes are refused by pyiceberg. The position is the snapshot, and the
    driver reads.

    Args:
        table: name of the table, with its namespace: ``shop.totals``.
        catalog: name of the catalog.
        catalog_properties: properties of pyiceberg for the catalog, such as ``type``, ``uri``, ``warehouse``
            and credentials, which can be :class:`~headrace.io.Secret`; by default those of pyiceberg's own
            configuration. They are not displayed.
        snapshot: without ``changes``, the snapshot to read, by default the current one; with ``changes``, the
            snapshot after which changes are read, by default the present rows are read first.
        changes: whether to read changes.
        columns: the columns to read; by default all.
        timestamp: see :class:`ReadFromDelta`.
        allowed_lateness: see :class:`ReadFromDelta`.

    Raises:
        PipelineError: an argument is not valid, or pyiceberg or pyarrow is not installed.

    >>> import tempfile, pyarrow
    >>> from pyiceberg.catalog import load_catalog
    >>> folder = tempfile.mkdtemp()
    >>> properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder}
    >>> catalog = load_catalog("default", **properties)
    >>> catalog.create_namespace("shop")
    >>> rows = pyarrow.table({"place": ["quay", "weir"], "n": [5, 7]})
    >>> catalog.create_table("shop.totals", rows.schema).append(rows)
    >>> with Pipeline() as p:
    ...     read = hr.io.ReadFromIceberg("shop.totals", catalog_properties=properties)
    ...     _ = p | read | Map(lambda row: row["n"]) | Map(print)
    5
    7
    """

    def __init__(
        self,
        table: str,
        *,
        catalog: str = "default",
        catalog_properties: Mapping[str, str | Secret] | None = None,
        snapshot: int | None = None,
        changes: bool = False,
        columns: Iterable[str] | None = None,
        timestamp: TimeOf = None,
        allowed_lateness: DurationTypes | None = None,
    ) -> None:
        require_extra("pyiceberg", "iceberg", "Iceberg tables are read with pyiceberg")
        names = None if columns is None else tuple(columns)
        found = IcebergSnapshots(table, catalog, dict(catalog_properties or {}), names)
        super().__init__(found, snapshot, changes, timestamp, allowed_lateness)


def _beginning(row: object) -> Timestamp:
    """Return the time of rows without one."""
    return MIN_TIMESTAMP
