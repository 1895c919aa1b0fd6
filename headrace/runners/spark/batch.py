"""Batch on Spark: one job, however many levels and sinks.

    range of partitions -> mapInArrow -> [repartition, sort -> mapInArrow] x levels -> collect

DataFrames that Spark reads itself stand beside the range, each with a ``mapInArrow`` of its own.
Behind each shuffle the rows of a key group lie together, so a worker holds one key group at a time; rows
for deeper levels and for the sinks pass through. What arrives on the driver are the elements of sinks
that work there, the commits of those that write on the workers, and what was counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.runners.error_context import failing_in, failing_in_each
from headrace.runners.gc_tuning import rarely_collected
from headrace.runners.grouping_operators import batch_group
from headrace.runners.operator import Operator, Send
from headrace.runners.operators import operators_of
from headrace.runners.planning import Plan
from headrace.runners.source_bundles import bundles_of
from headrace.runners.spark.cluster.error_transport import carrying
from headrace.runners.spark.cluster.task_context import place
from headrace.runners.spark.shuffle.bundle_columns import unpack
from headrace.runners.spark.shuffle.read import shuffle_read_for
from headrace.runners.spark.shuffle.wire import SCHEMA, Row, loads, record_batch, rows_of
from headrace.runners.spark.shuffle.write import Scope
from headrace.runners.spark.sources.native import bundles_in, is_native, native_reads
from headrace.runners.spark.stage import PIECE_BYTES, Stage, StagePlan, in_pieces, stage_plans
from headrace.sdk.graph import Node, Read
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle
from headrace.triggers.trigger import Clock
from headrace.windowing.time import MAX_MICROS

CONF: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(PIECE_BYTES),
    "spark.sql.adaptive.enabled": "false",
}
"""What Spark reads goes to a worker many rows at a time; payloads of many elements, few. An adaptive plan
would be a job for each shuffle."""


@attrs.frozen
class BatchStage:
    """A stage as Spark's ``mapInArrow`` calls it, once for each partition.

    Attributes:
        plan: what to do.
        now: processing time in microseconds.
        partitions: for level 0, (place of the Read, partition) of each task.
        branch: number of the stage among those of its level.
        native: place of the Read whose rows come in; None for the numbers of tasks.
    """

    plan: StagePlan
    now: int
    partitions: Sequence[tuple[int, Any]] = ()
    branch: int = 0
    native: int | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the stage over a partition's rows."""
        with carrying(), rarely_collected():
            yield from map(record_batch, in_pieces(self._rows(batches)))

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        scope = Scope("", 0, self.now, place(self.branch), streaming=False)
        stage = Stage(self.plan, scope, self._operator)
        stage.executor.open()
        try:
            work = self._receive if self.plan.level else self._read
            yield from work(stage, batches)
            stage.end_round(dict.fromkeys(self.plan.names, MAX_MICROS))
            yield from stage.sent()
            yield stage.report()
        finally:
            stage.executor.release()

    def _operator(self, node: Node, send: Send, metrics: StepMetrics) -> Operator:
        plan = self.plan.plan
        step = plan.steps.get(node.label)
        if step is None:
            return operators_of(plan, batch=True)(node, send, metrics)
        return batch_group(step, send, metrics, shuffle_read_for(step, batch=True))

    def _read(self, stage: Stage, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for batch in batches:
            for read, bundle in self._bundles(batch):
                stage.executor.feed(read, bundle)
                yield from stage.sent()

    def _bundles(self, batch: pa.RecordBatch) -> Iterator[tuple[Node, Bundle]]:
        if self.native is not None:
            read = self.plan.read(self.native)
            for _, bundle in failing_in_each(read.label, bundles_in(read.source, batch)):
                yield read, bundle
            return
        for number in batch.column(0).to_pylist():
            at, partition = self.partitions[number]
            read = self.plan.read(at)
            for bundle in failing_in_each(read.label, bundles_of(read.source, partition)):
                yield read, bundle

    def _receive(self, stage: Stage, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        """Take rows in the order of steps and key groups; a grouping gives out group by group."""
        before: tuple[int, int] | None = None
        for row in rows_of(batches):
            if row.level != self.plan.level:
                yield row
                continue
            if before is not None and before != (row.step, row.group):
                yield from self._give_out(stage, before[0])
            before = row.step, row.group
            payload = loads(row.payload)
            if stage.is_keyed(row.step):
                stage.operator(row.step).precombiner.take(payload, len(row.payload))  # type: ignore[attr-defined]
            else:
                stage.operator(row.step).push(unpack(payload))
                yield from stage.sent()
        if before is not None:
            yield from self._give_out(stage, before[0])

    def _give_out(self, stage: Stage, place: int) -> Iterator[Row]:
        if stage.is_keyed(place):
            stage.operator(place).end_round(Clock(MAX_MICROS, self.now))
        yield from stage.sent()


def lower(plan: Plan, session: SparkSession, groups: int, now: int) -> DataFrame:
    """Return the rows for the sinks of a plan as a frame that has not run yet.

    Args:
        plan: what to run; all its sources are bounded.
        session: where to run it.
        groups: the number of key groups.
        now: processing time in microseconds.
    """
    stages = stage_plans(plan, groups, batch=True)
    rows = reduce(DataFrame.union, _sources(plan, stages[0], session, now))
    width = min(groups, int(session.conf.get("spark.sql.shuffle.partitions") or groups))
    for stage in stages[1:]:
        shuffled = rows.repartition(width, "group").sortWithinPartitions("level", "step", "group")
        rows = shuffled.mapInArrow(BatchStage(stage, now), SCHEMA)
    return rows


def _sources(plan: Plan, stage: StagePlan, session: SparkSession, now: int) -> Iterator[DataFrame]:
    """Return the rows of the first level: of what Python reads, and of each DataFrame."""
    natives = native_reads(plan, session)
    tasks = list(_partitions(plan, stage))
    if tasks or not natives:
        frame = session.range(0, len(tasks), 1, max(1, len(tasks)))
        yield frame.mapInArrow(BatchStage(stage, now, tasks), SCHEMA)
    for branch, native in enumerate(natives, start=1):
        first = BatchStage(stage, now, branch=branch, native=native.place)
        yield native.frame.mapInArrow(first, SCHEMA)


def _partitions(plan: Plan, stage: StagePlan) -> Iterator[tuple[int, Any]]:
    for at, label in enumerate(stage.names):
        node = next(n for n in plan.graph if n.label == label)
        if isinstance(node, Read) and not is_native(node.source):
            with failing_in(label):
                yield from ((at, partition) for partition in node.source.partitions())
