"""Sources that the workers read: the driver tells the ranges of a round, and level 0 reads them.

A range travels as one small row. The worker that gets it reads the source in the process of the stage, so
that the elements are pickled only after the element-wise steps and combiners of level 0. If the watermark
follows from timestamps, the workers send what they observe to every key group of level 1, as for sources that
Spark reads itself (:mod:`headrace.runners.spark.sources.native_watermarks`). A watermark that the source
reports with its offsets is computed on the driver.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.error_context import label_errors
from headrace.runners.plan.planning import Plan
from headrace.runners.plan.table_steps import reads_tables
from headrace.runners.sources.source_positions import Position
from headrace.runners.sources.source_ranges import SourceRange, WorkerReads, read_range
from headrace.runners.sources.streams import stream_of
from headrace.runners.spark.shuffle.bundle_columns import pack
from headrace.runners.spark.shuffle.wire import StageRow, dumps
from headrace.runners.spark.sources.native import is_native
from headrace.runners.spark.sources.native_watermarks import OBSERVED, Observed
from headrace.runners.spark.sources.read_elements import pack_read, unpack_read
from headrace.sdk.io.frames.frame_source import SourcePartition
from headrace.sdk.pipelines.graph import Graph, Node, Read
from headrace.sdk.sources.source import BoundedSource, UnboundedSource
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.watermarks.policies import FromSource

SAMPLED: Final = 32
"""Number of records from whose size the size of a range is estimated."""


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


def rows_of_ranges(
    index: int, after: Position, ranges: Sequence[SourceRange], width: int, order: Iterator[int]
) -> Iterator[tuple[int, StageRow]]:
    """Return the rows of a round of a source, each with the number of its task.

    Args:
        index: index of the Read in the graph.
        after: the end of the round.
        ranges: the ranges of the round.
        width: number of tasks; consecutive ranges are read by the same or consecutive tasks, so that the
            observations of the tasks are in the order of the records.
        order: the places of rows in the order of all that the round reads.
    """
    total, before = sum(map(len, ranges)), 0
    for each in filter(len, ranges):
        if each.elements is not None:
            each = attrs.evolve(each, elements=pack_read(each.elements))
        yield before * width // total, StageRow(0, index, next(order), dumps((after.now, each)))
        before += len(each)


def observed_by_driver(label: str, after: Position) -> StageRow:
    """Return the row with what the driver knows of a source: its partitions, ends and reports."""
    position = after.reads[label]
    partitions: dict[SourcePartition, list[int]] = {(n,): [] for n in range(len(position.names))}
    reports: dict[SourcePartition, int] = {
        (n,): watermark for n, watermark in (position.observed or {}).items()
    }
    reports.update(((n,), MAX_MICROS) for n, p in enumerate(position.partitions) if p.finished)
    return StageRow(0, OBSERVED, 0, dumps(Observed(label, -1, after.now, partitions, reports)))


def elements_of(read: Read, found: SourceRange) -> Bundle:
    """Return the elements of a range, on a worker."""
    if found.elements is not None:
        return unpack_read(read, found.elements)
    with label_errors(read.label):
        return read_range(read.source, found)


def size_of(elements: Bundle) -> int:
    """Return the size of elements in bytes: of the columns of a table, else as they are sent.

    The latter is estimated from the first and the last ones.
    """
    if isinstance(elements, TableBundle):
        return int(elements.table.nbytes)
    half = SAMPLED // 2
    count = len(elements)
    if count <= SAMPLED:
        return len(dumps(pack(elements)))
    ends = (elements.part(0, half), elements.part(count - half, count))
    return sum(len(dumps(pack(end))) for end in ends) * count // SAMPLED
