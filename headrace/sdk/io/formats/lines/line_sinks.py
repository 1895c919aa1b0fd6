"""Sinks of text, CSV and JSON lines: files of lines, with a header and a footer."""

from __future__ import annotations

import csv
import json
import shutil
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import IO, Any, ClassVar, Final, Self

import attrs

from headrace.errors import ElementError, FileError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.elements.schemas import Schema, fields_of, schema_of
from headrace.sdk.io.files.compression import compressed_bytes
from headrace.sdk.io.files.file_sink import FileSink, diffs_of
from headrace.sdk.io.files.file_source import names_of
from headrace.sdk.io.files.joined_pieces import Piece, Written
from headrace.sdk.io.files.opening import open_file
from headrace.sdk.io.formats.lines.line_coder import encoded_elements, line_encoder
from headrace.sdk.io.formats.plain_data import converted, in_json, in_text, named
from headrace.sdk.io.formats.record_columns import columns_of, names_in, with_diff

_encode: Final = json.JSONEncoder(default=in_json, ensure_ascii=False).encode


@attrs.frozen(eq=False)
class LineSink(FileSink):
    """Writes lines; a format defines :meth:`text_of`, :meth:`head_of` and :meth:`foot`."""

    def write_file(self, path: str, bundle: Bundle) -> Written:
        head = self.head_of(bundle)
        top, body = self._compressed(head.encode()), self._compressed(self.text_of(bundle))
        foot = self._compressed(self.foot().encode())
        if self.num_shards:
            top = foot = b""
        with open_file(path, "wb", "uncompressed") as file:
            for stream in filter(None, (top, body, foot)):
                file.write(stream)
        return Written(head, len(top), len(top) + len(body) if foot else 0)

    def assemble(self, path: str, pieces: Sequence[Piece]) -> None:
        heads = {piece.head for piece in pieces} or {self.head_of(Bundle([]))}
        if len(heads) > 1:
            raise FileError(
                f"the parts of the file have different headers: {shorten(sorted(heads))}",
                where=path,
                remedy="give all elements the same fields, or name those to write with columns=[…]",
            )
        with open_file(path, "wb", "uncompressed") as whole:
            whole.write(self._compressed(heads.pop().encode()))
            for piece in pieces:
                _append(whole, piece)
            whole.write(self._compressed(self.foot().encode()))

    def _compressed(self, text: bytes) -> bytes:
        """Return text as a separate compressed stream, which can follow others in all compression types."""
        return compressed_bytes(text, self.compression, self.naming.end) if text else b""

    def head_of(self, bundle: Bundle) -> str:
        """Return the header of a file of these elements."""
        return ""

    def foot(self) -> str:
        """Return the footer of a file."""
        return ""

    @abstractmethod
    def text_of(self, bundle: Bundle) -> bytes:
        """Return elements as lines of text."""


def _append(whole: IO[bytes], piece: Piece) -> None:
    """Append the elements of a piece, without its header and footer."""
    with open_file(piece.path, "rb", "uncompressed") as part:
        part.seek(piece.start)
        if piece.stop:
            whole.write(part.read(piece.stop - piece.start))
        else:
            shutil.copyfileobj(part, whole)


@attrs.frozen(eq=False)
class TextSink(LineSink):
    r"""Writes ``str(element)``, or the element itself if it is bytes, on a separate line.

    Args:
        append_trailing_newlines: whether to write a line break after each element.
        header: the first line of each file.
        footer: the last line of each file.
        coder: encodes elements.

    >>> TextSink(hr.io.FileNaming("out")).text_of(Bundle(["a", 1]))
    b'a\n1\n'
    """

    retraction_remedy: ClassVar[str] = (
        "apply hr.ToChangelog() first to write (diff, value) pairs, or write CSV, JSON or Parquet with "
        "diff_column='diff'"
    )

    append_trailing_newlines: bool = True
    header: str | None = None
    footer: str | None = None
    coder: Any = attrs.field(default=None, kw_only=True, converter=line_encoder)

    def text_of(self, bundle: Bundle) -> bytes:
        end = b"\n" if self.append_trailing_newlines else b""
        if self.coder is not None:
            return end.join([*encoded_elements(self.coder, bundle.values), b""])
        texts = [v if isinstance(v, bytes) else str(v).encode() for v in bundle.values]
        return end.join([*texts, b""])

    def head_of(self, bundle: Bundle) -> str:
        return "" if self.header is None else f"{self.header}\n"

    def foot(self) -> str:
        return "" if self.footer is None else f"{self.footer}\n"


@attrs.frozen(eq=False)
class CsvSink(LineSink):
    r"""Writes each element's fields as a record of CSV.

    Args:
        columns: the fields to write; by default those of the first element.
        element_schema: the schema of the elements, for the header of a file without elements.
        header: whether each file begins with the names of the columns.
        delimiter: the separator between fields.
        quotechar: the quote around a field that contains a delimiter, a quote or a line break.

    >>> CsvSink(hr.io.FileNaming("out")).text_of(Bundle([{"airport": "EWR", "delay": None}]))
    b'EWR,\n'
    """

    columns: tuple[str, ...] | None = attrs.field(default=None, converter=names_of)
    header: bool = True
    delimiter: str = ","
    quotechar: str = '"'
    element_schema: Schema | None = attrs.field(default=None, kw_only=True)

    def with_element_type(self, kind: object) -> Self:
        return attrs.evolve(self, element_schema=schema_of(kind))

    def text_of(self, bundle: Bundle) -> bytes:
        names = names_in(bundle, self.columns)
        columns = columns_of(bundle, names, self.diff_column, exact=self.columns is None)
        texts = (converted(column, in_text) for column in columns.values())
        return self._csv(zip(*texts, strict=True)).encode()

    def head_of(self, bundle: Bundle) -> str:
        names = names_in(bundle, self.columns, self.element_schema)
        if not self.header or not names:
            return ""
        return self._csv([[*names, *([self.diff_column] if self.diff_column else [])]])

    def _csv(self, records: Iterable[Sequence[object]]) -> str:
        text = StringIO()
        writer = csv.writer(
            text, delimiter=self.delimiter, quotechar=self.quotechar, lineterminator="\n"
        )
        writer.writerows(records)
        return text.getvalue()


@attrs.frozen(eq=False)
class JsonSink(LineSink):
    r"""Writes each element's fields as a JSON object on a separate line.

    >>> JsonSink(hr.io.FileNaming("out"), diff_column="diff").text_of(Bundle([{"airport": "EWR"}]))
    b'{"airport": "EWR", "diff": 1}\n'
    """

    def text_of(self, bundle: Bundle) -> bytes:
        return "".join(map(self._line, bundle.values, diffs_of(bundle))).encode()

    def _line(self, element: object, diff: int) -> str:
        fields = fields_of(element)
        if self.diff_column is not None:
            fields = with_diff(fields, self.diff_column, diff)
        try:
            return _encode(named(dict(fields))) + "\n"
        except (TypeError, ValueError) as error:
            raise ElementError(
                f"the element {shorten(element)} cannot be written as JSON: {error}",
                remedy="convert it to strings, numbers, lists and dicts with an hr.Map before the sink",
            ) from error
