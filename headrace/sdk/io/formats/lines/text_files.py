"""Text files: each line is an element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from typing import Any

import attrs

from headrace.sdk.io.files.file_partitions import DividedFiles
from headrace.sdk.io.files.file_places import (
    START,
    UNKNOWN_PLACES,
    FilePlace,
    Places,
    places_of_lines,
)
from headrace.sdk.io.files.file_source import CHUNK_ROWS, Columns
from headrace.sdk.io.files.opening import is_compressed, open_file
from headrace.sdk.io.files.read_errors import reading
from headrace.sdk.io.files.text_record import TextRecord
from headrace.sdk.io.formats.lines.line_coder import KEEPS_BYTES, decoded_lines, line_decoder


@attrs.frozen(eq=False)
class TextFiles(DividedFiles):
    r"""The lines of text files, as strings, in a single column ``value``.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        strip_trailing_newlines: whether to remove line breaks.
        skip_header_lines: number of lines to skip at the beginning of each file.
        timestamp: a function of the line that gives its event time.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
        coder: decodes the bytes of a line; by default a line is text in UTF-8.
        with_filename: whether elements are pairs of the path of the file and the line.

    >>> TextFiles("log.txt").bundle({"value": ["a", "b"]}).values
    ['a', 'b']
    """

    strip_trailing_newlines: bool = True
    skip_header_lines: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    coder: Any = attrs.field(default=None, kw_only=True, converter=line_decoder)
    with_filename: bool = attrs.field(default=False, kw_only=True)

    def column_names(self) -> tuple[str, ...]:
        return ("value",)

    def read_columns(self, path: str) -> Iterator[Columns]:
        return self.columns_from(path, START)

    def places(self, path: str, place: FilePlace, limit: int) -> Places:
        if is_compressed(path, self.compression):
            return UNKNOWN_PLACES
        return places_of_lines(path, place, limit, self.skip_header_lines)

    def columns_from(self, path: str, place: FilePlace) -> Iterator[Columns]:
        errors = "strict" if self.coder is None else KEEPS_BYTES
        with (
            reading(path),
            TextIOWrapper(self._at(path, place), "utf-8", errors, newline="\n") as file,
        ):
            lines = islice(file, 0 if place.byte else self.skip_header_lines, None)
            while chunk := list(islice(lines, CHUNK_ROWS)):
                own = stripped(chunk) if self.strip_trailing_newlines else chunk
                yield (
                    {"value": own, "path": [path] * len(own)}
                    if self.with_filename
                    else {"value": own}
                )

    def _at(self, path: str, place: FilePlace) -> Any:
        file = self.open(path)
        if place.byte:
            file.seek(place.byte)
        return file

    def text_records(self, path: str) -> Iterator[list[TextRecord]]:
        """Return the lines of a file, in chunks."""
        before = self.skip_header_lines
        for chunk in self.read_columns(path):
            numbered = enumerate(chunk["value"], start=before + 1)
            fields = [path] if self.with_filename else None
            yield [TextRecord(line, number, fields) for number, line in numbered]
            before += len(chunk["value"])

    def parse_records(self, records: Sequence[TextRecord]) -> Columns:
        """Return the column of lines, and perhaps the one of paths."""
        columns = {"value": [record.text for record in records]}
        if self.with_filename:
            columns["path"] = [path for record in records for path in record.fields or ()]
        return columns

    def open(self, path: str) -> Any:
        """Open a file, decompressed."""
        return open_file(path, "rb", self.compression)

    def values(self, columns: Columns) -> list[Any]:
        lines = columns["value"]
        values = lines if self.coder is None else decoded_lines(self.coder, lines)
        return list(zip(columns["path"], values, strict=True)) if self.with_filename else values


def stripped(lines: list[str]) -> list[str]:
    r"""Return lines without line breaks, ``\n`` or ``\r\n``.

    >>> stripped(["a\n", "b\r\n", "c"])
    ['a', 'b', 'c']
    """
    text = "".join(lines)
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n")
