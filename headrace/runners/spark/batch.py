"""Batch on Spark: one job, however many levels and sinks.

    range of partitions -> mapInArrow -> [repartition, sort -> mapInArrow] x levels -> collect

Behind each shuffle the rows of a key group lie together, so a worker holds one key group at a time; rows
for deeper levels and for the sinks pass through. What arrives on the driver are the elements of sinks
that work there, the commits of those that write on the workers, and what was counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.runners.blaming import blamed, blamed_for_each
from headrace.runners.garbage import rarely_collected
from headrace.runners.operators import BatchGroup, ColumnGroup, Operator, Send, operators_of
from headrace.runners.planning import Plan
from headrace.runners.reading import bundles_of
from headrace.runners.spark.bundles import unpack
from headrace.runners.spark.departures import Scope
from headrace.runners.spark.failures import carrying
from headrace.runners.spark.place import partition
from headrace.runners.spark.receiving import receiving_for
from headrace.runners.spark.stage import Stage, StagePlan, in_pieces, stage_plans
from headrace.runners.spark.wire import SCHEMA, Row, loads, record_batch, rows_of
from headrace.sdk.graph import Node, Read
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.trigger import Clock
from headrace.windowing.time import MAX_MICROS

PIECE_BYTES: Final = 1 << 24
"""So many bytes of payloads make an Arrow batch."""

CONF: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(PIECE_BYTES),
    "spark.sql.adaptive.enabled": "false",
}
"""Few rows at a time go to a worker, since each has a payload of many elements; and an adaptive plan
would be a job for each shuffle."""


@attrs.frozen
class BatchStage:
    """A stage as Spark's ``mapInArrow`` calls it, once for each partition.

    Attributes:
        plan: what to do.
        now: processing time in microseconds.
        partitions: for level 0, (place of the Read, partition) of each task.
    """

    plan: StagePlan
    now: int
    partitions: Sequence[tuple[int, Any]] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the stage over a partition's rows."""
        with carrying(), rarely_collected():
            yield from map(record_batch, in_pieces(self._rows(batches), PIECE_BYTES))

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        place = self.plan.level * PLACES + partition()
        stage = Stage(self.plan, Scope("", 0, self.now, place, streaming=False), self._operator)
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
        kind = BatchGroup if step.column_gathering(batch=True) is None else ColumnGroup
        return kind(step, send, metrics, receiving_for(step))

    def _read(self, stage: Stage, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        for number in numbers:
            place, partition = self.partitions[number]
            read = self.plan.node(place)
            assert isinstance(read, Read)
            for bundle in blamed_for_each(read.label, bundles_of(read.source, partition)):
                stage.executor.feed(read, bundle)
                yield from stage.sent()

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
                stage.operator(row.step).gathering.take(payload, len(row.payload))  # type: ignore[attr-defined]
            else:
                stage.operator(row.step).push(unpack(payload))
                yield from stage.sent()
        if before is not None:
            yield from self._give_out(stage, before[0])

    def _give_out(self, stage: Stage, place: int) -> Iterator[Row]:
        if stage.is_keyed(place):
            stage.operator(place).end_round(Clock(MAX_MICROS, self.now))
        yield from stage.sent()


PLACES: Final = 1 << 20
"""So many partitions a level can have."""


def lower(plan: Plan, session: SparkSession, groups: int, now: int) -> DataFrame:
    """Return the rows for the sinks of a plan as a frame that has not run yet.

    Args:
        plan: what to run; all its sources are bounded.
        session: where to run it.
        groups: the number of key groups.
        now: processing time in microseconds.
    """
    stages = stage_plans(plan, groups, batch=True)
    tasks = list(_partitions(plan, stages[0]))
    frame = session.range(0, len(tasks), 1, max(1, len(tasks)))
    rows = frame.mapInArrow(BatchStage(stages[0], now, tasks), SCHEMA)
    width = int(session.conf.get("spark.sql.shuffle.partitions") or groups)
    for stage in stages[1:]:
        shuffled = rows.repartition(width, "group").sortWithinPartitions("level", "step", "group")
        rows = shuffled.mapInArrow(BatchStage(stage, now), SCHEMA)
    return rows


def _partitions(plan: Plan, stage: StagePlan) -> Iterator[tuple[int, Any]]:
    for place, label in enumerate(stage.names):
        node = next(n for n in plan.graph if n.label == label)
        if isinstance(node, Read):
            with blamed(label):
                yield from ((place, partition) for partition in node.source.partitions())
