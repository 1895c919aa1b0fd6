"""Files as a stream that ends: in streaming mode the workers read them, each from a place in a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import attrs

from headrace.grouping.table_bundle import TableRecords
from headrace.sdk.io.files.file_places import FilePlace
from headrace.sdk.io.files.file_source import MOST_PARTITIONS, FileSource
from headrace.sdk.io.files.file_tables import FileTables
from headrace.sdk.io.files.files_ahead import FilesAhead, OpenFiles, next_parts
from headrace.sdk.sources.source import Batch, LatestOffset, ReadsTables, UnboundedSource

Paths: TypeAlias = tuple[str, ...]
"""The files of a partition."""


@attrs.frozen(eq=False)
class FilePartitions(UnboundedSource[Any], ReadsTables):
    """The partitions of a file source, each read from a place on.

    The offset is the number of files that were read, and the place in the next one: its records, bytes and
    lines.

    Args:
        files: the files and their format.
        tables: whether batches are tables.

    >>> from headrace.io import TextFiles
    >>> stream = FilePartitions(TextFiles("nowhere/*.txt"))
    >>> stream.tells_offsets
    True
    """

    reports_watermarks: ClassVar[bool] = False

    files: FileSource
    tables: bool = False
    _open: OpenFiles = attrs.field(init=False, repr=False)

    @_open.default
    def _none_open(self) -> OpenFiles:
        return OpenFiles(self.files, self.tables, MOST_PARTITIONS)

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The patterns."""
        return self.files.dataset

    def partitions(self) -> Sequence[Paths]:
        """Return the partitions of the file source."""
        return self.files.partitions()

    def read(self, partition: Paths, offset: Any, limit: int) -> Batch[Any]:
        """Read the next records of a partition."""
        bundle, after = self._open.read(self._ahead(partition, offset), limit)
        return Batch(bundle, _offset(partition, after), finished=not after.paths)

    @property
    def tells_offsets(self) -> bool:
        """Whether the format finds places in files, and not all files are compressed."""
        return self.files.finds_places

    def latest_offset(self, partition: Paths, start: Any, limit: int) -> LatestOffset | None:
        """Return the next offset; None if the next file is one that must be read to be divided."""
        found = next_parts(self.files, self._ahead(partition, start), limit)
        if found is None:
            return None
        splits = [(_offset(partition, part), records) for part, records in found.parts]
        end = _offset(partition, found.after)
        return LatestOffset(end, found.records, finished=not found.after.paths, splits=splits)

    def _ahead(self, partition: Paths, offset: Any) -> FilesAhead:
        """Return the files ahead; versions before 0.1.0.dev30 have stored the number of records."""
        if offset is None:
            return FilesAhead(partition)
        if isinstance(offset, int):
            return self._open.read(FilesAhead(partition), offset)[1]
        number, *place = offset
        return FilesAhead(partition[number:], FilePlace(*place))

    @property
    def records(self) -> TableRecords | None:
        """How the rows of tables become elements; None if the format has no tables."""
        return self.files.records if isinstance(self.files, FileTables) else None

    def table_source(self) -> FilePartitions:
        """Return a source whose batches are tables."""
        return attrs.evolve(self, tables=True)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without open files."""
        return type(self), (self.files, self.tables)


def _offset(partition: Paths, ahead: FilesAhead) -> tuple[int, ...]:
    """Return the offset at which some files of a partition are ahead."""
    return (len(partition) - len(ahead.paths), *ahead.place)


@attrs.frozen(eq=False)
class DividedFiles(FileSource):
    """Files in which a format finds places, so that their parts are read independently of each other."""

    tells_places: ClassVar[bool] = True

    def as_stream(self) -> FilePartitions | None:
        """Return a source that workers read; None if all files are compressed."""
        return FilePartitions(self) if self.finds_places else None
