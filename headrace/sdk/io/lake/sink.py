"""A sink of tables in files: workers write Parquet files, and one commit adds or merges those of a batch.

The number of the batch is in the same commit, and is looked up before each attempt. So a batch that is
written again, by this process or by its replacement, changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.lake.arrow_columns import ArrowType, declared_types, window_types
from headrace.sdk.io.lake.data_files import (
    TARGET_BYTES,
    DataFile,
    Partitioning,
    Storage,
    written,
)
from headrace.sdk.io.lake.lake_table import ConflictError, LakeTable, LakeVersion, Mark
from headrace.sdk.io.lake.net_rows import conform, net_rows
from headrace.sdk.io.lake.parts import arrow_table, counted, names_of, with_counts
from headrace.sdk.io.lake.table_schema import (
    WrittenPart,
    check_columns,
    new_columns,
    schema_of_new_table,
    unknown_column,
)
from headrace.sdk.io.table.rows import Pattern, RowValues, Shape
from headrace.sdk.sources.delivery import Delivery
from headrace.sdk.sources.sink import Commit, PartSink, SinkPart

COMMIT_ATTEMPTS: Final = 20
"""Number of times that a batch is tried if other writers change the table."""

_FIRST_WAIT: Final = 0.05
_LONGEST_WAIT: Final = 1.0


@attrs.frozen(eq=False)
class LakeSink(PartSink):
    """Applies batches to a table in files.

    Args:
        table: the table.
        key: columns of the key; if empty, rows are only added.
        pattern: the columns to write; None for all.
        types: Arrow types of columns that a user gives.
        windows: whether to add columns for the bounds of the window.
        partition_by: columns by which a new table is partitioned.
        target_bytes: the size of data files, in bytes.
        optimize: number of batches after which small files are joined; 0 for never.
        evolves: whether new columns of elements are added to the table.
        changing: whether the collection can have retractions.
    """

    table: LakeTable
    key: tuple[str, ...] = ()
    pattern: tuple[Pattern, ...] | None = None
    types: Mapping[str, ArrowType] = attrs.field(factory=dict)
    windows: bool = False
    partition_by: tuple[str, ...] = ()
    target_bytes: int = TARGET_BYTES
    optimize: int = 0
    evolves: bool = False
    changing: bool = True

    accepts_retractions: ClassVar[bool] = True
    delivery: ClassVar[Delivery] = Delivery.EXACTLY_ONCE
    deliveries: ClassVar[tuple[Delivery, ...]] = (Delivery.EXACTLY_ONCE, Delivery.AT_LEAST_ONCE)

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The table, without secrets."""
        return self.table.dataset

    def with_element_type(self, kind: object) -> Self:
        return attrs.evolve(self, types=declared_types(kind) | dict(self.types))

    def open(self) -> None:
        version = self.table.find()
        if version is not None:
            self._check(version)

    def write_part(self, part: SinkPart) -> tuple[Any, ...]:
        """Write the rows of a part to files that no table has yet."""
        shape = Shape(self.pattern, self.key, self.windows, fixed=not self.evolves)
        rows, diffs = shape.rows(part.bundle, part.step)
        identities, counts = [b""] * len(rows), [1] * len(rows)
        if self.key:
            rows, identities, counts = counted(rows, diffs, self.key, self.changing, part.step)
        if not rows:
            return ()
        version = self.table.find()
        names = names_of(rows) if self.evolves else tuple(rows[0])
        types = self._known_types(version, rows, part.step)
        partitioning = self._partitioning(version)
        if version is not None and not self.key and set(names) <= set(partitioning.names):
            names += _other_column(version)  # a file has rows only if it has a column
        table = arrow_table(rows, names, types, partitioning.names, part.step)
        if version is None:
            _check_new(names, table.schema, partitioning, self.key)
        storage = self.table.storage()
        if self.key:
            files = [storage.write(with_counts(table, identities, counts), "staged")]
        else:
            files = written(table, storage, partitioning, self.target_bytes)
        schema = table.schema.serialize().to_pybytes()
        return [tuple(file) for file in files], names, schema, shorten(rows[0])

    def commit(self, commit: Commit) -> None:
        """Add or merge the parts of a batch, unless the batch was committed before."""
        parts = [
            WrittenPart(tuple(DataFile(*file) for file in files), *rest)
            for files, *rest in filter(None, commit.written)
        ]
        if not parts:
            return
        recorded = bool(commit.run) and commit.delivery is Delivery.EXACTLY_ONCE
        mark = Mark(f"headrace/{commit.run}/{commit.step}", commit.id, recorded)
        self._try(parts, mark, commit.step)
        if self.optimize and (commit.id + 1) % self.optimize == 0:
            self._compact()

    def _try(self, parts: Sequence[WrittenPart], mark: Mark, step: str) -> None:
        wait = _FIRST_WAIT
        for attempt in range(COMMIT_ATTEMPTS):
            version = self.table.find()
            last = None if version is None or not mark.recorded else version.last_batch(mark.writer)
            if last is not None and last >= mark.batch:
                self._forget(parts, all_of_them=attempt == 0)
                return
            try:
                self._commit(self._prepared(version, parts, step), parts, mark)
            except ConflictError as error:
                problem = error
            else:
                return
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        raise ConflictError(
            f"other writers changed the table {self.dataset} during all {COMMIT_ATTEMPTS} attempts to commit",
            where=step,
            remedy="let them write less often, or write to a table of your own",
        ) from problem

    def _forget(self, parts: Sequence[WrittenPart], all_of_them: bool) -> None:
        """Delete the files of a batch that the table has; not data files that an attempt may have added."""
        if self.key or all_of_them:
            storage = self.table.storage()
            for part in parts:
                storage.remove(part.files)

    def _prepared(
        self, version: LakeVersion | None, parts: Sequence[WrittenPart], step: str
    ) -> LakeVersion:
        """Return a version of the table that has the columns of a batch."""
        if version is None:
            schema = schema_of_new_table(parts, step)
            self.table.create(schema, self.partition_by)
            return self._found()
        self._check(version)
        new = new_columns(version.schema, parts, self.evolves, step)
        if new:
            version.add_columns(new)
            return self._found()
        return version

    def _found(self) -> LakeVersion:
        version = self.table.find()
        if version is None:
            raise ConflictError(f"the table {self.dataset} was removed")
        return version

    def _commit(self, version: LakeVersion, parts: Sequence[WrittenPart], mark: Mark) -> None:
        storage = self.table.storage()
        if not self.key:
            files = [file for part in parts for file in _fitting(part, version, storage)]
            version.append(files, mark)
            return
        names = {name for part in parts for name in part.schema().names}
        schema = arrow().schema([field for field in version.schema if field.name in names])
        staged = [file for part in parts for file in part.files]
        rows = net_rows(storage, staged, schema, self.key)
        if len(rows):
            version.merge(rows, mark, self.target_bytes)
        storage.remove(staged)

    def _compact(self) -> None:
        version = self.table.find()
        if version is not None:
            try:
                version.compact(self.target_bytes)
            except ConflictError:
                return  # the next time will do

    def _check(self, version: LakeVersion) -> None:
        """Check that the table can be written with these arguments."""
        version.check()
        found = version.partitioning.names
        if self.partition_by and found != self.partition_by:
            raise PipelineError(
                f"the table {self.dataset} is partitioned by {list(found)}, not by {list(self.partition_by)}",
                remedy="remove partition_by, which is for new tables, or write to another table",
            )
        check_columns(version.schema, self.key, "key column")

    def _known_types(
        self, version: LakeVersion | None, rows: Sequence[RowValues], step: str
    ) -> dict[str, ArrowType]:
        """Return the known types of columns; check that the table has all columns, or can get them."""
        types = window_types() | dict(self.types)
        if version is None:
            return types
        schema = version.schema
        types |= {field.name: field.type for field in schema}
        for name in rows[0]:
            if not self.evolves and name not in schema.names:
                raise unknown_column(shorten(rows[0]), name, schema.names, step)
        for field in schema:
            missing = (row for row in rows if row.get(field.name) is None)
            if not field.nullable and (row := next(missing, None)) is not None:
                raise ElementError(
                    f"the element {shorten(row)} has no value in the column {field.name!r}, which needs one",
                    where=step,
                    remedy="remove such elements with hr.Filter",
                )
        return types

    def _partitioning(self, version: LakeVersion | None) -> Partitioning:
        return self.table.planned(self.partition_by) if version is None else version.partitioning


def _check_new(
    names: Sequence[str], schema: Any, partitioning: Partitioning, key: Sequence[str]
) -> None:
    """Check that a table with these columns can be divided and searched."""
    pyarrow, partition_by = arrow(), partitioning.names
    if not partitioning.stored and set(names) <= set(partition_by):
        raise PipelineError(
            f"the table is partitioned by all its columns, {', '.join(names)}, so its files have none",
            remedy="partition it by fewer columns",
        )
    kinds = {name: pyarrow.null() for name in names} | {f.name: f.type for f in schema}
    check_columns(pyarrow.schema(list(kinds.items())), partition_by, "partition column")
    check_columns(schema, key, "key column")


def _other_column(version: LakeVersion) -> tuple[str, ...]:
    """Return a column of the table by which it is not partitioned."""
    others = (n for n in version.schema.names if n not in version.partitioning.names)
    return tuple(others)[:1]


def _fitting(part: WrittenPart, version: LakeVersion, storage: Storage) -> list[DataFile]:
    """Return the files of a part with the types and partitions of the table, written again if they differ."""
    schema = part.schema()
    fields = [version.schema.field(name) for name in schema.names]
    stored = set(schema.names) - (
        set() if version.partitioning.stored else set(version.partitioning.names)
    )
    if all(schema.field(field.name).type == field.type for field in fields if field.name in stored):
        return list(part.files)
    wanted = arrow().schema([field for field in fields if field.name in stored])
    files = []
    for file in part.files:
        rows = conform(storage.read(file.path), wanted)
        files.append(storage.write(rows, "part", file.partition))
        storage.remove([file])
    return files
