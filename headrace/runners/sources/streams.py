"""Bounded sources in streaming mode: one that can be read from an offset becomes a stream that ends."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import attrs

from headrace.runners.error_context import label_errors
from headrace.runners.plan.planning import Plan
from headrace.runners.plan.table_steps import reads_tables
from headrace.sdk.pipelines.graph import Graph, Read
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


def with_streams(planned: Plan, without: Container[str]) -> Plan:
    """Return a plan whose bounded sources are streams, if they can be.

    Args:
        planned: the plan.
        without: labels of reads whose sources stay as they are.
    """
    nodes = (
        attrs.evolve(node, source=stream_of(node, reads_tables(planned, node)))
        if isinstance(node, Read) and node.label not in without
        else node
        for node in planned.graph
    )
    return attrs.evolve(planned, graph=Graph(tuple(nodes)))
