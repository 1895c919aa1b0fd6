"""Which files of an Iceberg table a merge or a compaction replaces, and with what: copy on write.

A data file that has a row of one of the keys is written again without the rows that are replaced or
deleted. Other files stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from headrace.errors import require_extra
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.lake.compaction import LiveFile, joinable
from headrace.sdk.io.lake.data_files import DataFile, Partitioning, Storage, written
from headrace.sdk.io.lake.net_rows import AT, NetRows, conform
from headrace.sdk.io.lake.parts import identity

_INDEX: Final = "__headrace_index"
_DELETES: Final = "__headrace_deletes"
_BOUNDED: Final = (int, str)


class Replaced(NamedTuple):
    """Files of a table to remove, and files to add.

    Attributes:
        removed: data files of the package.
        added: files that were written.
    """

    removed: list[Any]
    added: list[DataFile]


class ReadsFiles(Protocol):
    """A version of a table whose files can be read."""

    @property
    def table(self) -> Any:
        """The handle of the package."""

    @property
    def storage(self) -> Storage:
        """Where its files are."""

    @property
    def schema(self) -> Any:
        """The Arrow schema of the table."""

    @property
    def partitioning(self) -> Partitioning:
        """How rows are divided into partitions."""


def merged(version: ReadsFiles, rows: NetRows, target_bytes: int) -> Replaced:
    """Write the files of a merge: rows that stay of the files it concerns, and the new rows.

    Args:
        version: the version of the table.
        rows: the net changes.
        target_bytes: the size from which on rows go to a further file, in bytes of memory.
    """
    removed: list[Any] = []
    added: list[DataFile] = []
    others = [name for name in version.schema.names if name not in rows.schema.names]
    kept_values: list[Any] = []
    write = partial(
        written,
        storage=version.storage,
        partitioning=version.partitioning,
        target_bytes=target_bytes,
    )
    changes = _changes(rows)
    for task in _tasks(version, _filter(rows.key, changes)):
        found = _matches(read(version, task, rows.key), rows.key, changes)
        if not found.num_rows:
            continue
        content = read(version, task)
        replaced = _replaced(content, found, rows)
        if not replaced.num_rows:
            continue
        removed.append(task.file)
        added += write(_without(content, replaced[_INDEX]))
        kept_values.append(_other_values(content, replaced, others))
    for table in rows.tables(rows.writes):
        added += write(_filled(table, kept_values, others, version.schema))
    return Replaced(removed, added)


def _changes(rows: NetRows) -> Any:
    """Return the keys of all changes, with positions, and whether they are deletions."""
    pyarrow = arrow()
    tables = []
    for deletes, positions in ((False, rows.writes), (True, rows.deletes)):
        for table in rows.tables(positions):
            flags = pyarrow.array([deletes] * table.num_rows, pyarrow.bool_())
            tables.append(table.select([*rows.key, AT]).append_column(_DELETES, flags))
    return pyarrow.concat_tables(tables)


def _filter(key: Sequence[str], changes: Any) -> Any:
    """Return a filter that skips files without any of the keys, by the bounds of each column of the key."""
    expressions = require_extra(
        "pyiceberg.expressions", "iceberg", "Iceberg tables are pyiceberg's"
    )
    found = expressions.AlwaysTrue()
    for name in key:
        bounds = arrow("pyarrow.compute").min_max(changes[name]).as_py()
        if type(bounds["min"]) in _BOUNDED:
            least = expressions.GreaterThanOrEqual(name, bounds["min"])
            largest = expressions.LessThanOrEqual(name, bounds["max"])
            found = expressions.And(found, expressions.And(least, largest))
    return found


def _tasks(version: ReadsFiles, row_filter: Any = None) -> Iterator[Any]:
    if version.table.current_snapshot() is None:
        return iter(())
    scan = version.table.scan() if row_filter is None else version.table.scan(row_filter)
    return iter(scan.plan_files())


def read(version: ReadsFiles, task: Any, columns: Sequence[str] | None = None) -> Any:
    """Return the rows of a data file, without those that other engines have marked as deleted.

    Args:
        version: the version of the table.
        task: the file.
        columns: the columns to read; all by default.
    """
    reading = require_extra("pyiceberg.io.pyarrow", "iceberg", "Iceberg tables are pyiceberg's")
    expressions = require_extra(
        "pyiceberg.expressions", "iceberg", "Iceberg tables are pyiceberg's"
    )
    schema = version.table.schema()
    scan = reading.ArrowScan(
        version.table.metadata,
        version.table.io,
        schema if columns is None else schema.select(*columns),
        expressions.AlwaysTrue(),
    )
    names = version.schema.names if columns is None else columns
    types = arrow().schema([version.schema.field(name) for name in names])
    return conform(scan.to_table([task]), types)


def _matches(keys: Any, key: Sequence[str], changes: Any) -> Any:
    """Return which rows of a file have the key of a change: index, position and whether it is a deletion."""
    pyarrow = arrow()
    indexed = keys.append_column(_INDEX, pyarrow.array(range(keys.num_rows), pyarrow.int64()))
    return indexed.join(changes, list(key), join_type="inner").select([_INDEX, AT, _DELETES])


def _replaced(content: Any, found: Any, rows: NetRows) -> Any:
    """Return the matches that remove a row: all writes, and deletions of rows that have not changed."""
    compute = arrow("pyarrow.compute")
    deletes = found.filter(found[_DELETES])
    if not deletes.num_rows:
        return found
    names = rows.schema.names
    order = compute.unique(deletes[AT]).sort()
    expected = dict(zip(order.to_pylist(), _identities(rows.tables(order), names), strict=True))
    current = _identities([content.take(deletes[_INDEX])], names)
    same = [expected[at] == row for at, row in zip(deletes[AT].to_pylist(), current, strict=True)]
    pyarrow = arrow()
    return pyarrow.concat_tables(
        [found.filter(compute.invert(found[_DELETES])), deletes.filter(pyarrow.array(same))]
    )


def _identities(tables: Any, names: Sequence[str]) -> list[bytes]:
    return [identity(row) for table in tables for row in table.select(list(names)).to_pylist()]


def _without(content: Any, indices: Any) -> Any:
    pyarrow, compute = arrow(), arrow("pyarrow.compute")
    every = pyarrow.array(range(content.num_rows), pyarrow.int64())
    return content.filter(compute.invert(compute.is_in(every, indices.combine_chunks())))


def _other_values(content: Any, replaced: Any, others: Sequence[str]) -> Any:
    """Return the values of the columns that are not written, by the position of the new row."""
    values = {name: content[name].take(replaced[_INDEX]) for name in others}
    return arrow().table(values | {AT: replaced[AT]})


def _filled(table: Any, kept_values: list[Any], others: Sequence[str], schema: Any) -> Any:
    """Return new rows with the values that the replaced rows had in the columns that are not written."""
    if others and kept_values:
        kept = arrow().concat_tables(kept_values)
        places = arrow("pyarrow.compute").index_in(table[AT], kept[AT].combine_chunks())
        for name in others:
            table = table.append_column(name, kept[name].take(places))
    return conform(table, schema)


def compacted(version: ReadsFiles, target_bytes: int) -> Replaced:
    """Write the small files of each partition again, joined.

    Args:
        version: the version of the table.
        target_bytes: the size up to which files are joined.
    """
    files = [
        LiveFile((task.file.spec_id, repr(task.file.partition)), task.file.file_size_in_bytes, task)
        for task in _tasks(version)
    ]
    removed: list[Any] = []
    added: list[DataFile] = []
    for joined in joinable(files, target_bytes):
        rows = arrow().concat_tables([read(version, file.handle) for file in joined])
        removed += [file.handle.file for file in joined]
        added += written(rows, version.storage, version.partitioning, max(rows.nbytes, 1))
    return Replaced(removed, added)
