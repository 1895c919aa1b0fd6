"""Files that are yet to come: a directory that grows is a source that does not end.

A look at the directory and the reading of what it showed are two steps, and each is a batch of its own:
a look brings no records, but its offset says which files come next. So the same offset always gives the
same records, whatever has been put into the directory meanwhile.

The offset stays small, however many files there have been. Files come in order of their times of
modification, then names. The last thousand that were read are remembered by name, so that a file that
turns up a little out of order is found; what is older than all of these counts as read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import attrs

from headrace.errors import FileError
from headrace.sdk.io.cursor import Cursor
from headrace.sdk.io.file_source import FileSource
from headrace.sdk.io.source import Batch, UnboundedSource
from headrace.triggers.bundle import Bundle

REMEMBERED: Final = 1_000
"""So many files that were read are remembered by name."""

PLANNED: Final = 1_000
"""So many files at most a look puts up for reading."""

Found = tuple[int, str]
"""A file: its time of modification in nanoseconds, and its path."""


class Place(NamedTuple):
    """How far a directory has been read: plain data, the offset of :class:`WatchedFiles`.

    Attributes:
        before: this file, and all before it in order, count as read.
        read: the files after that one that have been read, in order.
        ahead: the files to be read next, in order.
        records: so many records of the first of them have been read.

    >>> Place().after((7, "a.txt")).read
    ((7, 'a.txt'),)
    """

    before: Found | tuple[()] = ()
    read: tuple[Found, ...] = ()
    ahead: tuple[Found, ...] = ()
    records: int = 0

    def after(self, file: Found) -> Place:
        """Return the place behind the first file ahead."""
        read = sorted([*self.read, file])
        forgotten, kept = read[:-REMEMBERED], read[-REMEMBERED:]
        before = max(self.before, forgotten[-1]) if forgotten else self.before
        return Place(before, tuple(kept), self.ahead[1:], 0)

    def new(self, files: Iterable[Found]) -> Iterator[Found]:
        """Return the files that have not been read."""
        known = {path for _, path in self.read}
        return (file for file in files if file > self.before and file[1] not in known)


@attrs.frozen(eq=False)
class WatchedFiles(UnboundedSource[Any]):
    """Files, and those that are yet to come, each read once, in order of their times of modification.

    Put whole files there: write them elsewhere on the same disk and rename them. What is appended to a
    file after it was read is not seen.

    Args:
        files: the files, by their format.
        interval: seconds to wait at least before the directory is looked at again.

    >>> from headrace.io import TextFiles
    >>> WatchedFiles(TextFiles("nowhere/*.txt")).read(None, None, 10).records
    []
    """

    files: FileSource
    interval: float = 1.0
    _hand: _Hand = attrs.field(factory=lambda: _Hand(), init=False, repr=False)

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Any]:
        place = Place() if offset is None else Place(*offset)
        if not place.ahead:
            return Batch([], tuple(self._look(place)))
        bundles = []
        while limit > 0 and place.ahead:
            bundle, place = self._read_on(place, limit)
            bundles.append(bundle)
            limit -= len(bundle)
        return Batch(Bundle.concat(bundles), tuple(place))

    def _look(self, place: Place) -> Place:
        """Find files that have not been read; list the directory no sooner than agreed."""
        new = list(place.new(self._hand.backlog))
        now = time.monotonic()
        if not new and now >= self._hand.next_look:
            self._hand.next_look = now + self.interval
            new = sorted(place.new(_with_times(self.files.files())))
        self._hand.backlog = new[PLANNED:]
        return place._replace(ahead=tuple(new[:PLANNED]))

    def _read_on(self, place: Place, limit: int) -> tuple[Bundle, Place]:
        """Read on in the first file ahead."""
        file = place.ahead[0]
        cursor = self._hand.cursor_at(self.files, file[1], place.records)
        bundle = cursor.take(limit)
        if len(bundle) < limit:
            return bundle, place.after(file)
        place = place._replace(records=place.records + limit)
        self._hand.keep(cursor, file[1], place.records)
        return bundle, place

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave open files at home."""
        return type(self), (self.files, self.interval)


@attrs.define(eq=False)
class _Hand:
    """What need not be known to read on, but makes it quicker.

    That is a file that is open at some record, and files that a look has found beyond what it put up.
    """

    next_look: float = float("-inf")
    backlog: list[Found] = attrs.field(factory=list)
    cursor: Cursor | None = None
    path: str = ""
    records: int = 0

    def cursor_at(self, files: FileSource, path: str, records: int) -> Cursor:
        """Return a cursor that stands at a record of a file."""
        cursor, self.cursor = self.cursor, None
        if cursor is None or (self.path, self.records) != (path, records):
            cursor = Cursor(_existing(files, path))
            cursor.skip(records)
        return cursor

    def keep(self, cursor: Cursor, path: str, records: int) -> None:
        """Keep a cursor for the next time."""
        self.cursor, self.path, self.records = cursor, path, records


def _with_times(paths: list[str]) -> Iterator[Found]:
    for path in paths:
        try:
            yield os.stat(path).st_mtime_ns, path
        except FileNotFoundError:
            continue  # it has gone again, unread


def _existing(files: FileSource, path: str) -> Iterator[Bundle]:
    if not os.path.exists(path):
        raise FileError(
            "the file was found, but was gone before it was read",
            where=path,
            remedy="leave files in a watched directory until they have been read",
        )
    return files.read_file(path)
