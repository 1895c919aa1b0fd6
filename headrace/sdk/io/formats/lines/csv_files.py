"""CSV files: each record is a Row whose values have the types of a schema."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from typing import Any, NoReturn

import attrs

from headrace.errors import FileError, PipelineError, shorten
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import arguments_of, records_of
from headrace.sdk.io.files.file_places import (
    START,
    UNKNOWN_PLACES,
    FilePlace,
    Places,
    places_of_csv,
)
from headrace.sdk.io.files.file_source import (
    CHUNK_ROWS,
    Columns,
    names_of,
    needed,
    require_columns,
)
from headrace.sdk.io.files.opening import existing, is_compressed, matching, open_file
from headrace.sdk.io.files.read_errors import reading
from headrace.sdk.io.files.text_record import KeptLines, TextRecord
from headrace.sdk.io.formats import column_types as schemas
from headrace.sdk.io.formats.lines.column_tables import TypedFiles

CsvRecords = list[list[str]]


@attrs.frozen(eq=False)
class CsvFiles(TypedFiles):
    """The records of CSV files, as rows; an empty field is None.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        schema: the type of each column by its name, in the order of the file: str, int, float, bool,
            datetime, date or Decimal. Or a class of records, whose fields are columns in any order.
            By default it is inferred from the first file: the names from its first line, the types from
            its first 1,000 records. Types are inferred as int, float, bool or str; numbers with a leading
            zero are str.
        columns: the columns of the rows; all by default.
        header: whether the first line of each file names the columns.
        delimiter: the separator between fields.
        quotechar: the quote around a field that contains a delimiter, a quote or a line break.
        timestamp: a column, or a function of the row, that gives its event time.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.

    Raises:
        FileError: there is neither a schema nor a file to infer it from.
        PipelineError: a column in ``columns`` or ``timestamp`` does not exist.

    >>> files = CsvFiles("delays.csv", schema={"airport": str, "delay": int}, timestamp="delay")
    >>> files.bundle({"airport": ["EWR"], "delay": [7]})
    Bundle(values=[Row(airport='EWR', delay=7)], timestamps=[7000000], ...)
    """

    given_schema: schemas.GivenSchema = attrs.field(default=None, alias="schema")
    columns: tuple[str, ...] | None = attrs.field(default=None, converter=names_of)
    header: bool = attrs.field(default=True, kw_only=True)
    delimiter: str = attrs.field(default=",", kw_only=True)
    quotechar: str = attrs.field(default='"', kw_only=True)
    schema: schemas.ColumnTypes = attrs.field(init=False)

    @schema.default
    def _read_schema(self) -> schemas.ColumnTypes:
        if isinstance(self.given_schema, type):
            return self._schema_for_class(schemas.checked(self.given_schema))
        if self.given_schema is not None:
            return schemas.checked(self.given_schema)
        if not self.header:
            raise PipelineError(
                "a CSV file without a header has no column names",
                remedy='give a schema, such as {"airport": str, "delay": int}',
            )
        first = existing(self.patterns, "ReadFromCsv")[0]
        with reading(first), self._open(first) as file:
            names = self._first_line(file, first)
            records = list(islice(self._text_records(file), schemas.INFERRED_RECORDS))
        texts = zip(*(r.fields for r in records if len(r.fields or []) == len(names)), strict=True)
        kinds = list(map(schemas.read_type, texts)) or [str] * len(names)
        return dict(zip(names, kinds, strict=True))

    def _schema_for_class(self, types: schemas.ColumnTypes) -> schemas.ColumnTypes:
        """Return the types of all columns of the first file; those that the class does not have are str."""
        if self.columns is not None:
            raise PipelineError(
                "there are both columns and a class as the schema, whose fields are the columns",
                remedy="remove columns, or give the schema as a dict",
            )
        files = matching(self.patterns)
        if not self.header or not files:
            return types
        with reading(files[0]), self._open(files[0]) as file:
            names = self._first_line(file, files[0])
        require_columns(names, list(types), files[0])
        return {name: types.get(name, str) for name in names}

    def _first_line(self, file: Iterable[str], path: str) -> list[str]:
        """Return the names of the columns."""
        names = next(self._reader(file, path), [])
        _require_names(names, path)
        return names

    def __attrs_post_init__(self) -> None:
        """Check that all columns exist."""
        require_columns(list(self.schema), self.column_names(), "CsvFiles")

    def column_names(self) -> tuple[str, ...]:
        return needed(self.names, self.timestamp) or ()

    def values(self, columns: Columns) -> list[Any]:
        names = self.names
        record = self.given_schema if isinstance(self.given_schema, type) else Row
        return records_of(record, names, [columns[name] for name in names])

    @property
    def element_type(self) -> Any:
        """The type of the elements."""
        return schemas.element_type(self.given_schema, {n: self.schema[n] for n in self.names})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the records."""
        if isinstance(self.given_schema, type):
            return tuple(argument.field for argument in arguments_of(self.given_schema))
        return tuple(self.schema) if self.columns is None else self.columns

    def read_columns(self, path: str) -> Iterator[Columns]:
        return self.columns_from(path, START)

    def places(self, path: str, place: FilePlace, limit: int) -> Places:
        if is_compressed(path, self.compression):
            return UNKNOWN_PLACES
        return places_of_csv(path, place, limit, self.header, self.delimiter, self.quotechar)

    def columns_from(self, path: str, place: FilePlace) -> Iterator[Columns]:
        with reading(path), self._open(path, place.byte) as file:
            reader = self._reader(file, path, place.line)
            if self.header and not place.byte:
                self._check_header(next(reader, None), path)
            before = place.records
            while records := list(islice(reader, CHUNK_ROWS)):
                filled = records if all(records) else list(filter(None, records))
                yield self._columns(filled, path, before)
                before += len(filled)

    def text_records(self, path: str) -> Iterator[list[TextRecord]]:
        """Return the records of a file, in chunks; the header is not a record."""
        with reading(path), self._open(path) as file:
            lines = KeptLines(file)
            if self.header:
                self._check_header(next(self._reader(lines, path), None), path)
                lines.take()
            records = self._text_records(lines)
            while chunk := list(islice(records, CHUNK_ROWS)):
                yield chunk

    def parse_records(self, records: Sequence[TextRecord]) -> Columns:
        """Return the columns of records."""
        for record in records:
            if record.error is not None:
                raise _not_csv(record.error, "")
        return self._columns([record.fields or [] for record in records], "", 0)

    def _text_records(self, lines: Iterable[str]) -> Iterator[TextRecord]:
        """Return records, and after an error the records that follow the line of the error."""
        kept = lines if isinstance(lines, KeptLines) else KeptLines(lines)
        reader = csv.reader(kept, delimiter=self.delimiter, quotechar=self.quotechar, strict=True)
        while True:
            try:
                fields, error = next(reader, None), None
            except csv.Error as found:
                fields, error = [], found
            if fields is None:
                return
            number, text = kept.take()
            if fields or error:
                yield TextRecord(text, number, fields, error)

    def _columns(self, records: CsvRecords, path: str, before: int) -> Columns:
        """Return the columns of records that follow the first ``before`` records of the file."""
        if set(map(len, records)) - {len(self.schema)}:
            self._refuse_length(records, path, before)
        texts = dict(zip(self.schema, map(list, zip(*records, strict=True)), strict=False))
        columns = {}
        for name in self.column_names():
            try:
                columns[name] = schemas.convert(texts.get(name, []), self.schema[name])
            except schemas.CONVERSION_ERRORS as error:
                index = schemas.first_invalid(texts[name], self.schema[name])
                self._refuse_value(name, records[index], path, before + index, error)
        return columns

    def _open(self, path: str, byte: int = 0) -> TextIOWrapper:
        file = open_file(path, "rb", self.compression)
        if byte:
            file.seek(byte)
        return TextIOWrapper(file, "utf-8-sig", newline="")

    def _reader(self, file: Iterable[str], path: str, before: int = 0) -> Iterator[list[str]]:
        """Read records after some lines; an error names the line of an invalid record."""
        reader = csv.reader(file, delimiter=self.delimiter, quotechar=self.quotechar, strict=True)
        try:
            yield from reader
        except csv.Error as error:
            raise _not_csv(error, f"{path}, line {before + reader.line_num}") from error

    def _check_header(self, names: list[str] | None, path: str) -> None:
        if names is not None and names != list(self.schema):
            raise FileError(
                f"the columns are {shorten(names)}, not {shorten(list(self.schema))}",
                where=f"{path}, line 1",
                remedy="give a schema with all columns in the order of the file (columns=[…] selects some), "
                "or read files with other columns separately",
            )

    def _refuse_length(self, records: CsvRecords, path: str, before: int) -> NoReturn:
        index = next(n for n, r in enumerate(records) if len(r) != len(self.schema))
        raise FileError(
            f"the record has {len(records[index])} fields, not {len(self.schema)}",
            where=self._where(path, before + index, records[index]),
            remedy="correct the line, or give the delimiter and quotechar that the file uses",
        )

    def _refuse_value(
        self, name: str, record: list[str], path: str, number: int, error: Exception
    ) -> NoReturn:
        text = dict(zip(self.schema, record, strict=True))[name]
        raise FileError(
            f"{text!r} in the column {name!r} is not of type {self.schema[name].__name__}",
            where=self._where(path, number, record),
            remedy=f"correct the line, or give a schema in which {name!r} has another type",
        ) from error

    def _where(self, path: str, number: int, record: list[str]) -> str:
        """Return the path and line of a record; reads the file again, as fields can contain lines."""
        if not path:
            return ""
        with self._open(path) as file:
            reader = csv.reader(file, delimiter=self.delimiter, quotechar=self.quotechar)
            records = (found for found in reader if found)
            next(islice(records, number + self.header, None), None)
            return f"{path}, line {reader.line_num}: {shorten(self.delimiter.join(record))}"


def _not_csv(error: Exception, where: str) -> FileError:
    return FileError(
        f"this is not valid CSV: {error}",
        where=where,
        remedy="correct the line, or give the delimiter and quotechar that the file uses",
    )


def _require_names(names: list[str], path: str) -> None:
    if not names or len(set(names)) < len(names):
        raise FileError(
            f"the first line has no column names, or the same one twice: {shorten(names)}",
            where=f"{path}, line 1",
            remedy="add a first line with a name for each column, or give schema and header=False",
        )
