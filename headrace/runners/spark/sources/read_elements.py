"""Elements that the driver has read of a source, as plain data for the workers: columns stay columns.

The rows of a source that is Arrow already, such as Parquet files, are sent as tables also if the next
step takes elements: the workers make them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.error_context import label_errors
from headrace.runners.spark.shuffle.arrow_bytes import (
    bytes_of_integers,
    bytes_of_table,
    integers_of_bytes,
    table_of_bytes,
)
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


def pack_read(bundle: Bundle) -> tuple[Any, ...]:
    """Return the elements of a source as plain data."""
    if not isinstance(bundle, TableBundle):
        return pack(bundle)
    times = None if bundle.times is None else bytes_of_integers(bundle.times)
    return SentTable(bytes_of_table(bundle.table), times)


def unpack_read(read: Read, packed: tuple[Any, ...], *, tables: bool = True) -> Bundle:
    """Return the bundle that :func:`pack_read` was given.

    Args:
        read: the read of the source.
        packed: the plain data.
        tables: whether the next steps take tables; if not, errors of making elements are those of the read.
    """
    if not isinstance(packed, SentTable):
        return unpack(packed)
    assert isinstance(read.source, ReadsTables)
    assert read.source.records is not None
    times = None if packed.times is None else integers_of_bytes(packed.times)
    bundle = TableBundle(table_of_bytes(packed.stream), read.source.records, times)
    if not tables:
        with label_errors(read.label):
            _ = bundle.values
    return bundle
