"""Batch on Spark: one job, however many levels and sinks.

    range of partitions -> mapInArrow -> [repartition, sort -> mapInArrow] x levels -> collect

DataFrames that Spark reads itself are added by a union; each has its own ``mapInArrow``. After each
shuffle the rows of a key group are adjacent, so a worker holds one key group at a time; rows for deeper
levels and for the sinks pass through. In a key group the panes of side inputs come before the elements that
see them, so those are processed one bundle at a time. The driver collects the elements for sinks that run on
it, the commits of sinks that write on the workers, and metrics.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.grouping.bundle import Bundle
from headrace.runners.engine.gc_tuning import infrequent_gc
from headrace.runners.engine.operators import operators_of
from headrace.runners.error_context import label_errors, label_errors_each
from headrace.runners.grouping.operators import Group, batch_group
from headrace.runners.operator import Operator, Send
from headrace.runners.plan.planning import KeyedStep, Plan
from headrace.runners.plan.table_steps import reads_tables
from headrace.runners.side_inputs.side_input_operators import BatchSideInputs
from headrace.runners.sources.source_bundles import bundles_of
from headrace.runners.spark.cluster.error_transport import wrapping
from headrace.runners.spark.cluster.task_context import task_number
from headrace.runners.spark.cluster.worker_heap import freeze_imports
from headrace.runners.spark.pushdown.panes import Done, PushedGroup
from headrace.runners.spark.pushdown.pushing import Pushed
from headrace.runners.spark.shuffle.blocks import unpacked_blocks
from headrace.runners.spark.shuffle.placement import place_column
from headrace.runners.spark.shuffle.read import shuffle_read_for
from headrace.runners.spark.shuffle.wire import (
    ELEMENTS,
    SCHEMA,
    StageRow,
    loads,
    record_batch,
    rows_of,
)
from headrace.runners.spark.shuffle.write import Scope
from headrace.runners.spark.sources.native import bundles_in, is_native, native_reads
from headrace.runners.spark.stage import (
    ARROW_BATCH_BYTES,
    Stage,
    StagePlan,
    in_batches,
    stage_plans,
)
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pipelines.graph import Node, Read
from headrace.sdk.sources.source import BoundedSource
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MAX_MICROS

CONF: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(ARROW_BATCH_BYTES),
    "spark.sql.adaptive.enabled": "false",
}
"""Spark's own rows go to a worker in large batches, payloads of many elements in small ones. Adaptive
execution would run one job per shuffle. Only groupings that Spark's plan does need it, for the number of
their partitions."""


@attrs.frozen
class BatchStage:
    """The function of a stage for Spark's ``mapInArrow``, called once for each partition.

    Attributes:
        plan: the plan of the stage.
        now: processing time in microseconds.
        partitions: for level 0, (index of the Read, source partition) of each task.
        branch: number of the stage within its level.
        native: index of the Read that Spark reads; None if the input rows are task numbers.
        grouped: the chain whose grouping Spark's plan has done; None if the input rows are not its panes.
    """

    plan: StagePlan
    now: int
    partitions: Sequence[tuple[int, Any]] = ()
    branch: int = 0
    native: int | None = None
    grouped: Done | None = None

    @property
    def __name__(self) -> str:
        """The name of the function in Spark's UI."""
        return self.plan.title

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the stage over a partition's rows."""
        with wrapping(), infrequent_gc():
            yield from map(record_batch, in_batches(self._rows(batches)))

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[StageRow]:
        freeze_imports()
        scope = Scope("", 0, self.now, task_number(self.branch), streaming=False)
        stage = Stage(self.plan, scope, self._operator)
        stage.executor.open()
        try:
            work = self._receive if self.plan.level else self._read
            yield from work(stage, batches)
            stage.end_round(dict.fromkeys(self.plan.names, MAX_MICROS))
            yield from stage.sent()
            yield from stage.observed(0)
            yield stage.report()
            stage.executor.finalize()
        finally:
            stage.executor.release()

    def _operator(self, node: Node, send: Send, metrics: StepMetrics) -> Operator:
        plan = self.plan.plan
        step = plan.steps.get(node.label)
        if isinstance(step, KeyedStep) and node.label in plan.pushed:
            return PushedGroup(step, send, metrics)
        if not isinstance(step, KeyedStep):
            return operators_of(plan, batch=True)(node, send, metrics)
        return batch_group(step, send, metrics, shuffle_read_for(step, batch=True))

    def _read(self, stage: Stage, batches: Iterable[pa.RecordBatch]) -> Iterator[StageRow]:
        for batch in batches:
            if self.grouped is not None:
                self.grouped.push(stage.executor, batch)
                yield from stage.sent()
                continue
            for place, read, bundle in self._bundles(stage, batch):
                stage.scope.read = place
                stage.executor.feed(read, bundle)
                yield from stage.sent()

    def _bundles(self, stage: Stage, batch: pa.RecordBatch) -> Iterator[tuple[int, Node, Bundle]]:
        """Yield what is read, each with its place in the order of the partitions of all sources."""
        if self.native is not None:
            read = self.plan.read(self.native)
            tables = reads_tables(self.plan.plan, read)
            found = bundles_in(read.source, batch, tables)
            for _, bundle in label_errors_each(read.label, found):
                yield 0, read, bundle
            return
        for number in batch.column(0).to_pylist():
            at, partition = self.partitions[number]
            read = self.plan.read(at)
            assert isinstance(read.source, BoundedSource)  # a batch job has no others
            bundles = bundles_of(read.source, partition, reads_tables(self.plan.plan, read))
            for bundle in stage.executor.reading(read, bundles):
                yield number, read, bundle

    def _receive(self, stage: Stage, batches: Iterable[pa.RecordBatch]) -> Iterator[StageRow]:
        """Process rows in the order of key groups."""
        for (level, _), rows in groupby(rows_of(batches), key=attrgetter("level", "group")):
            if level == self.plan.level:
                rows = self._process(stage, rows)
            yield from rows

    def _process(self, stage: Stage, rows: Iterable[StageRow]) -> Iterator[StageRow]:
        """Process a key group, step by step; a node with side inputs has two steps, and ends last."""
        with_sides: dict[int, None] = {}
        for step, some in groupby(rows, key=attrgetter("step")):
            index = step % ELEMENTS
            for row in some:
                self._take(stage, index, row)
                yield from stage.sent()
            if isinstance(stage.operator(index), BatchSideInputs):
                with_sides[index] = None
            else:
                yield from self._end(stage, index)
        for index in with_sides:
            yield from self._end(stage, index)

    def _take(self, stage: Stage, index: int, row: StageRow) -> None:
        payload, operator = loads(row.payload), stage.operator(index)
        if isinstance(operator, Group):
            operator.precombiner.take(unpacked_blocks(payload), len(row.payload))
            return
        stage.push(index, payload)
        if isinstance(operator, BatchSideInputs) and row.step >= ELEMENTS:
            operator.process_collected(self.now)

    def _end(self, stage: Stage, index: int) -> Iterator[StageRow]:
        if stage.is_keyed(index):
            stage.in_order()
            stage.operator(index).end_round(Clock(MAX_MICROS, self.now))
        yield from stage.sent()


def lower(
    session: SparkSession,
    groups: int,
    now: int,
    sampled: frozenset[str] | None,
    pushed: Pushed,
) -> DataFrame:
    """Return the rows for the sinks of a plan as a DataFrame that has not run yet.

    Args:
        session: the Spark session.
        groups: number of key groups.
        now: processing time in microseconds.
        sampled: labels of the groupings to sample; None if nobody observes the run.
        pushed: the plan, whose sources are all bounded, with the groupings that Spark's plan does.
    """
    session.conf.set("spark.sql.adaptive.enabled", bool(pushed.frames))
    stages = stage_plans(pushed.plan, groups, batch=True, sampled=sampled)
    rows = reduce(DataFrame.union, _sources(pushed, stages[0], session, now))
    width = min(groups, int(session.conf.get("spark.sql.shuffle.partitions") or groups))
    place = place_column(groups, width)
    for stage in stages[1:]:
        shuffled = rows.repartition(width, place).sortWithinPartitions("level", "group", "step")
        rows = shuffled.mapInArrow(BatchStage(stage, now), SCHEMA)
    return rows


def _sources(
    pushed: Pushed, stage: StagePlan, session: SparkSession, now: int
) -> Iterator[DataFrame]:
    """Return the rows of the first level: one frame for all Python sources, and one per DataFrame."""
    plan, grouped = pushed.plan, pushed.frames
    done = {each.chain.read.label for each in grouped}
    natives = native_reads(plan, session, without=done)
    tasks = list(_partitions(plan, stage, done))
    if tasks or not (natives or grouped):
        frame = session.range(0, len(tasks), 1, max(1, len(tasks)))
        yield frame.mapInArrow(BatchStage(stage, now, tasks), SCHEMA)
    for branch, native in enumerate(natives, start=1):
        first = BatchStage(stage, now, branch=branch, native=native.index)
        yield native.frame.mapInArrow(first, SCHEMA)
    for branch, each in enumerate(grouped, start=len(natives) + 1):
        first = BatchStage(stage, now, branch=branch, grouped=each.chain.done)
        yield each.frame.mapInArrow(first, SCHEMA)


def _partitions(plan: Plan, stage: StagePlan, done: Container[str]) -> Iterator[tuple[int, object]]:
    for at, label in enumerate(stage.names):
        node = next(n for n in plan.graph if n.label == label)
        if isinstance(node, Read) and not (is_native(node.source) or label in done):
            assert isinstance(node.source, BoundedSource)  # a batch job has no others
            with label_errors(label):
                yield from ((at, partition) for partition in node.source.partitions())
