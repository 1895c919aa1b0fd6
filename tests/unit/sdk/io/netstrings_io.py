"""A file format in one module: netstrings, such as ``3:foo,3:bar,``, as strings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import IO

import attrs

from headrace.grouping.bundle import Bundle
from headrace.sdk.io.files.file_source import CHUNK_ROWS, Columns, FileSource, TimestampOf
from headrace.sdk.io.files.opening import FilePattern, open_file
from headrace.sdk.io.files.read_errors import reading
from headrace.sdk.io.formats.lines.line_sinks import LineSink
from headrace.sdk.io.formats.read_options import ReadOptions
from headrace.sdk.io.formats.reading import ReadFromFiles
from headrace.sdk.io.formats.reading_all import ReadAllFromFiles, ReadContinuously
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions
from headrace.sdk.io.formats.writing import WriteTo
from headrace.windowing.watermarks.policies import WatermarkPolicy


@attrs.frozen(eq=False)
class NetstringFiles(FileSource):
    """The strings in files of netstrings, in a single column ``value``."""

    def column_names(self) -> tuple[str, ...]:
        return ("value",)

    def values(self, columns: Columns) -> list[str]:
        return columns["value"]

    def read_columns(self, path: str) -> Iterator[Columns]:
        with reading(path), open_file(path, "rb", self.compression) as file:
            strings = iter(lambda: _next(file), None)
            while chunk := list(islice(strings, CHUNK_ROWS)):
                yield {"value": chunk}


def _next(file: IO[bytes]) -> str | None:
    """Return the next string; None at the end of the file."""
    digits = b""
    while (byte := file.read(1)) not in (b":", b""):
        digits += byte
    if not byte and not digits:
        return None
    size = int(digits) if digits.isdigit() else -1
    text = file.read(size + 1) if size >= 0 else b""
    if len(text) != size + 1 or not text.endswith(b","):
        raise OSError(f"{digits + byte + text!r} is not a netstring")
    return text[:-1].decode()


@attrs.frozen(eq=False)
class NetstringSink(LineSink):
    """Writes each element, a string, as a netstring."""

    def text_of(self, bundle: Bundle) -> bytes:
        encoded = [value.encode() for value in bundle.values]
        return b"".join(b"%d:%b," % (len(text), text) for text in encoded)


class ReadFromNetstrings(ReadFromFiles[str]):
    """Reads the strings of netstring files."""

    def __init__(
        self,
        file_pattern: FilePattern,
        *,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        watch: bool | float = False,
    ) -> None:
        files = NetstringFiles(file_pattern, timestamp=timestamp)
        super().__init__(files, str, ReadOptions(True, watermark, watch))


class ReadAllFromNetstrings(ReadAllFromFiles[str]):
    """Reads the strings of the netstring files that a collection names."""

    def __init__(self, with_filename: bool = False) -> None:
        super().__init__(NetstringFiles(()), str, with_filename)


class ReadAllFromNetstringsContinuously(ReadContinuously):
    """Reads the strings of netstring files that match a pattern, now and later."""

    reader = ReadAllFromNetstrings


class WriteToNetstrings(WriteTo):
    """Writes each element, a string, as a netstring."""

    def __init__(self, path: PathPrefix, suffix: str = "", windowed_writes: bool = False) -> None:
        files = WriteOptions(path, suffix, windowed_writes=windowed_writes)
        super().__init__(files.sink(NetstringSink))
