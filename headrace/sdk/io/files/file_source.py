"""File sources: what all formats have in common.

A format reads a file in chunks of columns (lists of values by name) and converts these to elements. A
runner with its own file reader uses the same conversion: it passes the columns that it has read and gets
the same bundles.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import attrs

from headrace.errors import FileError, PipelineError, TimeError, note_element, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.io.files.compression import compression_of
from headrace.sdk.io.files.file_places import UNKNOWN_PLACES, FilePlace, Places
from headrace.sdk.io.files.opening import is_compressed, matching, patterns_of, require_matching
from headrace.sdk.sources.source import BoundedSource, ReadsBundles
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.windowing.column import mapped
from headrace.windowing.time.timestamps import Timestamp, micros, micros_of_all
from headrace.windowing.timestamped_value import TimestampedValue

CHUNK_ROWS: Final = 1 << 12
"""Number of records in a chunk."""

MOST_PARTITIONS: Final = 64
"""Most partitions of a source; more files share partitions, which limits the number of open files."""

Columns: TypeAlias = Mapping[str, list[Any]]
"""Values by the name of their column, all of the same length."""

TimestampOf: TypeAlias = str | Callable[[Any], Any] | None
"""A column, or a function of the element, that gives the event time in any form; None for no time."""


@attrs.frozen(eq=False)
class FileSource(BoundedSource[Any], ReadsBundles, HasDisplayData):
    """Files that are read from end to end; a format defines the abstract methods.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        timestamp: the column or function that gives the event time; None for the beginning of time.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.

    >>> files = hr.io.TextFiles(["a.txt", "b/*.txt"], timestamp=float)
    >>> files.patterns, files.bundle({"value": ["1.5"]}).timestamps
    (('a.txt', 'b/*.txt'), [1500000])
    """

    patterns: tuple[str, ...] = attrs.field(alias="file_pattern", converter=patterns_of)
    timestamp: TimestampOf = attrs.field(default=None, kw_only=True)
    compression: str = attrs.field(
        default="auto", kw_only=True, alias="compression_type", converter=compression_of
    )

    def display_data(self) -> dict[str, Any]:
        """Return the patterns and the compression."""
        return {"file_pattern": self.dataset, "compression": self.compression}

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The patterns."""
        return ",".join(self.patterns)

    def files(self) -> list[str]:
        """Return the files that exist now, in order of their names."""
        return matching(self.patterns)

    def partitions(self) -> Sequence[tuple[str, ...]]:
        """Return the partitions: one file each, or several if there are many files."""
        require_matching(self.patterns)
        files = self.files()
        each = -(-len(files) // MOST_PARTITIONS) or 1
        return [tuple(files[start : start + each]) for start in range(0, len(files), each)]

    def read(self, partition: Any) -> Iterator[Any]:
        for bundle in self.read_bundles(partition):
            if self.timestamp is None:
                yield from bundle.values
            else:
                yield from map(_timestamped, bundle.values, bundle.timestamps)

    def read_bundles(self, partition: Any) -> Iterator[Bundle]:
        """Read the files of a partition."""
        for path in partition:
            yield from self.read_file(path)

    def read_file(self, path: str) -> Iterator[Bundle]:
        """Read a file."""
        return self._bundles_of(path, self.read_columns(path), 0)

    def read_from(self, path: str, place: FilePlace) -> Iterator[Bundle]:
        """Read a file from a place on."""
        return self._bundles_of(path, self.columns_from(path, place), place.records)

    def _bundles_of(self, path: str, chunks: Iterator[Columns], rows: int) -> Iterator[Bundle]:
        for columns in chunks:
            values = self.values(columns)
            try:
                yield self._bundle(values, columns)
            except TimeError as error:
                raise self._timestamp_error(
                    error, values, columns, f"{path}, record ", rows
                ) from error
            rows += len(values)

    def bundle(self, columns: Columns) -> Bundle:
        """Return the elements of a chunk of columns, with their timestamps.

        Args:
            columns: values by name, as :meth:`read_columns` returns them.

        Raises:
            FileError: an element has no valid timestamp.
        """
        values = self.values(columns)
        try:
            return self._bundle(values, columns)
        except TimeError as error:
            raise self._timestamp_error(error, values, columns) from error

    @abstractmethod
    def column_names(self) -> tuple[str, ...] | None:
        """Return the names of the columns to read; None for all columns."""

    @abstractmethod
    def read_columns(self, path: str) -> Iterator[Columns]:
        """Read a file in chunks."""

    tells_places: ClassVar[bool] = False
    """Whether the format defines :meth:`places` and :meth:`columns_from`."""

    @property
    def finds_places(self) -> bool:
        """Whether the format finds places in files, and not all files are compressed."""
        compressed = (is_compressed(pattern, self.compression) for pattern in self.patterns)
        return self.tells_places and not all(compressed)

    def can_start_at(self, place: FilePlace) -> bool:
        """Whether :meth:`columns_from` can read from a place on."""
        return place.byte > 0

    def places(self, path: str, place: FilePlace, limit: int) -> Places:
        """Return the ends of the parts of a file, without parsing records.

        Args:
            path: the file.
            place: where the first part begins.
            limit: maximum number of records of all parts.
        """
        return UNKNOWN_PLACES

    def columns_from(self, path: str, place: FilePlace) -> Iterator[Columns]:
        """Read a file in chunks, from a place on."""
        raise NotImplementedError

    @abstractmethod
    def values(self, columns: Columns) -> list[Any]:
        """Return the elements of a chunk."""

    def _bundle(self, values: list[object], columns: Columns) -> Bundle:
        if self.timestamp is None or not values:
            return Bundle(values)
        return Bundle(values, micros_of_all(self._times(values, columns)))

    def _times(self, values: list[object], columns: Columns) -> list[Any]:
        if isinstance(self.timestamp, str):
            return columns[self.timestamp]
        assert self.timestamp is not None
        return times_given(self.timestamp, values)

    def _timestamp_error(
        self,
        error: TimeError,
        values: list[object],
        columns: Columns,
        where: str = "",
        rows: int = 0,
    ) -> FileError:
        """Return an error that names the first record without a valid timestamp."""
        for index, instant in enumerate(self._times(values, columns)):
            try:
                micros(instant)
            except TimeError as own:
                number = str(rows + index + 1) + ": " if where else ""
                return FileError(
                    own.problem, where=f"{where}{number}{shorten(values[index])}", remedy=own.remedy
                )
        return FileError(error.problem, where=where.rstrip(), remedy=error.remedy)


def times_given(timestamp: Callable[[Any], Any], elements: list[Any]) -> list[Any]:
    """Return what the user's function gives as the times of elements; its errors name the element."""
    return mapped(timestamp, elements, lambda error, row: note_element(error, elements[row]))


def _timestamped(value: object, timestamp: int) -> TimestampedValue[object]:
    return TimestampedValue(value, Timestamp(micros=timestamp))


def names_of(columns: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the names of columns as a tuple; None for all columns.

    >>> names_of(["a", "b"])
    ('a', 'b')
    """
    return None if columns is None else tuple(columns)


def needed(columns: tuple[str, ...] | None, timestamp: TimestampOf) -> tuple[str, ...] | None:
    """Return the columns to read: the given ones and the timestamp's.

    >>> needed(("a",), "time"), needed(None, "time")
    (('a', 'time'), None)
    """
    if columns is None or not isinstance(timestamp, str) or timestamp in columns:
        return columns
    return (*columns, timestamp)


def selected(names: Sequence[str], fields: Sequence[str]) -> tuple[str, ...]:
    """Return some columns of a table in its order, if it has all of them; otherwise all its columns.

    Args:
        names: the columns of the table.
        fields: the columns that are needed; none for all.

    >>> selected(["place", "n"], ["n"]), selected(["place", "n"], ["n", "other"])
    (('n',), ('place', 'n'))
    """
    if not set(fields) <= set(names):
        return tuple(names)
    return tuple(name for name in names if not fields or name in fields)


def require_columns(names: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Check that columns exist.

    Args:
        names: the existing columns.
        columns: the columns to check.
        where: the source, for the error message.

    Raises:
        PipelineError: a column does not exist.
    """
    for name in columns:
        if name not in names:
            raise PipelineError(
                f"there is no column {name!r}", where=where, remedy=f"use one of {', '.join(names)}"
            )
