"""Parquet files: each record is a dictionary, as in Beam."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.sdk.io.arrow import arrow
from headrace.sdk.io.file_source import (
    CHUNK_ROWS,
    Columns,
    FileSource,
    names_of,
    needed,
    require_columns,
)
from headrace.sdk.io.files import opened, reading


@attrs.frozen(eq=False)
class ParquetFiles(FileSource):
    """The records of Parquet files, as dictionaries.

    Args:
        file_pattern: a path, a glob, a directory, or several of them.
        columns: the columns of the dictionaries; all by default.
        timestamp: a column, or a function of the dictionary, that gives its event time.

    >>> ParquetFiles("delays.parquet").bundle({"airport": ["EWR"], "delay": [7]}).values
    [{'airport': 'EWR', 'delay': 7}]
    """

    columns: tuple[str, ...] | None = attrs.field(default=None, converter=names_of)

    def column_names(self) -> tuple[str, ...] | None:
        return needed(self.columns, self.timestamp)

    def values(self, columns: Columns) -> list[Any]:
        names = tuple(columns if self.columns is None else self.columns)
        cells = (columns[name] for name in names)
        return [dict(zip(names, record, strict=True)) for record in zip(*cells, strict=True)]

    def read_columns(self, path: str) -> Iterator[Columns]:
        parquet, pyarrow = arrow("pyarrow.parquet"), arrow()
        with reading(path), _as_os_errors(pyarrow), parquet.ParquetFile(opened(path)) as file:
            names = file.schema_arrow.names
            selected = self.column_names() or names
            time = () if not isinstance(self.timestamp, str) else (self.timestamp,)
            require_columns(names, (*selected, *time), path)
            for batch in file.iter_batches(CHUNK_ROWS, columns=list(selected)):
                yield batch.to_pydict()


@contextmanager
def _as_os_errors(pyarrow: Any) -> Iterator[None]:
    """Raise Arrow's errors as OSError."""
    try:
        yield
    except pyarrow.ArrowException as error:
        raise OSError(str(error)) from error
