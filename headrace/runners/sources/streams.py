"""Bounded sources in streaming mode: one that can be read from an offset becomes a stream that ends."""

from __future__ import annotations

from typing import Any

from headrace.sdk.sources.source import BoundedSource, ReadsTables, UnboundedSource


def stream_of(
    source: BoundedSource[object], tables: bool
) -> BoundedSource[object] | UnboundedSource[object]:
    """Return a bounded source as a stream, or the source itself if it cannot be one.

    Args:
        source: the source.
        tables: whether its elements are read as tables.
    """
    stream: Any = source.as_stream()
    if tables and isinstance(stream, ReadsTables):
        stream = stream.table_source()
    return source if stream is None else stream
