"""Batch on Spark: one job, however many levels and sinks.

    range of partitions -> mapInArrow -> [repartition, sort -> mapInArrow] x levels -> collect

DataFrames that Spark reads itself are added by a union; each has its own ``mapInArrow``. After each
shuffle the rows of a key group are adjacent, so a worker holds one key group at a time; rows for deeper
levels and for the sinks pass through. In a key group the panes of side inputs come before the elements that
see them, so those are processed one bundle at a time. The driver collects the elements for sinks that run on
it, the commits of sinks that write on the workers, and metrics.

If Spark's plan does the only grouping, and only sinks of the driver follow, no Python worker runs: the driver
makes panes of Spark's results.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextvars import copy_context
from functools import reduce
from typing import Final, TypeAlias

import attrs
from pyspark.sql import DataFrame, SparkSession

from headrace.runners.engine.gc_tuning import infrequent_gc
from headrace.runners.error_context import label_errors
from headrace.runners.plan.planning import Plan
from headrace.runners.spark.batch_stage import BatchStage
from headrace.runners.spark.pushdown.grouped import GroupedFrame
from headrace.runners.spark.pushdown.pushing import Pushed
from headrace.runners.spark.shuffle.placement import place_column
from headrace.runners.spark.shuffle.wire import (
    SCHEMA,
    StageRow,
    rows_of,
)
from headrace.runners.spark.sources.native import is_native, native_reads
from headrace.runners.spark.stage import (
    ARROW_BATCH_BYTES,
    StagePlan,
    stage_plans,
)
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.sources.source import BoundedSource

CONF: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(ARROW_BATCH_BYTES),
    "spark.sql.adaptive.enabled": "false",
}
"""Spark's own rows go to a worker in large batches, payloads of many elements in small ones. Adaptive
execution would run one job per shuffle. Only groupings that Spark's plan does need it, for the number of
their partitions."""


@attrs.frozen
class OnWorkers:
    """A batch that ends on the workers.

    Attributes:
        frame: the rows for the sinks.
    """

    frame: DataFrame

    def run(self) -> list[StageRow]:
        """Run the batch, and return the rows for the sinks."""
        return list(rows_of(self.frame.toArrow().to_batches()))


@attrs.frozen
class OnDriver:
    """A batch of which Spark's plan does all but the sinks of the driver.

    Attributes:
        grouped: the grouping that Spark's plan does.
        stage: makes the rows for the sinks of its panes.
    """

    grouped: GroupedFrame
    stage: BatchStage

    def run(self) -> list[StageRow]:
        """Run the batch, and return the rows for the sinks."""
        return copy_context().run(self._rows)  # a stage refuses pickle in its context

    def _rows(self) -> list[StageRow]:
        with infrequent_gc():
            return list(self.stage.rows(self.grouped.collected().to_batches()))


Lowered: TypeAlias = OnWorkers | OnDriver
"""A batch that has not run yet."""


def lower(
    session: SparkSession,
    groups: int,
    now: int,
    sampled: frozenset[str] | None,
    pushed: Pushed,
) -> Lowered:
    """Return a plan as a batch that has not run yet.

    Args:
        session: the Spark session.
        groups: number of key groups.
        now: processing time in microseconds.
        sampled: labels of the groupings to sample; None if nobody observes the run.
        pushed: the plan, whose sources are all bounded, with the groupings that Spark's plan does.
    """
    session.conf.set("spark.sql.adaptive.enabled", bool(pushed.frames))
    stages = stage_plans(pushed.plan, groups, batch=True, sampled=sampled)
    sources = list(_sources(pushed, stages[0], session, now))
    if any(each.chain.ends_on_driver for each in pushed.frames):
        ((_, of_panes),) = sources
        return OnDriver(pushed.frames[0], of_panes)
    rows = reduce(DataFrame.union, (frame.mapInArrow(first, SCHEMA) for frame, first in sources))
    width = min(groups, int(session.conf.get("spark.sql.shuffle.partitions") or groups))
    place = place_column(groups, width)
    for stage in stages[1:]:
        shuffled = rows.repartition(width, place).sortWithinPartitions("level", "group", "step")
        rows = shuffled.mapInArrow(BatchStage(stage, now), SCHEMA)
    return OnWorkers(rows)


def _sources(
    pushed: Pushed, stage: StagePlan, session: SparkSession, now: int
) -> Iterator[tuple[DataFrame, BatchStage]]:
    """Yield the sources of the first level, with its function: one for all of Python, one per DataFrame."""
    plan, grouped = pushed.plan, pushed.frames
    done = {each.chain.read.label for each in grouped}
    natives = native_reads(plan, session, without=done)
    tasks = list(_partitions(plan, stage, done))
    if tasks or not (natives or grouped):
        frame = session.range(0, len(tasks), 1, max(1, len(tasks)))
        yield frame, BatchStage(stage, now, tasks)
    for branch, native in enumerate(natives, start=1):
        yield native.frame, BatchStage(stage, now, branch=branch, native=native.index)
    for branch, each in enumerate(grouped, start=len(natives) + 1):
        yield each.frame, BatchStage(stage, now, branch=branch, grouped=each.chain.done)


def _partitions(plan: Plan, stage: StagePlan, done: Container[str]) -> Iterator[tuple[int, object]]:
    for at, label in enumerate(stage.names):
        node = plan.graph.node(label)
        if isinstance(node, Read) and not (is_native(node.source) or label in done):
            assert isinstance(node.source, BoundedSource)  # a batch job has no others
            with label_errors(label):
                yield from ((at, partition) for partition in node.source.partitions())
