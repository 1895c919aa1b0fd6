"""Files that are read one after the other, from a place in the first of them on.

The same place and number of records always give the same records, so a runner can read them again, or on
another machine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import attrs

from headrace.errors import FileError
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import joined
from headrace.sdk.io.cursor import Cursor
from headrace.sdk.io.files.file_places import START, FilePlace
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.files.file_systems import file_system_of
from headrace.sdk.io.files.file_tables import bundles_from


class FilesAhead(NamedTuple):
    """The files to read next.

    Attributes:
        paths: the files, in order.
        place: the place of the next record in the first of them.

    >>> FilesAhead(("a.txt", "b.txt")).after_first()
    FilesAhead(paths=('b.txt',), place=FilePlace(records=0, byte=0, line=0))
    """

    paths: tuple[str, ...]
    place: FilePlace = START

    def at(self, place: FilePlace) -> FilesAhead:
        """Return these files from another place of the first of them on."""
        return self._replace(place=place)

    def after_first(self) -> FilesAhead:
        """Return the files after the first of them."""
        return FilesAhead(self.paths[1:])


@attrs.frozen
class FileParts:
    """The next records of some files, found without parsing them.

    Attributes:
        parts: where each part begins, and its number of records; no part is in two files.
        after: what is ahead after all parts.
    """

    parts: Sequence[tuple[FilesAhead, int]]
    after: FilesAhead

    @property
    def records(self) -> int:
        """The number of records of all parts."""
        return sum(records for _, records in self.parts)


def next_parts(files: FileSource, ahead: FilesAhead, limit: int) -> FileParts | None:
    """Return the next records of some files in parts; None if they must be read to be divided.

    Args:
        files: the format of the files.
        ahead: the files.
        limit: maximum number of records of all parts.
    """
    parts: list[tuple[FilesAhead, int]] = []
    at, left = ahead, limit
    while left and at.paths:
        _require_file(at.paths[0])
        found = files.places(at.paths[0], at.place, left)
        for place in found.places:
            rows = place.records - at.place.records
            if rows:
                parts.append((at, rows))
            at, left = at.at(place), left - rows
        if not found.is_known:
            break
        if left:
            at = at.after_first()
    return None if at == ahead and limit else FileParts(parts, at)


@attrs.define(eq=False)
class OpenFiles:
    """Reads files, and keeps those open of which not all records were read, since that is faster.

    Attributes:
        files: the format of the files.
        tables: whether files are read as tables.
        most: the largest number of files that stay open.
    """

    files: FileSource
    tables: bool
    most: int
    _kept: OrderedDict[str, tuple[int, Cursor]] = attrs.field(factory=OrderedDict, init=False)

    def read(self, ahead: FilesAhead, limit: int) -> tuple[Bundle, FilesAhead]:
        """Return the next records of some files, and what is ahead after them.

        Args:
            ahead: the files.
            limit: maximum number of records; there are fewer only if the files end.
        """
        bundles = []
        while limit > 0 and ahead.paths:
            bundle, ahead = self._read_first(ahead, limit)
            bundles.append(bundle)
            limit -= len(bundle)
        return joined(bundles), ahead

    def _read_first(self, ahead: FilesAhead, limit: int) -> tuple[Bundle, FilesAhead]:
        path, before = ahead.paths[0], ahead.place.records
        records, cursor = self._kept.pop(path, (-1, None))
        if cursor is None or records != before:
            cursor = self._opened(path, ahead.place)
        bundle = cursor.take(limit)
        if len(bundle) < limit:
            return bundle, ahead.after_first()
        self._kept[path] = before + limit, cursor
        if len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return bundle, ahead.at(FilePlace(before + limit))

    def _opened(self, path: str, place: FilePlace) -> Cursor:
        """Return a cursor at a place of a file."""
        _require_file(path)
        start = place if self.files.can_start_at(place) else START
        cursor = Cursor(bundles_from(self.files, path, start, tables=self.tables))
        cursor.skip(place.records - start.records)
        return cursor


def _require_file(path: str) -> None:
    if not file_system_of(path).exists(path):
        raise FileError(
            "the file was deleted before it was read, or is not visible here",
            where=path,
            remedy="keep files until they have been read; on a cluster the workers read them too, so the "
            "directory must be on a disk that all machines share",
        )
