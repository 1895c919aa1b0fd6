"""Avro and Parquet files as sources of Beam's form, divided at their blocks and row groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from headrace.sdk.beam.file_based_source import FileBasedSource
from headrace.sdk.io.files.read_errors import reading
from headrace.sdk.io.formats.avro.avro_files import as_os_errors
from headrace.sdk.io.formats.avro.package import avro
from headrace.sdk.io.formats.parquet.parquet_tables import ParquetTables
from headrace.sdk.sources.range_trackers import RangeTracker

_CHUNK = 1 << 16
"""Number of bytes in which a sync marker is searched at a time."""


class AvroSource(FileBasedSource):
    """The records of Avro files as dictionaries; a range begins at a block.

    >>> AvroSource("delays.avro", validate=False).display_data()["file_pattern"]
    'delays.avro'
    """

    def __init__(self, file_pattern: Any, min_bundle_size: int = 0, validate: bool = True) -> None:
        avro()
        super().__init__(file_pattern, min_bundle_size, validate=validate)

    def read_records(self, file_name: str, offset_range_tracker: RangeTracker) -> Iterator[Any]:
        """Return the records of the blocks that begin in a range."""
        tracker = offset_range_tracker
        with self._blocks(file_name) as (file, blocks):
            at = _first_block(file, blocks, tracker.start_position())
            tracker.set_split_points_unclaimed_callback(_left(lambda: at))
            while at is not None and file.read(1) and tracker.try_claim(at):
                file.seek(at)
                block = next(blocks)
                at = block.offset + block.size
                yield from block
                file.seek(at)

    @contextmanager
    def _blocks(self, path: str) -> Iterator[tuple[IO[bytes], Any]]:
        with reading(path), as_os_errors(), self.open_file(path) as file:
            yield file, avro().block_reader(file)


def _first_block(file: IO[bytes], blocks: Any, start: int) -> int | None:
    """Return where the first block begins that does so at a byte or later; None if there is none."""
    header = file.tell()
    if start <= header:
        return header
    marker = blocks._header[
        "sync"
    ]  # fastavro has no public name for it, and keeps this one for Beam
    at = max(0, start - len(marker))
    file.seek(at)
    text = b""
    while chunk := file.read(_CHUNK):
        text += chunk
        found = text.find(marker)
        if found >= 0:
            file.seek(at + found + len(marker))
            return file.tell()
        at += len(text) - len(marker) + 1
        text = text[-len(marker) + 1 :]
    return None


def _left(following: Callable[[], int | None]) -> Callable[[Any], Any]:
    """Return the function for the number of blocks before a stop that are not yet claimed."""

    def left(stop: Any) -> Any:
        at = following()
        return 0 if at is None or at >= stop else RangeTracker.SPLIT_POINTS_UNKNOWN

    return left


class ParquetSource(FileBasedSource):
    """The row groups of Parquet files as Arrow tables.

    >>> ParquetSource("delays.parquet", validate=False).display_data()["file_pattern"]
    'delays.parquet'
    """

    def __init__(
        self,
        file_pattern: Any,
        min_bundle_size: int = 0,
        validate: bool = False,
        columns: Sequence[str] | None = None,
    ) -> None:
        super().__init__(file_pattern, min_bundle_size, validate=validate)
        self._columns = columns

    def read_records(self, file_name: str, offset_range_tracker: RangeTracker) -> Iterator[Any]:
        """Return the row groups that begin in a range."""
        tracker = offset_range_tracker
        following: int | None = 0
        tracker.set_split_points_unclaimed_callback(_left(lambda: following))
        with ParquetTables(file_name, self._columns).opened_file(file_name) as file:
            starts = [_start_of(file, number) for number in range(file.num_row_groups)]
            for number, start in enumerate(starts):
                if start < tracker.start_position():
                    continue
                if not tracker.try_claim(start):
                    return
                following = starts[number + 1] if number + 1 < len(starts) else None
                yield file.read_row_group(number, self._columns)


def _start_of(file: Any, number: int) -> int:
    """Return the first byte of a row group."""
    column = file.metadata.row_group(number).column(0)
    return int(column.dictionary_page_offset or column.data_page_offset)
