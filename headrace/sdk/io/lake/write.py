"""WriteToDelta and WriteToIceberg: a collection as a table in files, updated with each batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.lake.arrow_columns import given_type
from headrace.sdk.io.lake.data_files import TARGET_BYTES
from headrace.sdk.io.lake.delta import DeltaLakeTable, delta
from headrace.sdk.io.lake.iceberg import IcebergLakeTable, iceberg
from headrace.sdk.io.lake.lake_table import LakeTable
from headrace.sdk.io.lake.sink import LakeSink
from headrace.sdk.io.secret import Secret
from headrace.sdk.io.table.arguments import check_collection, key_columns, pattern_of
from headrace.sdk.pipelines.pvalue import PCollection, PDone, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.delivery import Delivery, check_sink_delivers
from headrace.sdk.sources.writing import Write


@attrs.frozen(kw_only=True)
class LakeOptions:
    """The arguments that both transforms have; :class:`WriteToDelta` describes them."""

    key: str | Iterable[str] | None
    columns: Iterable[Any] | None
    types: Mapping[str, Any] | None
    windows: bool | None
    partition_by: str | Iterable[str] | None
    target_file_size: int
    optimize: int
    schema_evolution: bool
    delivery: Delivery

    def sink(self, table: LakeTable) -> LakeSink:
        """Return the sink.

        Raises:
            PipelineError: the arguments contradict each other.
        """
        if self.target_file_size < 1 or self.optimize < 0:
            raise PipelineError(
                "target_file_size must be at least 1, and optimize at least 0",
                remedy="give a size in bytes, and a number of batches",
            )
        pattern = None if self.columns is None else pattern_of(self.columns)
        by = self.partition_by
        return LakeSink(
            table,
            key_columns(self.key, pattern, self.windows),
            pattern,
            {name: given_type(kind, name) for name, kind in (self.types or {}).items()},
            bool(self.windows),
            (by,) if isinstance(by, str) else tuple(by or ()),
            self.target_file_size,
            self.optimize,
            self.schema_evolution,
        )


class WriteToLake(PTransform[PCollection[Any], PDone]):
    """Writes a collection to a table in files; the base class of the transforms for each format.

    Args:
        table: the table.
        label: name of the table, for the default label.
        options: the arguments that all formats have.
    """

    def __init__(self, table: LakeTable, label: str, options: LakeOptions) -> None:
        super().__init__()
        self._sink = options.sink(table)
        self._delivery = check_sink_delivers(self._sink, options.delivery)
        self._table = label
        self._windows = options.windows

    def default_label(self) -> str:
        return f"{type(self).__name__}({self._table})"

    def expand(self, pcoll: PCollection[object]) -> PDone:
        require_collection(pcoll)
        check_collection(pcoll, bool(self._sink.key), self._windows)
        sink = attrs.evolve(self._sink, changing=pcoll.collection.changing)
        return Write(sink, delivery=self._delivery).expand(pcoll)


class WriteToDelta(WriteToLake):
    """Writes a collection to a Delta table, with the package deltalake (not in Beam's Python).

    Without a key, rows are added. With a key, an element replaces the row with its key, and a retraction
    deletes the row, unless the same batch has a newer row or the row has changed since. Each batch is one
    commit, which keeps the number of the batch: a resumed run skips a batch that was written before. The
    workers write the data files. If others change or compact the table meanwhile, the commit is tried again.

    Args:
        table: path or URL of the table; it is created with the first rows if it does not exist.
        key: the column or columns that identify a row; None to only add rows.
        columns: the columns to write. Dicts, Rows, named tuples, attrs classes and dataclasses have named
            columns, all of which are written by default. For plain tuples, give names in the shape of the
            tuple: ``[("shop", "day"), "total"]`` for ``(("a", 1), 5)``.
        types: Python types or pyarrow types by column, used to create the table; by default those of the
            schema of the elements, if it is known, or else inferred from the values of the first batch.
        windows: whether to add the bounds of the element's window as columns ``window_start`` and
            ``window_end``, which become part of the key. False by default.
        partition_by: the column or columns by which a new table is partitioned.
        target_file_size: the size from which on rows go to a further file, in bytes; also the size up to
            which ``optimize`` joins files. 128 MiB by default.
        optimize: number of batches after which small files are joined, in a commit of its own; 0 for never.
        schema_evolution: whether a new column of the elements is added to the table; otherwise it is an
            error. A type never changes.
        delivery: exactly once, or at least once, which stores no numbers of batches.
        storage_options: options of deltalake for the storage, such as credentials; they are not displayed.
            A value can be an ``hr.io.Secret``.

    Raises:
        PipelineError: the arguments contradict each other, or deltalake or pyarrow is not installed.

    >>> import tempfile, deltalake
    >>> table = tempfile.mkdtemp() + "/totals"
    >>> with Pipeline() as p:
    ...     totals = p | Create([("quay", 5), ("weir", 7), ("quay", 3)]) | CombinePerKey(sum)
    ...     _ = totals | hr.io.WriteToDelta(table, key="place", columns=["place", "total"])
    >>> sorted(row["total"] for row in deltalake.DeltaTable(table).to_pyarrow_table().to_pylist())
    [7, 8]
    """

    def __init__(
        self,
        table: str | PathLike[str],
        *,
        key: str | Iterable[str] | None = None,
        columns: Iterable[Any] | None = None,
        types: Mapping[str, Any] | None = None,
        windows: bool | None = None,
        partition_by: str | Iterable[str] | None = None,
        target_file_size: int = TARGET_BYTES,
        optimize: int = 0,
        schema_evolution: bool = False,
        delivery: Delivery = Delivery.EXACTLY_ONCE,
        storage_options: Mapping[str, str | Secret] | None = None,
    ) -> None:
        delta()
        options = LakeOptions(
            key=key,
            columns=columns,
            types=types,
            windows=windows,
            partition_by=partition_by,
            target_file_size=target_file_size,
            optimize=optimize,
            schema_evolution=schema_evolution,
            delivery=delivery,
        )
        found = DeltaLakeTable(fspath(table), dict(storage_options or {}))
        super().__init__(found, found.dataset.rstrip("/").rpartition("/")[2], options)


class WriteToIceberg(WriteToLake):
    """Writes a collection to a table of an Iceberg catalog, with the package pyiceberg.

    The semantics are those of :class:`WriteToDelta`. The number of a batch is in a property of the table and
    in the summary of the snapshot. A merge writes again the data files that have rows of its keys (copy on
    write).

    Args:
        table: name of the table, with its namespace: ``shop.totals``. It is created with the first rows if it
            does not exist, and so is its namespace.
        catalog: name of the catalog.
        catalog_properties: properties of pyiceberg for the catalog, such as ``type``, ``uri``, ``warehouse``
            and credentials; by default those of pyiceberg's own configuration. They are not displayed.
            A value can be an ``hr.io.Secret``.
        location: where a new table is; by default the catalog chooses.
        key: see :class:`WriteToDelta`, as for the other arguments.
        columns: the columns to write.
        types: Python types or pyarrow types by column, used to create the table.
        windows: whether to add the bounds of the element's window.
        partition_by: the column or columns by which a new table is partitioned. A table that exists can also
            be partitioned by parts of a time.
        target_file_size: the size from which on rows go to a further file, in bytes.
        optimize: number of batches after which small files are joined; 0 for never.
        schema_evolution: whether a new column of the elements is added to the table.
        delivery: exactly once, or at least once, which stores no numbers of batches.

    Raises:
        PipelineError: the arguments contradict each other, or pyiceberg or pyarrow is not installed.

    >>> import tempfile
    >>> from pyiceberg.catalog import load_catalog
    >>> folder = tempfile.mkdtemp()
    >>> properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder}
    >>> with Pipeline() as p:
    ...     totals = p | Create([("quay", 5), ("weir", 7), ("quay", 3)]) | CombinePerKey(sum)
    ...     _ = totals | hr.io.WriteToIceberg(
    ...         "shop.totals",
    ...         catalog_properties=properties,
    ...         key="place",
    ...         columns=["place", "total"],
    ...     )
    >>> rows = load_catalog("default", **properties).load_table("shop.totals").scan().to_arrow()
    >>> sorted(rows["total"].to_pylist())
    [7, 8]
    """

    def __init__(
        self,
        table: str,
        *,
        catalog: str = "default",
        catalog_properties: Mapping[str, str | Secret] | None = None,
        location: str | None = None,
        key: str | Iterable[str] | None = None,
        columns: Iterable[Any] | None = None,
        types: Mapping[str, Any] | None = None,
        windows: bool | None = None,
        partition_by: str | Iterable[str] | None = None,
        target_file_size: int = TARGET_BYTES,
        optimize: int = 0,
        schema_evolution: bool = False,
        delivery: Delivery = Delivery.EXACTLY_ONCE,
    ) -> None:
        iceberg()
        if "." not in table:
            raise PipelineError(
                f"the table {table!r} has no namespace", remedy=f'write it like "shop.{table}"'
            )
        options = LakeOptions(
            key=key,
            columns=columns,
            types=types,
            windows=windows,
            partition_by=partition_by,
            target_file_size=target_file_size,
            optimize=optimize,
            schema_evolution=schema_evolution,
            delivery=delivery,
        )
        found = IcebergLakeTable(table, catalog, dict(catalog_properties or {}), location)
        super().__init__(found, table, options)
