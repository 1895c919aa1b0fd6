"""Files of text whose columns have the types of a schema, as Arrow tables.

The parser is that of records, so errors are the same. Values without an exact Arrow type stay elements: these
are columns of other types, and chunks with an integer of more than 64 bits, or with text that is not Unicode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import attrs

from headrace.errors import TimeError
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle, TableRecords
from headrace.sdk.elements.column_expressions import ARROW_TYPES
from headrace.sdk.elements.record_tables import AS_ROWS
from headrace.sdk.io.files.file_partitions import DividedFiles
from headrace.sdk.io.files.file_places import FilePlace
from headrace.sdk.io.files.file_source import Columns, needed
from headrace.sdk.io.files.file_tables import FileTables
from headrace.sdk.io.formats import column_types as schemas
from headrace.windowing.time.timestamps import micros_of_all


@attrs.frozen(eq=False)
class TypedFiles(DividedFiles, FileTables):
    """Files whose columns have the types of a schema; a format defines how they are parsed.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        timestamp: the column or function that gives the event time; None for the beginning of time.
        compression_type: one of ``CompressionTypes``; by default it depends on the file extension.
    """

    parses_values: ClassVar[bool] = True

    schema: schemas.ColumnTypes = attrs.field(init=False)
    given_schema: schemas.GivenSchema = attrs.field(init=False)
    fields: tuple[str, ...] = attrs.field(default=(), init=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the records."""
        return tuple(self.schema)

    @property
    def records(self) -> TableRecords | None:
        """How rows become elements.

        None for values without an exact Arrow type, and if a class makes the elements, or a function the
        timestamps.
        """
        plain = not (isinstance(self.given_schema, type) or callable(self.timestamp))
        typed = all(self.schema[name] in ARROW_TYPES for name in self.names)
        installed = find_spec("pyarrow") is not None and find_spec("numpy") is not None
        return AS_ROWS if self.names and plain and typed and installed else None

    @property
    def why_elements(self) -> str:
        kinds = {name: self.schema[name] for name in self.names}
        other = next((name for name, kind in kinds.items() if kind not in ARROW_TYPES), None)
        if other is None:
            return super().why_elements
        return (
            f"values of the type {kinds[other].__name__} in {other!r} have no exact type in columns"
        )

    @property
    def fields_read(self) -> Sequence[str]:
        return needed(self.fields or None, self.timestamp) or ()

    def with_fields(self, names: Sequence[str]) -> Self:
        narrowed = copy(self)  # it has the schema that was read from the file
        if set(names) <= set(self.names):
            object.__setattr__(narrowed, "fields", tuple(names))
        return narrowed

    def tables_from(self, path: str, place: FilePlace) -> Iterator[Bundle]:
        rows = place.records
        for columns in self.columns_from(path, place):
            chunk = self._table(columns) or next(self._bundles_of(path, iter([columns]), rows))
            yield chunk
            rows += len(chunk)

    def _table(self, columns: Columns) -> TableBundle | None:
        """Return a chunk as a table; None if a value has no exact Arrow type, or no time."""
        import numpy as np
        import pyarrow as pa

        try:
            table = pa.table(
                {name: self._array(name, columns) for name in self.fields or self.names}
            )
            times = (
                np.array(micros_of_all(columns[self.timestamp]), np.int64)
                if isinstance(self.timestamp, str)
                else None
            )
        except (TimeError, pa.ArrowException, OverflowError, UnicodeError):
            return None
        return TableBundle(table, AS_ROWS, times)

    def _array(self, name: str, columns: Columns) -> Any:
        import pyarrow as pa

        return pa.array(columns[name], pa.type_for_alias(ARROW_TYPES[self.schema[name]]))
