"""Delta tables, through the package deltalake.

A batch is one entry of the table's log. Its number is in the entry, as the version of an *application
transaction*: the format's own way to say who wrote what.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import attrs

from headrace.errors import UnsupportedError, require_extra
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.lake.arrow_columns import normal
from headrace.sdk.io.lake.compaction import LiveFile, joinable
from headrace.sdk.io.lake.data_files import DataFile, Partitioning, Storage, as_text
from headrace.sdk.io.lake.lake_table import ConflictError, Mark
from headrace.sdk.io.lake.net_rows import AT, NetRows, conform
from headrace.sdk.io.secret import Secret, resolved

OPERATION: Final = "__headrace_op"
"""Column of the merge's source: 1 for a row to write, -1 for a row to delete."""

_PLAIN_PATH: Final = re.compile("[A-Za-z0-9_./=%-]+")
"""Paths that the package is known to write into the log as they were; others are not compacted."""

_GENERATED: Final = "delta.generationExpression"

FEW: Final = 100_000
"""Number of rows up to which a merge looks at its source first, to skip files that cannot match."""


def delta(module: str = "deltalake") -> Any:
    """Return the package deltalake, or one of its modules.

    Raises:
        PipelineError: it is not installed.
    """
    return require_extra(module, "delta", "Delta tables are written with deltalake")


def without_secrets(uri: str) -> str:
    """Return a path or URL without user, password and parameters.

    >>> without_secrets("s3://me:password@bucket/sales?token=1")
    's3://bucket/sales'
    """
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return uri
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


@attrs.define(eq=False)
class DeltaLakeTable:
    """A Delta table at a URI.

    Args:
        uri: a path or URL.
        options: options of the storage, such as credentials.
    """

    uri: str = attrs.field(repr=lambda uri: repr(without_secrets(uri)))
    options: Mapping[str, str | Secret] = attrs.field(factory=dict, repr=False)
    _handle: Any = attrs.field(default=None, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the handle."""
        return DeltaLakeTable, (self.uri, self.options)

    @property
    def dataset(self) -> str:
        """The URI, without secrets."""
        return without_secrets(self.uri)

    def storage(self) -> Storage:
        """Return where the files are: beside the log."""
        if "://" not in self.uri:
            Path(self.uri).mkdir(parents=True, exist_ok=True)
        fs = arrow("pyarrow.fs")
        handler = delta("deltalake.fs").DeltaStorageHandler(self.uri, resolved(self.options))
        files = fs.PyFileSystem(handler)
        return Storage("", files.open_output_stream, files.open_input_file, files.delete_file)

    def planned(self, partition_by: tuple[str, ...]) -> Partitioning:
        """Return how rows of a new table are divided into partitions."""
        return Partitioning.by(partition_by, stored=False)

    def find(self) -> DeltaVersion | None:
        """Return the current version of the table; None if it does not exist."""
        exceptions = delta("deltalake.exceptions")
        if self._handle is not None:
            try:
                self._handle.update_incremental()
            except exceptions.DeltaError:
                self._handle = None  # the log was cleaned up or replaced
        if self._handle is None:
            try:
                self._handle = delta().DeltaTable(self.uri, storage_options=resolved(self.options))
            except exceptions.TableNotFoundError:
                return None
        return DeltaVersion(self._handle, self.storage())

    def create(self, schema: Any, partition_by: tuple[str, ...]) -> None:
        """Create the table without rows; raise ConflictError if it exists."""
        try:
            delta().DeltaTable.create(
                self.uri,
                schema,
                partition_by=list(partition_by),
                storage_options=resolved(self.options),
            )
        except delta("deltalake.exceptions").DeltaError as error:
            if self.find() is None:
                raise
            raise ConflictError(str(error)) from error


@attrs.frozen(eq=False)
class DeltaVersion:
    """A version of a Delta table.

    Args:
        table: the handle of the package.
        storage: where its files are.
    """

    table: Any
    storage: Storage

    @property
    def schema(self) -> Any:
        """The Arrow schema of the table."""
        pyarrow = arrow()
        found = pyarrow.schema(self.table.schema().to_arrow())
        return pyarrow.schema([(f.name, normal(f.type), f.nullable) for f in found])

    def check(self) -> None:
        """Refuse a table with rules that the files of workers could break.

        Raises:
            UnsupportedError: the table has constraints or generated columns.
        """
        rules = [
            n for n in self.table.metadata().configuration if n.startswith("delta.constraints.")
        ]
        generated = (f.name for f in self.table.schema().fields if _GENERATED in f.metadata)
        rules += generated
        if rules:
            raise UnsupportedError(
                f"the Delta table has constraints or generated columns, which are not checked: {rules}",
                remedy="write to a table without them",
            )

    @property
    def partitioning(self) -> Partitioning:
        """The partition columns, which the data files do not hold."""
        return Partitioning.by(self.table.metadata().partition_columns, stored=False)

    def last_batch(self, writer: str) -> int | None:
        """Return the number of the last batch that a writer committed."""
        found: int | None = self.table.transaction_version(writer)
        return found

    def add_columns(self, fields: Sequence[Any]) -> None:
        """Add columns that can be None."""
        pyarrow = arrow()
        new = delta().Schema.from_arrow(pyarrow.schema(list(fields))).fields
        with _conflicts():
            self.table.alter.add_columns(new)

    def append(self, files: Sequence[DataFile], mark: Mark) -> None:
        """Add data files to the table, in one commit with the number of the batch."""
        now = time.time_ns() // 1_000_000
        actions = [self._addition(file, now, True) for file in files]
        self._write(actions, _properties(mark))

    def merge(self, rows: NetRows, mark: Mark, target_bytes: int) -> None:
        """Apply net changes by key, in one commit with the number of the batch."""
        names = rows.schema.names
        same = " AND ".join(f"({_of('t', n)} IS NOT DISTINCT FROM {_of('s', n)})" for n in names)
        found = " AND ".join(f"{_of('t', name)} = {_of('s', name)}" for name in rows.key)
        values = {_quoted(name): _of("s", name) for name in names}
        operation = _of("s", OPERATION)
        with _conflicts():
            merge = self.table.merge(
                _source(rows),
                # A row to delete matches only itself, so each row of the table has at most one match.
                f"{found} AND ({operation} = 1 OR ({same}))",
                source_alias="s",
                target_alias="t",
                streamed_exec=len(rows) > FEW,
                commit_properties=_properties(mark, alone=True),
            )
            merge = merge.when_matched_delete(f"{operation} = -1")
            merge = merge.when_matched_update(values, f"{operation} = 1")
            merge.when_not_matched_insert(values, f"{operation} = 1").execute()

    def compact(self, target_bytes: int) -> None:
        """Join small data files, in a commit of its own.

        The package's own compaction does not see that another one has removed the same files meanwhile.
        """
        now = time.time_ns() // 1_000_000
        actions: list[Any] = []
        for joined in joinable(self._files(), target_bytes):
            actions += [self._removal(file, now) for file in joined]
            rows = arrow().concat_tables([self._rows(file.handle) for file in joined])
            partition = joined[0].partition
            actions.append(self._addition(self.storage.write(rows, "part", partition), now, False))
        if actions:
            self._write(actions, delta().CommitProperties(max_commit_retries=0))

    def _files(self) -> Iterator[LiveFile]:
        """Yield the data files whose rows can be read without the log."""
        pyarrow, names = arrow(), self.partitioning.names
        marked = pyarrow.RecordBatchReader.from_stream(self.table.deletion_vectors()).read_all()
        if "delta.columnMapping.mode" in self.table.metadata().configuration or marked.num_rows:
            return
        for file in pyarrow.table(self.table.get_add_actions(flatten=True)).to_pylist():
            path = unquote(file["path"])
            if _PLAIN_PATH.fullmatch(path) and path.replace("%", "%25") == file["path"]:
                partition = tuple(as_text(file[f"partition.{name}"]) for name in names)
                yield LiveFile(partition, file["size_bytes"], path)

    def _rows(self, path: str) -> Any:
        names = self.partitioning.names
        fields = [field for field in self.schema if field.name not in names]
        return conform(self.storage.read(path), arrow().schema(fields))

    def _removal(self, file: LiveFile, now: int) -> Any:
        return delta("deltalake.transaction").RemoveAction(
            path=file.handle,
            data_change=False,
            deletion_timestamp=now,
            size=file.size,
            partition_values=dict(zip(self.partitioning.names, file.partition, strict=True)),
        )

    def _addition(self, file: DataFile, now: int, changes: bool) -> Any:
        return delta("deltalake.transaction").AddAction(
            path=file.path,
            size=file.size,
            partition_values=dict(zip(self.partitioning.names, file.partition, strict=True)),
            modification_time=now,
            data_change=changes,
            stats=file.stats,
        )

    def _write(self, actions: Sequence[Any], properties: Any) -> None:
        with _conflicts():
            self.table.create_write_transaction(
                list(actions),
                "append",
                self.table.schema(),
                list(self.partitioning.names),
                commit_properties=properties,
            )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _of(alias: str, name: str) -> str:
    return f"{alias}.{_quoted(name)}"


def _properties(mark: Mark, alone: bool = False) -> Any:
    """Return the properties of a commit.

    Args:
        mark: the number of the batch.
        alone: whether any commit of others in between is a conflict. The package itself does not see all that
            matters: it lets two compactions of the same files succeed.
    """
    transactions = [delta().Transaction(mark.writer, mark.batch)] if mark.recorded else None
    return delta().CommitProperties(
        app_transactions=transactions, max_commit_retries=0 if alone else None
    )


def _source(rows: NetRows) -> Any:
    """Return the rows of a merge as a stream of record batches."""
    pyarrow = arrow()
    operation = pyarrow.field(OPERATION, pyarrow.int8())
    schema = rows.schema.append(operation)

    def batches() -> Iterator[Any]:
        for sign, positions in ((1, rows.writes), (-1, rows.deletes)):
            for table in rows.tables(positions):
                signs = pyarrow.array([sign] * table.num_rows, pyarrow.int8())
                marked = conform(table.drop_columns([AT]), rows.schema)
                yield from marked.append_column(operation, signs).to_batches()

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


@contextmanager
def _conflicts() -> Iterator[None]:
    """Raise the package's errors about other writers as ConflictError."""
    try:
        yield
    except delta("deltalake.exceptions").CommitFailedError as error:
        raise ConflictError(str(error)) from error
