"""Timestamps in microseconds of a column of an Arrow table, and tables with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.grouping.table_bundle import TableBundle, TableRecords
from headrace.sdk.elements.wide_tables import widened
from headrace.sdk.io.files.file_source import require_columns
from headrace.windowing.time.forms import FLOAT_MAX, FLOAT_MIN
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    MICROS_PER_SECOND,
    MIN_MICROS,
    micros_of_all,
)


def timed_table(
    table: Any,
    kept: Sequence[str],
    records: TableRecords,
    timestamp: str | None,
    where: str = "",
) -> TableBundle:
    """Return some columns of an Arrow table as elements that are still a table.

    Args:
        table: the table.
        kept: the columns of the elements.
        records: how the rows become elements.
        timestamp: the column with the event times; None for the beginning of time.
        where: the source, for the error message.

    Raises:
        PipelineError: there is no such column of event times.
        TimeError: a value is not an instant.
    """
    rows = widened(table.select(kept))
    if timestamp is None:
        return TableBundle(rows, records)
    require_columns(table.schema.names, [timestamp], where)
    return TableBundle(rows, records, micros_of_column(table.column(timestamp)))


def micros_of_column(column: Any) -> Any:
    """Return the instants of a column in microseconds, as a numpy array.

    Seconds, and times with a zone in microseconds, are converted as a column; others one by one.

    Raises:
        TimeError: a value is not an instant.

    >>> import pyarrow as pa
    >>> micros_of_column(pa.chunked_array([[1.5, 2.25]])).tolist()
    [1500000, 2250000]
    """
    import numpy as np

    found = None if column.null_count or not len(column) else _converted(column)
    if found is not None and found.min() >= MIN_MICROS and found.max() <= MAX_MICROS:
        return found
    return np.array(micros_of_all(column.to_pylist()), np.int64)


def _converted(column: Any) -> Any:
    """Return the instants of a column; None if they must be converted one by one."""
    import numpy as np
    import pyarrow as pa

    kind = column.type
    if kind == pa.float64():
        seconds = column.to_numpy()
        fits = seconds.min() >= FLOAT_MIN and seconds.max() <= FLOAT_MAX  # not if there is a NaN
        return np.rint(seconds * 1e6).astype(np.int64) if fits else None
    if pa.types.is_signed_integer(kind):
        seconds = column.to_numpy().astype(np.int64)
        largest = MAX_MICROS // MICROS_PER_SECOND
        fits = -largest <= seconds.min() and seconds.max() <= largest
        return seconds * MICROS_PER_SECOND if fits else None
    if pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit == "us":
        return column.cast(pa.int64()).to_numpy()
    return None
