"""Files of JSON lines: each line is an object, and each object a Row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import islice
from typing import Any, Final, NoReturn

import attrs

from headrace.errors import FileError, shorten
from headrace.sdk.elements.row import rows_of
from headrace.sdk.elements.schemas import checked_records
from headrace.sdk.io.files.file_places import (
    START,
    UNKNOWN_PLACES,
    FilePlace,
    Places,
    places_of_lines,
)
from headrace.sdk.io.files.file_source import Columns, needed, require_columns
from headrace.sdk.io.files.opening import existing, is_compressed
from headrace.sdk.io.files.text_record import TextRecord
from headrace.sdk.io.formats import column_types as schemas
from headrace.sdk.io.formats.lines.column_tables import TypedFiles
from headrace.sdk.io.formats.lines.text_files import TextFiles

_KINDS: Final = (str, int, float, bool, datetime, date, list, dict, object)

_FROM_JSON: Final[dict[type, Any]] = {
    float: float,
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
}
"""Conversions to types that JSON does not have, or writes in several ways."""

_IN_JSON: Final[dict[type, tuple[type, ...]]] = {
    float: (float, int),
    datetime: (str,),
    date: (str,),
}


@attrs.frozen(eq=False)
class JsonFiles(TypedFiles):
    """The objects in files of JSON lines, as rows; a missing field is None.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        schema: the type of each field by its name: str, int, float, bool, list, dict, datetime or date
            (in ISO 8601 form), or object for anything; or a class of records. Other fields are ignored.
            By default the schema is inferred from the first 1,000 lines of the first file, apart from
            malformed ones, and other fields are an error.
        timestamp: a field, or a function of the row, that gives its event time.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.

    Raises:
        FileError: there is neither a schema nor a file to infer it from.
        PipelineError: the timestamp field does not exist.

    >>> files = JsonFiles("delays.json", schema={"airport": str, "delay": int})
    >>> files.parse(['{"airport": "EWR"}'])
    {'airport': ['EWR'], 'delay': [None]}
    """

    given_schema: schemas.GivenSchema = attrs.field(default=None, alias="schema")
    schema: schemas.ColumnTypes = attrs.field(init=False)

    @schema.default
    def _read_schema(self) -> schemas.ColumnTypes:
        if self.given_schema is not None:
            return schemas.checked(self.given_schema, _KINDS)
        first = existing(self.patterns, "ReadFromJson")[0]
        chunks = (chunk["value"] for chunk in self._text().read_columns(first))
        lines = list(
            islice((line for chunk in chunks for line in chunk if line), schemas.INFERRED_RECORDS)
        )
        objects = _readable(lines) or _objects(lines, first, 0)
        names = dict.fromkeys(name for each in objects for name in each)
        return {name: schemas.value_type(each.get(name) for each in objects) for name in names}

    def __attrs_post_init__(self) -> None:
        """Check that the timestamp field exists."""
        require_columns(list(self.schema), self.column_names(), "JsonFiles")

    def column_names(self) -> tuple[str, ...]:
        return needed(tuple(self.schema), self.timestamp) or ()

    def values(self, columns: Columns) -> list[Any]:
        names, cells = tuple(self.schema), [columns[name] for name in self.schema]
        if isinstance(self.given_schema, type):
            return checked_records(self.given_schema, names, cells)
        return rows_of(names, cells)

    @property
    def element_type(self) -> Any:
        """The type of the elements."""
        return schemas.element_type(self.given_schema, self.schema)

    def read_columns(self, path: str) -> Iterator[Columns]:
        return self.columns_from(path, START)

    def places(self, path: str, place: FilePlace, limit: int) -> Places:
        if is_compressed(path, self.compression):
            return UNKNOWN_PLACES
        return places_of_lines(path, place, limit, blank_lines=False)

    def columns_from(self, path: str, place: FilePlace) -> Iterator[Columns]:
        before = place.line
        for chunk in self._text().columns_from(path, place):
            yield self.parse(chunk["value"], path, before)
            before += len(chunk["value"])

    def text_records(self, path: str) -> Iterator[list[TextRecord]]:
        """Return the lines of a file that are not empty, in chunks."""
        before = 0
        for chunk in self._text().read_columns(path):
            numbered = enumerate(chunk["value"], start=before + 1)
            yield [TextRecord(line, number) for number, line in numbered if line]
            before += len(chunk["value"])

    def parse_records(self, records: Sequence[TextRecord]) -> Columns:
        """Return the columns of lines."""
        return self.parse([record.text for record in records])

    def parse(self, lines: Sequence[str], path: str = "", before: int = 0) -> Columns:
        """Return the columns of lines of text; also for runners that read lines themselves.

        Args:
            lines: the lines; empty ones are skipped.
            path: their file, for errors.
            before: number of lines that precede them in the file.

        Raises:
            FileError: a line is not an object, or does not match the schema.
        """
        if "" in lines:
            return self._joined(
                self.parse([line], path, before + n) for n, line in enumerate(lines) if line
            )
        objects = _objects(lines, path, before)
        if self.given_schema is None:
            self._refuse_unknown(objects, path, before)
        return {
            name: self._column(name, kind, objects, path, before)
            for name, kind in self.schema.items()
        }

    def _joined(self, parts: Iterable[Columns]) -> Columns:
        chunks = list(parts)
        return {name: [v for chunk in chunks for v in chunk[name]] for name in self.schema}

    def _text(self) -> TextFiles:
        return TextFiles(self.patterns, compression_type=self.compression)

    def _column(
        self, name: str, kind: type, objects: list[dict[str, object]], path: str, before: int
    ) -> list[Any]:
        values = [each.get(name) for each in objects]
        if kind is object:
            return values
        if set(map(type, values)) - {type(None), *_IN_JSON.get(kind, (kind,))}:
            self._refuse_type(name, kind, objects, path, before)
        convert = _FROM_JSON.get(kind)
        try:
            return [v if v is None else convert(v) for v in values] if convert else values
        except ValueError:
            self._refuse_type(name, kind, objects, path, before)

    def _refuse_type(
        self, name: str, kind: type, objects: list[dict[str, object]], path: str, before: int
    ) -> NoReturn:
        index = next(n for n, each in enumerate(objects) if not _fits(each.get(name), kind))
        raise FileError(
            f"{shorten(objects[index][name])} in the field {name!r} is not of type {kind.__name__}",
            where=_where(path, before + index, objects[index]),
            remedy=f"correct the line, or give a schema in which {name!r} has another type",
        )

    def _refuse_unknown(self, objects: list[dict[str, object]], path: str, before: int) -> None:
        known = self.schema.keys()
        for index, each in enumerate(objects):
            if not each.keys() <= known:
                unknown = ", ".join(each.keys() - known)
                raise FileError(
                    f"the field {unknown} is not in the first lines, from which the schema was inferred",
                    where=_where(path, before + index, each),
                    remedy="give a schema that names all fields",
                )


def _readable(lines: Sequence[str]) -> list[dict[str, object]]:
    """Return the objects on the lines that contain one."""
    objects = []
    for line in lines:
        with suppress(FileError):
            objects += _objects([line], "", 0)
    return objects


def _fits(value: object, kind: type) -> bool:
    if value is None:
        return True
    try:
        if kind in _FROM_JSON:
            _FROM_JSON[kind](value)
    except ValueError:
        return False
    return type(value) in _IN_JSON.get(kind, (kind,))


def _objects(lines: Sequence[str], path: str, before: int) -> list[dict[str, object]]:
    try:
        objects = list(map(json.loads, lines))
    except ValueError:
        objects = [_parsed(line, path, before + n) for n, line in enumerate(lines)]
    if set(map(type, objects)) <= {dict}:
        return objects
    return [_object(each, path, before + n) for n, each in enumerate(objects)]


def _parsed(line: str, path: str, number: int) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise FileError(
            f"the line is not valid JSON: {error}",
            where=_where(path, number, line),
            remedy="write each record as a JSON object on a separate line",
        ) from error


def _object(value: object, path: str, number: int) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise FileError(
        f"the line is not a JSON object but {shorten(value)}",
        where=_where(path, number, value),
        remedy="write each record as a JSON object, or read the lines with ReadFromText",
    )


def _where(path: str, number: int, record: object) -> str:
    return f"{path}, line {number + 1}: {shorten(record)}"
