"""Elements that the driver has read of a source, as plain data for the workers: columns stay columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_table import PaneTable
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.spark.shuffle.bundle_columns import pack, unpack
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.sources.source import ReadsTables


class SentTable(NamedTuple):
    """A table that a source has read.

    Attributes:
        stream: the table in Arrow's format of streams.
        times: the timestamps in microseconds, as bytes of 64-bit integers; None for the beginning of time.
    """

    stream: bytes
    times: bytes | None


def pack_read(bundle: Bundle) -> tuple[Any, ...] | PaneTable:
    """Return the elements of a source as plain data."""
    if not isinstance(bundle, TableBundle):
        return pack(bundle)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, bundle.table.schema) as stream:
        stream.write_table(bundle.table)
    times = None if bundle.times is None else np.ascontiguousarray(bundle.times).tobytes()
    return SentTable(sink.getvalue().to_pybytes(), times)


def unpack_read(read: Read, packed: tuple[Any, ...] | PaneTable) -> Bundle:
    """Return the bundle that :func:`pack_read` was given.

    Args:
        read: the read of the source.
        packed: the plain data.
    """
    if not isinstance(packed, SentTable):
        return unpack(packed)
    assert isinstance(read.source, ReadsTables)
    assert read.source.records is not None
    with pa.ipc.open_stream(packed.stream) as stream:
        table = stream.read_all()
    times = None if packed.times is None else np.frombuffer(packed.times, np.int64)
    return TableBundle(table, read.source.records, times)
