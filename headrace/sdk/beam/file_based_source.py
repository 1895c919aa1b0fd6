"""FileBasedSource: files of a format of your own, in ranges of bytes that workers read (Beam's name)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import IO, Any

import attrs

from headrace.errors import FileError
from headrace.sdk.beam.iobase import BoundedSource, SourceBundle
from headrace.sdk.io.files.compression import CompressionTypes, compression_of
from headrace.sdk.io.files.file_operations import FileSystems, matched
from headrace.sdk.io.files.file_systems import FileMetadata
from headrace.sdk.sources.range_trackers import (
    OffsetRangeTracker,
    RangeTracker,
    UnsplittableRangeTracker,
)
from headrace.sdk.typehints.display_data import HasDisplayData


class FileBasedSource(BoundedSource, HasDisplayData):
    """A source of files in Beam's form; subclass it and define :meth:`read_records`.

    Empty files are skipped. A file that is compressed is one range.

    Args:
        file_pattern: a path, URL or pattern, as for ``FileSystems.match``.
        min_bundle_size: the smallest range of a file, in bytes.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        splittable: whether a file can be read in several ranges.
        validate: whether to raise an error if no file matches now.

    Raises:
        FileError: no file matches.

    >>> import pathlib, tempfile
    >>> from headrace.io.filebasedsource import FileBasedSource
    >>> class Bytes(FileBasedSource):
    ...     def read_records(self, file_name, offset_range_tracker):
    ...         at = offset_range_tracker.start_position()
    ...         with self.open_file(file_name) as file:
    ...             file.seek(at)
    ...             while (byte := file.read(1)) and offset_range_tracker.try_claim(at):
    ...                 yield byte
    ...                 at += 1
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_text("ab")
    >>> with Pipeline() as p:
    ...     _ = p | hr.io.Read(Bytes(str(path))) | Map(print)
    b'a'
    b'b'
    """

    def __init__(
        self,
        file_pattern: Any,
        min_bundle_size: int = 0,
        compression_type: str = CompressionTypes.AUTO,
        splittable: bool = True,
        validate: bool = True,
    ) -> None:
        given = file_pattern.get() if hasattr(file_pattern, "get") else file_pattern
        self._pattern = str(given)
        self._min_bundle_size = min_bundle_size
        self._compression_type = compression_of(compression_type)
        self._splittable = splittable
        self._found: list[FileRange] | None = None
        if validate and not matched(self._pattern):
            raise FileError(
                f"no file matches {self._pattern!r}",
                remedy="correct the pattern, or pass validate=False",
            )

    @abstractmethod
    def read_records(self, file_name: str, offset_range_tracker: RangeTracker) -> Iterable[Any]:
        """Return the records of a range of a file.

        Args:
            file_name: the path, for :meth:`open_file`.
            offset_range_tracker: the range of bytes; each record that begins in it must be claimed.
        """

    def open_file(self, file_name: str) -> IO[bytes]:
        """Open a file to read bytes, decompressed."""
        return FileSystems.open(file_name, compression_type=self._compression_type)

    @property
    def splittable(self) -> bool:
        """Whether a file can be read in several ranges."""
        return self._splittable

    def display_data(self) -> dict[str, Any]:
        """Return the pattern and the compression."""
        return {"file_pattern": self._pattern, "compression": self._compression_type}

    def estimate_size(self) -> int:
        """Return the size of all files."""
        return sum(file.size for file in self._files())

    def split(
        self,
        desired_bundle_size: object,
        start_position: object = None,
        stop_position: object = None,
    ) -> Iterator[SourceBundle]:
        """Divide each file into ranges of at least this size."""
        for file in self._files():
            yield from file.split(desired_bundle_size)

    def get_range_tracker(self, start_position: object, stop_position: object) -> RangeTracker:
        """Return the tracker of the whole source, whose positions are the numbers of files."""
        return UnsplittableRangeTracker(OffsetRangeTracker(0, len(self._files())))

    def read(self, range_tracker: RangeTracker) -> Iterator[Any]:
        """Return the records of all files."""
        for number, file in enumerate(self._files()):
            if not range_tracker.try_claim(number):
                return
            yield from file.read(file.get_range_tracker(None, None))

    def _files(self) -> list[FileRange]:
        if self._found is None:
            files = [file for file in matched(self._pattern) if file.size_in_bytes]
            self._found = [self._whole(file) for file in files]
        return self._found

    def _whole(self, file: FileMetadata) -> FileRange:
        compression = self._compression_type
        if compression == CompressionTypes.AUTO:
            compression = CompressionTypes.detect_compression_type(file.path)
        splittable = self._splittable and compression == CompressionTypes.UNCOMPRESSED
        size = file.size_in_bytes
        stop = size if splittable else OffsetRangeTracker.OFFSET_INFINITY
        return FileRange(self, file.path, size, 0, stop, self._min_bundle_size)


@attrs.frozen(eq=False)
class FileRange(BoundedSource):
    """A range of bytes of a file.

    Args:
        origin: reads the records.
        path: the file.
        size: its size.
        start: the first byte.
        stop: the byte after the last one; infinity if the file is not divided.
        least: the smallest size of a part.
    """

    origin: FileBasedSource = attrs.field(repr=False)
    path: str
    size: int
    start: int
    stop: float
    least: int = 0

    @property
    def _is_whole(self) -> bool:
        return self.stop == OffsetRangeTracker.OFFSET_INFINITY

    def estimate_size(self) -> int:
        return self.size if self._is_whole else int(self.stop) - self.start

    def split(
        self, desired_bundle_size: Any, start_position: Any = None, stop_position: Any = None
    ) -> Iterator[SourceBundle]:
        if self._is_whole:
            yield SourceBundle(self.size, self, self.start, self.stop)
            return
        first = self.start if start_position is None else start_position
        end = int(self.stop) if stop_position is None else stop_position
        length = end - first if desired_bundle_size is None else desired_bundle_size
        step = int(max(1, self.least, min(length, end - first)))
        for start in range(first, end, step):
            stop = min(start + step, end)
            part = attrs.evolve(self, start=start, stop=stop)
            yield SourceBundle(stop - start, part, start, stop)

    def get_range_tracker(self, start_position: Any, stop_position: Any) -> RangeTracker:
        start = self.start if start_position is None else start_position
        tracker = OffsetRangeTracker(start, self.stop if stop_position is None else stop_position)
        return UnsplittableRangeTracker(tracker) if self._is_whole else tracker

    def read(self, range_tracker: RangeTracker) -> Iterable[Any]:
        return self.origin.read_records(self.path, range_tracker)
