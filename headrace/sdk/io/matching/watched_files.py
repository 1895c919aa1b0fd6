"""New files in a directory as an unbounded source.

Listing the directory and reading files are separate batches: a listing returns no records, but its offset
names the files to read next. So the same offset always gives the same records, whatever files have been
added since.

The offset stays small, however many files have been read. Files are ordered by modification time, then by
name. The offset names the last 1,000 files that were read, so a file that appears slightly out of order
is still read; files older than all of these count as read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import attrs

from headrace.errors import FileError
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableRecords, joined
from headrace.sdk.io.cursor import Cursor
from headrace.sdk.io.files.file_places import START, FilePlace
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.files.file_systems import file_system_of
from headrace.sdk.io.files.file_tables import FileTables, bundles_from
from headrace.sdk.io.files.opening import is_compressed, modified
from headrace.sdk.sources.source import Batch, LatestOffset, ReadsTables, UnboundedSource

READ_FILES: Final = 1_000
"""Number of files that were read and that the offset names."""

PLANNED_FILES: Final = 1_000
"""Maximum number of files to read that one listing adds to the offset."""

DatedFile = tuple[int, str]
"""A file: its modification time in nanoseconds, and its path."""


class WatchProgress(NamedTuple):
    """The progress of reading a directory: plain data, the offset of :class:`WatchedFiles`.

    Attributes:
        before: this file and all earlier files count as read.
        read: the files after it that have been read, in order.
        ahead: the files to read next, in order.
        records: number of records of the first file ahead that have been read.
        byte: number of bytes of this file before the next record; 0 if unknown.
        line: number of lines before it, if the bytes are known.

    >>> WatchProgress().after((7, "a.txt")).read
    ((7, 'a.txt'),)
    """

    before: DatedFile | tuple[()] = ()
    read: tuple[DatedFile, ...] = ()
    ahead: tuple[DatedFile, ...] = ()
    records: int = 0
    byte: int = 0
    line: int = 0

    @property
    def place(self) -> FilePlace:
        """The place of the next record in the first file ahead."""
        return FilePlace(self.records, self.byte, self.line)

    def at(self, place: FilePlace) -> WatchProgress:
        """Return the position at another place of the first file ahead."""
        return self._replace(records=place.records, byte=place.byte, line=place.line)

    def after(self, file: DatedFile) -> WatchProgress:
        """Return the position after the first file ahead."""
        read = sorted([*self.read, file])
        forgotten, kept = read[:-READ_FILES], read[-READ_FILES:]
        before = max(self.before, forgotten[-1]) if forgotten else self.before
        return WatchProgress(before, tuple(kept), self.ahead[1:])

    def new(self, files: Iterable[DatedFile]) -> Iterator[DatedFile]:
        """Return the files that have not been read."""
        known = {path for _, path in self.read}
        return (file for file in files if file > self.before and file[1] not in known)


@attrs.frozen(eq=False)
class WatchedFiles(UnboundedSource[Any], ReadsTables):
    """Existing and new files, each read once, in order of modification time.

    Files must be complete when they appear: write them elsewhere on the same disk and rename them. Data
    that is appended to a file after it was read is not read.

    Args:
        files: the files and their format.
        interval: minimum seconds between listings of the directory.
        once: whether the source ends with the files of its first listing.
        tables: whether batches are tables.

    >>> from headrace.io import TextFiles
    >>> WatchedFiles(TextFiles("nowhere/*.txt")).read(None, None, 10).records
    []
    """

    reports_watermarks: ClassVar[bool] = False

    files: FileSource
    interval: float = 1.0
    once: bool = False
    tables: bool = False
    _cache: _ReadCache = attrs.field(factory=lambda: _ReadCache(), init=False, repr=False)

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The patterns."""
        return self.files.dataset

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Any]:
        position = WatchProgress() if offset is None else WatchProgress(*offset)
        if not position.ahead:
            listed = self._list(position)
            return Batch([], tuple(listed), finished=self.once and not listed.ahead)
        bundles = []
        while limit > 0 and position.ahead:
            bundle, position = self._read_next(position, limit)
            bundles.append(bundle)
            limit -= len(bundle)
        return Batch(joined(bundles), tuple(position))

    @property
    def tells_offsets(self) -> bool:
        """Whether the format finds places in files, and not all files are compressed."""
        files = self.files
        compressed = (is_compressed(pattern, files.compression) for pattern in files.patterns)
        return files.tells_places and not all(compressed)

    def latest_offset(self, partition: object, start: Any, limit: int) -> LatestOffset | None:
        """Return the next offset; None if the next file is one that must be read to be divided."""
        position = WatchProgress() if start is None else WatchProgress(*start)
        if not position.ahead:
            listed = self._list(position)
            return LatestOffset(tuple(listed), 0, finished=self.once and not listed.ahead)
        splits: list[tuple[object, int]] = []
        end, records = position, 0
        while records < limit and end.ahead:
            path = end.ahead[0][1]
            _require_file(path)
            found = self.files.places(path, end.place, limit - records)
            for place in found.places:
                rows = place.records - end.records
                if rows:
                    splits.append((tuple(_alone(end)), rows))
                end, records = end.at(place), records + rows
            if not found.is_known:
                break
            if records < limit:
                end = end.after(end.ahead[0])
        if end == position:
            return None
        return LatestOffset(tuple(end), records, splits=splits)

    def available_now(self) -> WatchedFiles:
        """Return a source that ends with the files of its first listing."""
        return attrs.evolve(self, once=True)

    @property
    def records(self) -> TableRecords | None:
        """How the rows of tables become elements; None if the format has no tables."""
        return self.files.records if isinstance(self.files, FileTables) else None

    @property
    def why_elements(self) -> str:
        return self.files.why_elements if isinstance(self.files, FileTables) else ""

    @property
    def fields_read(self) -> Sequence[str]:
        return self.files.fields_read if isinstance(self.files, FileTables) else ()

    def with_fields(self, names: Sequence[str]) -> WatchedFiles:
        assert isinstance(self.files, FileTables)
        return attrs.evolve(self, files=self.files.with_fields(names))

    def table_source(self) -> WatchedFiles:
        """Return a source whose batches are tables."""
        return attrs.evolve(self, tables=True)

    def _list(self, position: WatchProgress) -> WatchProgress:
        """Add unread files to the position; list the directory at most once per interval."""
        new = list(position.new(self._cache.backlog))
        now = time.monotonic()
        if not new and now >= self._cache.next_listing:
            self._cache.next_listing = float("inf") if self.once else now + self.interval
            new = sorted(position.new(_with_times(self.files.files())))
        self._cache.backlog = new[PLANNED_FILES:]
        return position._replace(ahead=tuple(new[:PLANNED_FILES]))

    def _read_next(self, position: WatchProgress, limit: int) -> tuple[Bundle, WatchProgress]:
        """Read the next records of the first file ahead."""
        file = position.ahead[0]
        cursor = self._cache.take(file[1], position.records)
        if cursor is None:
            cursor = self._opened(file[1], position.place)
        bundle = cursor.take(limit)
        if len(bundle) < limit:
            return bundle, position.after(file)
        position = position.at(FilePlace(position.records + limit))
        self._cache.keep(cursor, file[1], position.records)
        return bundle, position

    def _opened(self, path: str, place: FilePlace) -> Cursor:
        """Return a cursor at a place of a file."""
        _require_file(path)
        start = place if self.files.can_start_at(place) else START
        cursor = Cursor(bundles_from(self.files, path, start, tables=self.tables))
        cursor.skip(place.records - start.records)
        return cursor

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without open files."""
        return type(self), (self.files, self.interval, self.once, self.tables)


@attrs.define(eq=False)
class _ReadCache:
    """State that is not needed to continue reading, but makes it faster.

    It holds an open file, and the files of the last listing that are not yet in the offset.
    """

    next_listing: float = float("-inf")
    backlog: list[DatedFile] = attrs.field(factory=list)
    cursor: Cursor | None = None
    path: str = ""
    records: int = 0

    def take(self, path: str, records: int) -> Cursor | None:
        """Return the cursor after some records of a file, if it was kept."""
        cursor, self.cursor = self.cursor, None
        return cursor if (self.path, self.records) == (path, records) else None

    def keep(self, cursor: Cursor, path: str, records: int) -> None:
        """Keep a cursor for the next read."""
        self.cursor, self.path, self.records = cursor, path, records


def _with_times(paths: list[str]) -> Iterator[DatedFile]:
    for path in paths:
        try:
            yield modified(path), path
        except FileNotFoundError:
            continue  # deleted before it was read


def _alone(position: WatchProgress) -> WatchProgress:
    """Return a position with only the first file ahead."""
    return WatchProgress((), (), position.ahead[:1]).at(position.place)


def _require_file(path: str) -> None:
    if not file_system_of(path).exists(path):
        raise FileError(
            "the file was deleted before it was read, or is not visible here",
            where=path,
            remedy="keep files in a watched directory until they have been read; on a cluster the workers "
            "read them too, so the directory must be on a disk that all machines share",
        )
