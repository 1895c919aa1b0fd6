"""Iceberg tables, through the package pyiceberg and any of its catalogs.

A batch is one commit of the catalog. Its number is in the summary of the snapshot, for people to read, and
in a property of the table, which is set by the same commit and outlives the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs

from headrace.errors import UnsupportedError, require_extra
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.lake.arrow_columns import normal
from headrace.sdk.io.lake.data_files import DataFile, Partitioning, Storage, value_of
from headrace.sdk.io.lake.iceberg_merge import Replaced, compacted, merged
from headrace.sdk.io.lake.lake_table import ConflictError, Mark
from headrace.sdk.io.lake.net_rows import NetRows
from headrace.sdk.io.secret import Secret, resolved

RETRIES: Final = "commit.retry.num-retries"
"""Property with the number of times that the package itself repeats a commit."""


def iceberg(module: str = "pyiceberg.catalog") -> Any:
    """Return a module of the package pyiceberg.

    Raises:
        PipelineError: it is not installed.
    """
    return require_extra(module, "iceberg", "Iceberg tables are written with pyiceberg")


@attrs.define(eq=False)
class IcebergLakeTable:
    """An Iceberg table of a catalog.

    Args:
        name: name of the table, with its namespace.
        catalog: name of the catalog.
        properties: properties of the catalog, which can hold credentials.
        location: where a new table is; None for the catalog's choice.
    """

    name: str
    catalog: str
    properties: Mapping[str, str | Secret] = attrs.field(repr=False)
    location: str | None = None
    _loaded: Any = attrs.field(default=None, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the catalog's connections."""
        return IcebergLakeTable, (self.name, self.catalog, self.properties, self.location)

    @property
    def dataset(self) -> str:
        """The catalog and the table."""
        return f"iceberg:{self.catalog}/{self.name}"

    def storage(self) -> Storage:
        """Return where the files are: in the folder ``data`` of the table's location."""
        version = self.find()
        if version is not None:
            return version.storage
        return self._storage(self._planned_location())

    def planned(self, partition_by: tuple[str, ...]) -> Partitioning:
        """Return how rows of a new table are divided into partitions."""
        return Partitioning.by(partition_by, stored=True)

    def find(self) -> IcebergVersion | None:
        """Return the current version of the table; None if it does not exist."""
        missing = iceberg("pyiceberg.exceptions").NoSuchTableError
        try:
            table = self._catalog().load_table(self.name)
        except missing:
            return None
        # Its own retries would not look at the number of the batch again.
        table.metadata.properties[RETRIES] = "0"
        return IcebergVersion(table, _storage(table.location(), table.io))

    def create(self, schema: Any, partition_by: tuple[str, ...]) -> None:
        """Create the table, and its namespace, without rows; raise ConflictError if the table exists."""
        exceptions = iceberg("pyiceberg.exceptions")
        staged = self._staged(schema)
        if partition_by:
            with staged.update_spec() as spec:
                for column in partition_by:
                    spec.add_identity(column)
        try:
            staged.commit_transaction()
        except (exceptions.TableAlreadyExistsError, exceptions.CommitFailedException) as error:
            raise ConflictError(str(error)) from error

    def _catalog(self) -> Any:
        if self._loaded is None:
            self._loaded = iceberg().load_catalog(self.catalog, **resolved(self.properties))
        return self._loaded

    def _planned_location(self) -> str:
        """Return where the catalog would create the table."""
        found: str = self._staged(arrow().schema([])).table_metadata.location
        return found

    def _staged(self, schema: Any) -> Any:
        catalog = self._catalog()
        _create_namespace(catalog, self.name.rpartition(".")[0])
        return catalog.create_table_transaction(self.name, schema, self.location)

    def _storage(self, location: str) -> Storage:
        io = iceberg("pyiceberg.io").load_file_io(self._catalog().properties, location)
        return _storage(location, io)


def _create_namespace(catalog: Any, namespace: str) -> None:
    """Create a namespace if it does not exist; another writer may do so at the same time.

    A catalog in a database looks first and then inserts, so it can fail with an error of the database.
    """
    try:
        catalog.create_namespace_if_not_exists(namespace)
    except Exception:
        if not catalog.namespace_exists(namespace):
            raise


def _storage(location: str, io: Any) -> Storage:
    return Storage(
        f"{location.rstrip('/')}/data/",
        lambda path: io.new_output(path).create(overwrite=True),
        lambda path: io.new_input(path).open(),
        io.delete,
    )


@attrs.frozen(eq=False)
class IcebergVersion:
    """A version of an Iceberg table.

    Args:
        table: the handle of the package.
        storage: where its files are.
    """

    table: Any
    storage: Storage

    @property
    def schema(self) -> Any:
        """The Arrow schema of the table."""
        fields = self.table.schema().as_arrow()
        return arrow().schema([(f.name, normal(f.type), f.nullable) for f in fields])

    @property
    def partitioning(self) -> Partitioning:
        """The partition fields, whose values are computed from columns."""
        schema, fields = self.table.schema(), self.table.spec().fields
        sources = [schema.find_field(field.source_id) for field in fields]
        columns = tuple(map(_transformed, fields, sources))
        return Partitioning(columns, stored=True, names=tuple(source.name for source in sources))

    def check(self) -> None:
        """Refuse a table whose partitions cannot be told from the bounds of a file.

        Raises:
            UnsupportedError: the table has such a partition field.
        """
        for field in self.table.spec().fields:
            if not field.transform.preserves_order:
                raise UnsupportedError(
                    f"the partition field {field.name!r} of the table is not in the order of its column",
                    remedy="partition the table by a column itself, or by a part of a time",
                )

    def last_batch(self, writer: str) -> int | None:
        """Return the number of the last batch that a writer committed."""
        found = self.table.metadata.properties.get(writer)
        return None if found is None else int(found)

    def add_columns(self, fields: Sequence[Any]) -> None:
        """Add columns that can be None."""
        with self._transaction() as transaction, transaction.update_schema() as update:
            update.union_by_name(arrow().schema(list(fields)))

    def append(self, files: Sequence[DataFile], mark: Mark) -> None:
        """Add data files to the table, in one commit with the number of the batch."""
        self._replace(Replaced([], list(files)), mark)

    def merge(self, rows: NetRows, mark: Mark, target_bytes: int) -> None:
        """Apply net changes by key, in one commit with the number of the batch."""
        self._replace(merged(self, rows, target_bytes), mark)

    def compact(self, target_bytes: int) -> None:
        """Join small data files, in a commit of its own."""
        replaced = compacted(self, target_bytes)
        if replaced.removed:
            self._replace(replaced, None)

    def _replace(self, replaced: Replaced, mark: Mark | None) -> None:
        recorded = mark is not None and mark.recorded
        properties = {mark.writer: str(mark.batch)} if mark is not None and recorded else {}
        metadata = iceberg("pyiceberg.io.pyarrow").parquet_files_to_data_files
        with self._transaction() as transaction:
            _name_columns(transaction)
            if properties:
                transaction.set_properties(properties)
            update = transaction.update_snapshot(snapshot_properties=properties)
            with update.overwrite() if replaced.removed else update.fast_append() as snapshot:
                for removed in replaced.removed:
                    snapshot.delete_data_file(removed)
                paths = [file.path for file in replaced.added]
                for added in metadata(self.table.io, transaction.table_metadata, iter(paths)):
                    snapshot.append_data_file(added)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        exceptions = iceberg("pyiceberg.exceptions")
        try:
            with self.table.transaction() as transaction:
                yield transaction
        except (
            exceptions.CommitFailedException,
            exceptions.CommitStateUnknownException,
            exceptions.ValidationException,
        ) as error:
            raise ConflictError(str(error)) from error


def _name_columns(transaction: Any) -> None:
    """Say in the table that files without numbers of columns have the columns by their names."""
    metadata = transaction.table_metadata
    if metadata.name_mapping() is None:
        mapping = metadata.schema().name_mapping.model_dump_json()
        transaction.set_properties({"schema.name-mapping.default": mapping})


def _transformed(field: Any, source: Any) -> Callable[[Any], Any]:
    transform = field.transform.pyarrow_transform(source.field_type)
    return lambda table: transform(value_of(table, source.name))
