"""TFRecord files: each record is an element, bytes or what a coder makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.io.files.file_partitions import DividedFiles
from headrace.sdk.io.files.file_places import PART, START, UNKNOWN_PLACES, FilePlace, Places
from headrace.sdk.io.files.file_source import CHUNK_ROWS, Columns
from headrace.sdk.io.files.opening import is_compressed, open_file
from headrace.sdk.io.files.read_errors import reading
from headrace.sdk.io.formats.lines.line_sinks import LineSink
from headrace.sdk.io.formats.tfrecord.record_frames import (
    crc32c,
    decoded,
    ends_of_records,
    framed,
    read_records,
)


@attrs.frozen(eq=False)
class TFRecordFiles(DividedFiles):
    """The records of TFRecord files, in a single column ``value``.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        coder: has a method ``decode`` that makes an element of the bytes; None for bytes.
        timestamp: a function of the element that gives its event time.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.

    >>> TFRecordFiles("examples.tfrecord").bundle({"value": [b"foo"]}).values
    [b'foo']
    """

    coder: Any = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check that the library for checksums is installed."""
        crc32c()
        if isinstance(self.timestamp, str):
            raise PipelineError(
                f"records of TFRecord have no column {self.timestamp!r}",
                remedy="give a function of the element as the timestamp",
            )

    def column_names(self) -> tuple[str, ...]:
        return ("value",)

    def values(self, columns: Columns) -> list[Any]:
        return decoded(self.coder, columns["value"])

    def read_columns(self, path: str) -> Iterator[Columns]:
        return self.columns_from(path, START)

    def columns_from(self, path: str, place: FilePlace) -> Iterator[Columns]:
        with reading(path), open_file(path, "rb", self.compression) as file:
            if place.byte:
                file.seek(place.byte)
            records = read_records(file, crc32c(), place.byte)
            while chunk := list(islice(records, CHUNK_ROWS)):
                yield {"value": chunk}

    def places(self, path: str, place: FilePlace, limit: int) -> Places:
        """Return the ends of the parts of a file that is not compressed."""
        if is_compressed(path, self.compression) or not place.is_found:
            return UNKNOWN_PLACES
        found: list[FilePlace] = []
        with reading(path), open_file(path, "rb", self.compression) as file:
            ends = islice(ends_of_records(file, crc32c(), place.byte), limit)
            records = place.records
            while part := list(islice(ends, PART)):
                records += len(part)
                found.append(FilePlace(records, part[-1]))
        return Places(tuple(found))


@attrs.frozen(eq=False)
class TFRecordSink(LineSink):
    """Writes each element, bytes or what a coder makes bytes of, as a record of TFRecord.

    Args:
        coder: has a method ``encode`` that makes bytes of an element; None for elements that are bytes.

    >>> len(TFRecordSink(hr.io.FileNaming("out")).text_of(Bundle([b"foo"])))
    19
    """

    coder: Any = None

    def __attrs_post_init__(self) -> None:
        """Check that the library for checksums is installed."""
        super().__attrs_post_init__()
        crc32c()

    def text_of(self, bundle: Bundle) -> bytes:
        crc = crc32c()
        return b"".join(framed(self._encoded(value), crc) for value in bundle.values)

    def _encoded(self, value: object) -> bytes:
        data = value if self.coder is None else self.coder.encode(value)
        if isinstance(data, bytes):
            return data
        raise ElementError(
            f"the element {shorten(value)} is not bytes, so it cannot be a record of TFRecord",
            remedy="make bytes of it in an hr.Map before the sink, or pass a coder",
        )
