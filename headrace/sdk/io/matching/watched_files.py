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
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import attrs

from headrace.grouping.table_bundle import TableRecords
from headrace.sdk.io.files.file_places import FilePlace
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.files.file_tables import FileTables
from headrace.sdk.io.files.files_ahead import FilesAhead, OpenFiles, next_parts
from headrace.sdk.io.files.opening import modified
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
    def files(self) -> FilesAhead:
        """The files ahead."""
        place = FilePlace(self.records, self.byte, self.line)
        return FilesAhead(tuple(path for _, path in self.ahead), place)

    def moved(self, to: FilesAhead) -> WatchProgress:
        """Return the position at which only some of the files ahead are still ahead."""
        position = self
        while len(position.ahead) > len(to.paths):
            position = position.after(position.ahead[0])
        return WatchProgress(position.before, position.read, position.ahead, *to.place)

    def alone(self, to: FilesAhead) -> WatchProgress:
        """Return a position with only one of the files ahead, the first of those that are given."""
        return WatchProgress((), (), (self.ahead[-len(to.paths)],), *to.place)

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
    _cache: _ReadCache = attrs.field(init=False, repr=False)

    @_cache.default
    def _new_cache(self) -> _ReadCache:
        return _ReadCache(OpenFiles(self.files, self.tables, most=1))

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The patterns."""
        return self.files.dataset

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Any]:
        position = WatchProgress() if offset is None else WatchProgress(*offset)
        if not position.ahead:
            listed = self._list(position)
            return Batch([], tuple(listed), finished=self.once and not listed.ahead)
        bundle, ahead = self._cache.open.read(position.files, limit)
        return Batch(bundle, tuple(position.moved(ahead)))

    @property
    def tells_offsets(self) -> bool:
        """Whether the format finds places in files, and not all files are compressed."""
        return self.files.finds_places

    def latest_offset(self, partition: object, start: Any, limit: int) -> LatestOffset | None:
        """Return the next offset; None if the next file is one that must be read to be divided."""
        position = WatchProgress() if start is None else WatchProgress(*start)
        if not position.ahead:
            listed = self._list(position)
            return LatestOffset(tuple(listed), 0, finished=self.once and not listed.ahead)
        found = next_parts(self.files, position.files, limit)
        if found is None:
            return None
        splits = [(tuple(position.alone(part)), records) for part, records in found.parts]
        return LatestOffset(tuple(position.moved(found.after)), found.records, splits=splits)

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

    def with_keys(self, names: Collection[str]) -> WatchedFiles:
        assert isinstance(self.files, FileTables)
        return attrs.evolve(self, files=self.files.with_keys(names))

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without open files."""
        return type(self), (self.files, self.interval, self.once, self.tables)


@attrs.define(eq=False)
class _ReadCache:
    """State that is not needed to continue reading, but makes it faster.

    It holds an open file, and the files of the last listing that are not yet in the offset.
    """

    open: OpenFiles
    next_listing: float = float("-inf")
    backlog: list[DatedFile] = attrs.field(factory=list)


def _with_times(paths: list[str]) -> Iterator[DatedFile]:
    for path in paths:
        try:
            yield modified(path), path
        except FileNotFoundError:
            continue  # deleted before it was read
