"""Data files: an Arrow table as Parquet files, divided by partition and at a target size.

The name of a file is new each time, so a part that is written again cannot touch a file that a table has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final, NamedTuple
from uuid import uuid4

import attrs

from headrace.sdk.io.formats.parquet.arrow import arrow

TARGET_BYTES: Final = 128 << 20
"""The default size from which on rows go to a further file, in bytes of memory."""


class DataFile(NamedTuple):
    """A Parquet file that was written, as plain data.

    Attributes:
        path: where it is.
        size: its size in bytes.
        rows: number of rows.
        partition: values of the partition columns, as text.
        stats: number of rows, and smallest, largest and missing values by column, as JSON.

    >>> DataFile("part.parquet", 120, 3).partition
    ()
    """

    path: str
    size: int
    rows: int
    partition: tuple[str | None, ...] = ()
    stats: str = "{}"


@attrs.frozen
class Storage:
    """Where the files of a table are.

    Attributes:
        data: the beginning of the paths of data files.
        create: opens a new file to write to.
        open: opens a file to read from.
        delete: deletes a file.
    """

    data: str
    create: Callable[[str], AbstractContextManager[Any]]
    open: Callable[[str], AbstractContextManager[Any]]
    delete: Callable[[str], object]

    def write(self, table: Any, kind: str, partition: tuple[str | None, ...] = ()) -> DataFile:
        """Write an Arrow table to a new file.

        Args:
            table: the rows.
            kind: the beginning of the name of the file.
            partition: the values of the partition columns.
        """
        path = f"{self.data}{kind}-{uuid4()}.parquet"
        with self.create(path) as file:
            metadata: list[Any] = []
            arrow("pyarrow.parquet").write_table(table, file, metadata_collector=metadata)
            size = file.tell()
        return DataFile(path, size, table.num_rows, partition, json.dumps(_stats(metadata[0])))

    def read(self, path: str, columns: Sequence[str] | None = None) -> Any:
        """Read a file as an Arrow table."""
        with self.open(path) as file:
            names = None if columns is None else list(columns)
            return arrow("pyarrow.parquet").ParquetFile(file).read(names)

    def remove(self, files: Sequence[DataFile]) -> None:
        """Delete files, as far as they are there."""
        for file in files:
            with suppress(OSError):
                self.delete(file.path)


@attrs.frozen
class Partitioning:
    """How rows are divided into partitions.

    Attributes:
        columns: for each partition column, a function of the table that returns its values.
        stored: whether data files hold the partition columns.
        names: the names of the partition columns.
    """

    columns: tuple[Callable[[Any], Any], ...] = ()
    stored: bool = True
    names: tuple[str, ...] = ()

    @classmethod
    def by(cls, names: Sequence[str], stored: bool) -> Partitioning:
        """Return the division by the values of columns.

        >>> Partitioning.by(["day"], stored=False).names
        ('day',)
        """
        return cls(tuple(map(_column, names)), stored, tuple(names))

    def divided(self, table: Any) -> Iterator[tuple[tuple[str | None, ...], Any]]:
        """Divide a table: the values of the partition columns, as text, and the rows of each partition."""
        if not self.columns:
            yield (), table
            return
        pyarrow = arrow()
        values = pyarrow.table(
            [column(table) for column in self.columns], [str(i) for i in range(len(self.columns))]
        )
        order = arrow("pyarrow.compute").sort_indices(
            values, sort_keys=[(name, "ascending") for name in values.column_names]
        )
        rows = zip(*(column.to_pylist() for column in values.take(order).columns), strict=True)
        table = table.take(order)
        if not self.stored:
            table = table.drop_columns([n for n in self.names if n in table.column_names])
        start = 0
        for found, run in groupby(rows):
            length = len(list(run))
            yield tuple(map(as_text, found)), table.slice(start, length)
            start += length


def written(
    table: Any, storage: Storage, partitioning: Partitioning, target_bytes: int
) -> list[DataFile]:
    """Write the rows of a table to data files.

    Args:
        table: the rows, as an Arrow table.
        storage: where the files of the table are.
        partitioning: how rows are divided.
        target_bytes: the size from which on rows go to a further file, in bytes of memory.
    """
    files = []
    for partition, rows in partitioning.divided(table):
        most = max(1, int(rows.num_rows * target_bytes / max(1, rows.nbytes)))
        for start in range(0, rows.num_rows, most):
            files.append(storage.write(rows.slice(start, most), "part", partition))
    return files


def _column(name: str) -> Callable[[Any], Any]:
    return lambda table: value_of(table, name)


def value_of(table: Any, name: str) -> Any:
    """Return a column of a table, which is None everywhere if the table does not have it."""
    if name in table.column_names:
        return table[name]
    return arrow().nulls(table.num_rows, arrow().string())


def as_text(value: Any) -> str | None:
    """Return the text of a value of a partition column.

    >>> as_text(True), as_text(date(2013, 1, 1)), as_text(None)
    ('true', '2013-01-01', None)
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return value.isoformat() if isinstance(value, date) else str(value)


def _stats(metadata: Any) -> dict[str, Any]:
    """Return the number of rows of a file, and the bounds of columns whose bounds are exact."""
    least: dict[str, Any] = {}
    largest: dict[str, Any] = {}
    missing: dict[str, int] = {}
    for index in range(metadata.num_columns):
        name = metadata.schema.column(index).path
        found = [
            metadata.row_group(group).column(index).statistics
            for group in range(metadata.num_row_groups)
        ]
        if "." in name or not all(each is not None and each.has_null_count for each in found):
            continue
        missing[name] = sum(each.null_count for each in found)
        bounded = [each for each in found if each.has_min_max]
        if len(bounded) == len(found) and all(_is_exact(each.min) for each in bounded):
            least[name] = _in_json(min(each.min for each in bounded))
            largest[name] = _in_json(max(each.max for each in bounded))
    return {
        "numRecords": metadata.num_rows,
        "minValues": least,
        "maxValues": largest,
        "nullCount": missing,
    }


def _is_exact(value: object) -> bool:
    return type(value) in (int, str, date)


def _in_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
