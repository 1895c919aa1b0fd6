"""Ranges as rows: the driver sends those of a round, and level 0 reads their elements.

A range travels as one small row. The worker that gets it reads the source in the process of the stage, so
that the elements are pickled only after the element-wise steps and combiners of level 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.error_context import label_errors
from headrace.runners.sources.source_positions import Position
from headrace.runners.sources.source_ranges import SourceRange, read_range
from headrace.runners.spark.shuffle.bundle_columns import pack
from headrace.runners.spark.shuffle.wire import StageRow, dumps
from headrace.runners.spark.sources.native_watermarks import OBSERVED, Observed
from headrace.runners.spark.sources.read_elements import pack_read, unpack_read
from headrace.sdk.io.frames.frame_source import SourcePartition
from headrace.sdk.pipelines.graph import Read
from headrace.windowing.time.timestamps import MAX_MICROS

SAMPLED: Final = 32
"""Number of records from whose size the size of a range is estimated."""


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
