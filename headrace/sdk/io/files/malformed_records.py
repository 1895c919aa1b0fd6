"""Dead letters of readers: records that cannot be read, beside those that can.

The source itself parses the records, because their timestamps must come from it: a later step could only
assign timestamps that are behind the watermark. So it reads a row or a :class:`MalformedRecord` for each
record, and the step after it separates them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from traceback import format_exception
from typing import Any, Protocol

import attrs

from headrace.errors import HeadraceError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.io.files.file_source import Columns, FileSource
from headrace.sdk.io.files.text_record import TextRecord
from headrace.sdk.pardo.exception_handling import Exceptions, user_frames


@attrs.frozen
class MalformedRecord:
    """An element that stands for a record that cannot be read.

    Args:
        text: the record.
        error: type of the exception, its repr, and the lines of its traceback.
    """

    text: str
    error: tuple[type[BaseException], str, list[str]]


class RecordFiles(Protocol):
    """Files of a format that can be read record by record."""

    def text_records(self, path: str) -> Iterator[list[TextRecord]]:
        """Return the records of a file, in chunks."""

    def parse_records(self, records: Sequence[TextRecord]) -> Columns:
        """Return the columns of records.

        Raises:
            FileError: a record is malformed.
        """


@attrs.frozen(eq=False)
class FilesWithMalformedRecords(FileSource):
    """The elements of files, and a :class:`MalformedRecord` for each record that cannot be read.

    A malformed record has the timestamp of the beginning of time.

    Args:
        exc_class: the exceptions that make a record malformed; other exceptions stop the pipeline.
    """

    origin: Any = attrs.field(kw_only=True)
    """The files, which are also :class:`RecordFiles`."""
    exc_class: Exceptions = attrs.field(default=Exception, kw_only=True)

    @classmethod
    def of(cls, files: Any, exc_class: Exceptions) -> FilesWithMalformedRecords:
        """Return files with their malformed records."""
        return cls(
            files.patterns,
            timestamp=files.timestamp,
            compression_type=files.compression,
            origin=files,
            exc_class=exc_class,
        )

    def column_names(self) -> tuple[str, ...] | None:
        return self.origin.column_names()  # type: ignore[no-any-return]

    def values(self, columns: Columns) -> list[Any]:
        return self.origin.values(columns)  # type: ignore[no-any-return]

    def read_columns(self, path: str) -> Iterator[Columns]:
        return self.origin.read_columns(path)  # type: ignore[no-any-return]

    def read_file(self, path: str) -> Iterator[Bundle]:
        for records in self.origin.text_records(path):
            yield Bundle.concat(list(self._bundles(records, path)))

    def _bundles(self, records: Sequence[TextRecord], path: str) -> Iterator[Bundle]:
        """Return the elements of records; divide the records until each malformed one is alone."""
        try:
            yield self.origin.bundle(self.origin.parse_records(records))
            return
        except Exception as error:
            if len(records) == 1:
                yield Bundle([self._malformed(records[0], error, path)])
                return
        # Outside of the handler, so that a later exception has no context.
        middle = len(records) // 2
        yield from self._bundles(records[:middle], path)
        yield from self._bundles(records[middle:], path)

    def _malformed(self, record: TextRecord, error: Exception, path: str) -> MalformedRecord:
        located = _located(error, record, path)
        if not isinstance(error, self.exc_class):
            raise located
        lines = format_exception(type(located), located, user_frames(located.__traceback__))
        return MalformedRecord(record.text, (type(located), repr(located), lines))


def _located(error: Exception, record: TextRecord, path: str) -> Exception:
    """Return an error that names the file and the line."""
    place = f"{path}, line {record.line}"
    if isinstance(error, HeadraceError):
        problem = f"{error.problem} ({place})"
        return type(error)(problem, where=shorten(record.text), remedy=error.remedy)
    error.add_note(f"in {place}: {shorten(record.text)}")
    return error


def separated(element: object, tag: str) -> Any:
    """Return an element unchanged, and a malformed record as a dead letter for an output.

    >>> bad = MalformedRecord("{", (hr.FileError, "FileError(...)", []))
    >>> separated("good", "bad"), separated(bad, "bad").value[0]
    ('good', '{')
    """
    if isinstance(element, MalformedRecord):
        return TaggedOutput(tag, (element.text, element.error))
    return element
