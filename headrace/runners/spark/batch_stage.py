"""A level of a batch, as a function for Spark's ``mapInArrow``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import attrs
import pyarrow as pa

from headrace.grouping.bundle import Bundle
from headrace.runners.engine.gc_tuning import infrequent_gc
from headrace.runners.engine.operators import operators_of
from headrace.runners.error_context import label_errors_each
from headrace.runners.grouping.operators import Group, batch_group
from headrace.runners.operator import Operator, Send
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.plan.table_steps import reads_tables
from headrace.runners.side_inputs.side_input_operators import BatchSideInputs
from headrace.runners.sources.source_bundles import bundles_of
from headrace.runners.spark.cluster.error_transport import wrapping
from headrace.runners.spark.pushdown.panes import Done, PushedGroup
from headrace.runners.spark.shuffle.blocks import unpacked_blocks
from headrace.runners.spark.shuffle.read import shuffle_read_for
from headrace.runners.spark.shuffle.wire import (
    ELEMENTS,
    StageRow,
    loads,
    record_batch,
    rows_of,
)
from headrace.runners.spark.shuffle.write import Scope
from headrace.runners.spark.sources.native import bundles_in
from headrace.runners.spark.stage import (
    Stage,
    StagePlan,
    in_batches,
)
from headrace.runners.spark.worker.heap import freeze_imports
from headrace.runners.spark.worker.task_context import task_number
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pipelines.graph import Node
from headrace.sdk.sources.source import BoundedSource
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MAX_MICROS


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
            freeze_imports()
            yield from map(record_batch, in_batches(self.rows(batches)))

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[StageRow]:
        """Yield the rows that the stage makes of a partition's rows."""
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
