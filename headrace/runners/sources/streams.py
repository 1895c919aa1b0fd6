"""Bounded sources in streaming mode: one that can be read from an offset becomes a stream that ends."""

from __future__ import annotations

from typing import Any

from headrace.runners.error_context import label_errors
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.sources.source import BoundedSource, ReadsTables


def stream_of(read: Read, tables: bool) -> Any:
    """Return the source of a read as a stream, or the source itself if it is none.

    Args:
        read: the read.
        tables: whether its elements are read as tables.
    """
    if not isinstance(read.source, BoundedSource):
        return read.source
    with label_errors(read.label):
        stream = read.source.as_stream()
    if stream is None:
        return read.source
    return stream.table_source() if tables and isinstance(stream, ReadsTables) else stream
