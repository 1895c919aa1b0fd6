r"""Places in files: where parts of a file begin, found without parsing its records.

The driver finds the places of the next records, and workers read from them, in parallel.

>>> import pathlib, tempfile
>>> path = pathlib.Path(tempfile.mkdtemp(), "log.txt")
>>> _ = path.write_text("one\ntwo\nthree\n")
>>> places_of_lines(str(path), START, limit=2)
Places(places=(FilePlace(records=2, byte=8, line=2),), is_known=True)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Final, NamedTuple

import attrs

from headrace.errors import FileError
from headrace.sdk.io.files.read_errors import reading

PART: Final = 1 << 13
"""Maximum number of records in a part."""


class FilePlace(NamedTuple):
    """A place between two records of a file.

    Attributes:
        records: number of records before it.
        byte: number of bytes before it; 0 if unknown.
        line: number of lines before it.
    """

    records: int = 0
    byte: int = 0
    line: int = 0

    @property
    def is_found(self) -> bool:
        """Whether a file of lines can be read from here without reading what is before."""
        return self.byte > 0 or not self.records


START: Final = FilePlace()
"""The beginning of a file."""


@attrs.frozen
class Places:
    """The ends of consecutive parts of a file.

    Attributes:
        places: the ends; fewer records than were asked for, if the file ends there.
        is_known: whether the place after the last part can be told.
    """

    places: Sequence[FilePlace] = ()
    is_known: bool = True


UNKNOWN_PLACES: Final = Places(is_known=False)
"""The places cannot be told."""


def places_of_lines(
    path: str, place: FilePlace, limit: int, header: int = 0, blank_lines: bool = True
) -> Places:
    """Return the ends of parts of a file in which a record is a line.

    Args:
        path: the file.
        place: where the first part begins.
        limit: maximum number of records of all parts.
        header: number of lines before the first record.
        blank_lines: whether an empty line is a record.
    """
    if not place.is_found:
        return UNKNOWN_PLACES
    found: list[FilePlace] = []
    with reading(path), open(path, "rb") as file:
        at = _after_header(file, place, header)
        end = at.records + limit
        while at.records < end:
            lines = list(islice(file, min(PART, end - at.records)))
            if not lines:
                break
            records = len(lines) if blank_lines else sum(not _is_blank(line) for line in lines)
            at = _moved(at, lines, records)
            found.append(at)
    return Places(tuple(found))


def places_of_csv(
    path: str, place: FilePlace, limit: int, header: bool, delimiter: str, quote: str
) -> Places:
    """Return the ends of parts of a CSV file, whose quoted fields may contain lines."""
    if not place.is_found:
        return UNKNOWN_PLACES
    found: list[FilePlace] = []
    with reading(path), open(path, "rb") as file:
        at = place
        end = at.records + limit
        file.seek(at.byte)
        skip = header and not at.byte
        while at.records < end:
            records = _CsvRecords(file, delimiter, quote)
            count = records.take(skip + min(PART, end - at.records))
            if count is None:
                return Places(tuple(found), is_known=False)
            if not records.lines:
                break
            at = _moved(at, records.lines, max(0, count - skip))
            skip = False
            found.append(at)
    return Places(tuple(found))


class _CsvRecords:
    """Takes records of a CSV file, and keeps their lines."""

    def __init__(self, file: IO[bytes], delimiter: str, quote: str) -> None:
        self.lines: list[bytes] = []
        self._file = file
        self._format = {"delimiter": delimiter, "quotechar": quote}

    def take(self, limit: int) -> int | None:
        """Return the number of the next records, at most a limit; None if it cannot be told."""
        reader = csv.reader(self._decoded(), strict=True, **self._format)  # type: ignore[arg-type]
        try:
            return sum(1 for fields in islice(filter(None, reader), limit) if fields)
        except (csv.Error, UnicodeDecodeError, FileError):
            return None

    def _decoded(self) -> Iterator[str]:
        for line in self._file:
            if b"\r" in line.removesuffix(b"\r\n"):
                raise FileError("a carriage return within a line")
            self.lines.append(line)
            yield line.decode()


def _after_header(file: IO[bytes], place: FilePlace, header: int) -> FilePlace:
    file.seek(place.byte)
    return place if place.byte else _moved(place, list(islice(file, header)), 0)


def _moved(place: FilePlace, lines: Sequence[bytes], records: int) -> FilePlace:
    byte = place.byte + sum(map(len, lines))
    return FilePlace(place.records + records, byte, place.line + len(lines))


def _is_blank(line: bytes) -> bool:
    return line in (b"\n", b"\r\n")
