"""Avro files: each record is a dictionary or a row, as in Beam, or an instance of a class."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.errors import FileError, PipelineError
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import arguments_of, checked_records, required_schema
from headrace.sdk.io.files.file_partitions import DividedFiles
from headrace.sdk.io.files.file_places import START, UNKNOWN_PLACES, FilePlace, Places
from headrace.sdk.io.files.file_source import Columns, require_columns
from headrace.sdk.io.files.opening import is_compressed, open_file
from headrace.sdk.io.files.read_errors import reading
from headrace.sdk.io.formats.avro.package import avro


@attrs.frozen(eq=False)
class AvroFiles(DividedFiles):
    """The records of Avro files, as dictionaries, rows or instances of a class, in a single column.

    The end of a block is a place. Within a block, the byte of a place is the start of the block, and its line
    is the number of records before the block.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        schema: a class of records, whose fields are read; None for dictionaries or rows.
        as_rows: whether records are rows.
        timestamp: a field, or a function of the element, that gives its event time.
        compression_type: compression of whole files; blocks have their own.

    >>> AvroFiles("delays.avro", as_rows=True).bundle({"record": [{"delay": 7}]}).values
    [Row(delay=7)]
    """

    schema: type | None = attrs.field(default=None, kw_only=True)
    as_rows: bool = attrs.field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check that only one argument gives the kind of the records."""
        avro()
        if self.schema is not None:
            required_schema(self.schema)
            if self.as_rows:
                raise PipelineError(
                    "there are both as_rows and a schema, whose instances are the elements",
                    remedy="remove as_rows, or remove the schema",
                )

    def column_names(self) -> tuple[str, ...]:
        return ("record",)

    def values(self, columns: Columns) -> list[Any]:
        records = columns["record"]
        if self.as_rows:
            return [Row(**record) for record in records]
        if self.schema is None:
            return records
        names = self._names()
        cells = [[record[name] for record in records] for name in names]
        return checked_records(self.schema, names, cells)

    def read_columns(self, path: str) -> Iterator[Columns]:
        return self.columns_from(path, START)

    def can_start_at(self, place: FilePlace) -> bool:
        return place.byte > 0 or not place.records

    def places(self, path: str, place: FilePlace, limit: int) -> Places:
        """Return the ends of the parts, one for each block."""
        if is_compressed(path, self.compression) or not self.can_start_at(place):
            return UNKNOWN_PLACES
        found: list[FilePlace] = []
        last = place.records + limit
        before = place.line
        with self._blocks(path, place) as blocks:
            for block in blocks:
                end = before + block.num_records
                if end > last:
                    found.append(FilePlace(last, block.offset, before))
                else:
                    found.append(FilePlace(end, block.offset + block.size, end))
                before = end
                if end >= last:
                    break
        return Places(tuple(part for part in found if part.records > place.records))

    def columns_from(self, path: str, place: FilePlace) -> Iterator[Columns]:
        skip = place.records - place.line
        with self._blocks(path, place) as blocks:
            for block in blocks:
                yield {"record": list(block)[skip:]}
                skip = 0

    @contextmanager
    def _blocks(self, path: str, place: FilePlace) -> Iterator[Any]:
        """Open a file; return its blocks from a place on, which are not decoded."""
        with reading(path), as_os_errors(), open_file(path, "rb", self.compression) as file:
            if not file.read(1):
                yield []  # without records, as in Beam and Spark
                return
            file.seek(0)
            blocks = avro().block_reader(file)
            self._check_fields(blocks.writer_schema, path)
            if place.byte:
                file.seek(place.byte)
            yield blocks

    def _check_fields(self, schema: Any, path: str) -> None:
        """Check that the records of a file have the fields that are needed."""
        is_record = isinstance(schema, dict) and schema["type"] in ("record", "error")
        needed = [*self._names(), *([self.timestamp] if isinstance(self.timestamp, str) else ())]
        if is_record:
            require_columns([field["name"] for field in schema["fields"]], needed, path)
        elif self.as_rows or needed:
            raise FileError(
                "the values in the file are not records",
                where=path,
                remedy="read them without as_rows, a schema and a field as the timestamp",
            )

    def _names(self) -> tuple[str, ...]:
        """Return the fields of the class of records."""
        if self.schema is None:
            return ()
        return tuple(argument.field for argument in arguments_of(self.schema))

    def _times(self, values: list[object], columns: Columns) -> list[Any]:
        if isinstance(self.timestamp, str):
            return [record[self.timestamp] for record in columns["record"]]
        return super()._times(values, columns)


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Raise fastavro's errors about malformed files as OSError.

    >>> with as_os_errors():
    ...     raise ValueError("expected sync marker not found")
    Traceback (most recent call last):
    OSError: expected sync marker not found
    """
    try:
        yield
    except (PipelineError, UnicodeDecodeError):
        raise
    except KeyError as error:
        raise OSError(f"it is not an Avro file: its header has no {error}") from error
    except (ValueError, IndexError, StopIteration, OverflowError) as error:
        raise OSError(str(error) or type(error).__name__) from error
