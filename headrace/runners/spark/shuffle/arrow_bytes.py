"""Arrow tables and numpy's integers as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def bytes_of_table(table: Any) -> bytes:
    """Return a table in Arrow's format of streams.

    >>> table_of_bytes(bytes_of_table(pa.table({"n": [1, 2]}))).to_pydict()
    {'n': [1, 2]}
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def table_of_bytes(data: bytes) -> Any:
    """Return the table that :func:`bytes_of_table` was given."""
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()


def bytes_of_integers(column: Any) -> bytes:
    """Return the bytes of integers of 64 bits.

    >>> integers_of_bytes(bytes_of_integers(np.array([1, 2]))).tolist()
    [1, 2]
    """
    data: bytes = np.ascontiguousarray(column).tobytes()
    return data


def integers_of_bytes(data: bytes) -> Any:
    """Return the integers that :func:`bytes_of_integers` was given, as a numpy array."""
    return np.frombuffer(data, np.int64)
