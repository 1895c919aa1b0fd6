"""Which sources the workers read, in the ranges that the driver tells them, and which the driver reads.

If the watermark follows from timestamps, the workers send what they observe to every key group of level 1, as
for sources that Spark reads itself (:mod:`headrace.runners.spark.sources.native_watermarks`). A watermark
that the source reports with its offsets is computed on the driver.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import attrs

from headrace.runners.error_context import label_errors
from headrace.runners.plan.planning import Plan
from headrace.runners.plan.table_steps import reads_tables, tables_read
from headrace.runners.sources.source_ranges import WorkerReads
from headrace.runners.sources.streams import stream_of
from headrace.runners.spark.sources.native import is_native
from headrace.sdk.pipelines.graph import Graph, Node, Read
from headrace.sdk.sources.source import BoundedSource, BoundedTables, UnboundedSource
from headrace.windowing.watermarks.policies import FromSource


def with_streams(planned: Plan, without: Container[str]) -> Plan:
    """Return a plan whose bounded sources are streams, if they can be.

    Args:
        planned: the plan.
        without: labels of reads whose sources stay as they are.
    """

    def as_stream(node: Node) -> Node:
        if not isinstance(node, Read) or node.label in without:
            return node
        if not isinstance(node.source, BoundedSource):
            return node
        with label_errors(node.label):
            return attrs.evolve(node, source=stream_of(node.source, reads_tables(planned, node)))

    return attrs.evolve(planned, graph=Graph(tuple(map(as_stream, planned.graph))))


def observed_labels(plan: Plan) -> tuple[str, ...]:
    """Return the labels of the sources that the workers read and whose watermark needs timestamps."""
    return tuple(node.label for node in _telling(plan) if not _is_reported(node))


def worker_reads(plan: Plan, observed: Sequence[str]) -> WorkerReads:
    """Return the sources that the workers read.

    Args:
        plan: the plan.
        observed: the labels of :func:`observed_labels` when the checkpoint was written. The state of other
            watermarks is in the offset log, so that the driver reads these sources also after a restart.
    """
    reported = {node.label for node in _telling(plan) if _is_reported(node)}
    return WorkerReads(frozenset({*reported, *observed}), frozenset(observed))


def _telling(plan: Plan) -> Iterator[Read]:
    for node in plan.graph:
        if not isinstance(node, Read) or is_native(node.source):
            continue
        if isinstance(node.source, UnboundedSource) and node.source.tells_offsets:
            yield node


def _is_reported(node: Read) -> bool:
    return node.watermark is None or isinstance(node.watermark, FromSource)


def sent_as_tables(planned: Plan) -> frozenset[str]:
    """Return the labels of the sources that the driver reads as tables, if it reads them."""
    sources = ((n.label, n.source) for n in planned.graph if isinstance(n, Read))
    return tables_read(planned) | {label for label, source in sources if _is_arrow(source)}


def _is_arrow(source: object) -> bool:
    """Return whether the tables of a source are Arrow before they are elements."""
    if not isinstance(source, BoundedTables) or source.parses_values:
        return False
    return source.records is not None
