"""Writes inputs as Parquet files, and reads them with pyarrow as plain tuples and strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from workloads import Event

EVENTS: Final = pa.schema([("time", pa.float64()), ("key", pa.string()), ("value", pa.int64())])
LINES: Final = pa.schema([("line", pa.string())])


def write_events(path: Path, events: Iterable[Event]) -> None:
    """Write events; the file appears in the directory only when it is complete."""
    _write(path, zip(*events, strict=True), EVENTS)


def write_lines(path: Path, lines: list[str]) -> None:
    _write(path, [lines], LINES)


def events_of(path: str) -> Iterator[Event]:
    for batch in _batches(path):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def lines_of(path: str) -> Iterator[str]:
    for batch in _batches(path):
        yield from batch.column(0).to_pylist()


def _batches(path: str) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches()


def _write(path: Path, columns: Iterable[Any], schema: pa.Schema) -> None:
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    hidden = path.with_name(f".{path.name}")
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), hidden)
    hidden.rename(path)
