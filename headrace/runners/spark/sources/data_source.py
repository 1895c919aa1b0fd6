"""All sources that Python reads, as one streaming data source (Spark's Python data source API).

Its reader runs in a separate process on the driver. An offset is a
:class:`~headrace.runners.sources.source_rounds.Position`. Offsets also advance without new elements, after
the heartbeat interval, so that processing time advances. The elements of a round are pickled into the input
partitions, together with a control row for the watermarks and processing time; of sources that the workers
read, only the ranges of the round (:mod:`headrace.runners.spark.sources.range_rows`). The worker that reads
a partition runs level 0 over its rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import attrs
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from headrace.grouping.bundle import Bundle
from headrace.runners.error_context import label_errors
from headrace.runners.sources.batch_size import BatchDelivery
from headrace.runners.sources.source_positions import Position, idle, position_of
from headrace.runners.sources.source_ranges import NO_WORKER_READS, WorkerReads
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.runners.spark.cluster.error_transport import wrapping
from headrace.runners.spark.cluster.spark_versions import source_reader
from headrace.runners.spark.cluster.unpickling import Packed, reduced
from headrace.runners.spark.shuffle.control_rows import BEFORE, CONTROL, Control
from headrace.runners.spark.shuffle.wire import REPORT, SCHEMA, StageRow, dumps
from headrace.runners.spark.sources.range_rows import observed_by_driver, rows_of_ranges
from headrace.runners.spark.sources.read_elements import pack_read
from headrace.runners.spark.sources.watermarks_before import watermarks_before
from headrace.sdk.coders.stored.registered import Registrations
from headrace.sdk.coders.stored.stable import refuse_pickle
from headrace.sdk.pipelines.graph import Read
from headrace.triggers.trigger import NEVER
from headrace.windowing.time.timestamps import MIN_MICROS

NAME: Final = "headrace"

P = ParamSpec("P")
T = TypeVar("T")

FirstLevel = Callable[[Iterable[StageRow]], Iterator[pa.RecordBatch]]
"""Runs level 0 over the rows of a task."""


@attrs.frozen
class SourcePlan:
    """The configuration of the data source.

    Attributes:
        reads: the Read nodes with their indexes in the graph.
        limit: maximum number of records per partition and round.
        seconds: the target time of a batch; 0 for none.
        delivered: a file with the size of the records of the last batch that workers have read, in bytes; it
            is written when the batch is delivered.
        waits: whether the next batch does not start at once.
        resumes: a file with the processing time at which a restriction goes on, in microseconds; it is
            written when a batch is delivered. Empty if the plan has no restrictions.
        heartbeat: maximum idle time between rounds, in microseconds.
        width: number of tasks among which the elements of a round are divided.
        drain: a file; once it exists, reading stops and watermarks go to the end of time.
        pause: a file; while it exists, no round starts.
        observed: a file with the watermarks of sources that the workers observe; it is written when a batch
            is delivered.
        natives: labels of sources that Spark reads itself.
        until_caught_up: whether sources end when all their present records are read.
        workers: the sources that the workers read.
        tables: labels of the sources that are read as tables.
        no_pickle: whether values that only pickle can write raise an error.
        classes: the classes with a coder or a name.
    """

    reads: tuple[tuple[int, Read], ...]
    limit: int
    heartbeat: int
    width: int
    drain: str
    pause: str
    observed: str = ""
    natives: tuple[str, ...] = ()
    until_caught_up: bool = False
    workers: WorkerReads = NO_WORKER_READS
    tables: frozenset[str] = frozenset()
    no_pickle: bool = False
    seconds: float = 0.0
    delivered: str = ""
    waits: bool = False
    resumes: str = ""
    classes: Registrations = attrs.field(factory=Registrations)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as bytes, so that a package that a worker lacks is an error with the sources."""
        return reduced(self, ", ".join(read.label for _, read in self.reads))


@attrs.frozen
class TaskRows(InputPartition):
    """The rows of one task in a round."""

    rows: tuple[StageRow, ...]


def transported(method: Callable[P, T]) -> Callable[P, T]:
    """Wrap the errors of a method for transport through Spark."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with wrapping():
            return method(*args, **kwargs)

    return call


class RoundsReader(DataSourceStreamReader):
    """The rounds of the sources, for Spark.

    Args:
        plan: the sources.
        first: runs level 0 over the rows of a task; the process that plans the rounds does not unpickle it.
    """

    def __init__(self, plan: SourcePlan, first: Packed[FirstLevel]) -> None:
        self._plan = plan
        self._first = first
        reads = tuple(read for _, read in plan.reads)
        self._rounds = SourceRounds(
            reads,
            plan.limit,
            plan.heartbeat,
            plan.until_caught_up,
            plan.natives,
            workers=plan.workers,
            seconds=plan.seconds,
            delivery=self._delivery,
            tables=plan.tables,
        )
        self._prefetched: dict[int, dict[str, Any]] = {}
        self._started = False

    def _delivery(self, now: float) -> BatchDelivery:
        """Return what the driver tells of the last batch.

        A batch does not take the time up to the next trigger, if that waits.
        """
        path = self._plan.delivered
        if not os.path.exists(path):
            return BatchDelivery(now)
        with open(path) as file:
            size = int(file.read())
        return BatchDelivery(os.stat(path).st_mtime if self._plan.waits else now, size)

    @transported
    def initialOffset(self) -> dict[str, object]:
        return self._rounds.start().as_json()

    @transported
    def latestOffset(self, start: dict[str, object], limit: object) -> dict[str, object]:
        before = position_of(start)
        if os.path.exists(self._plan.pause):
            return start
        after, bundles = self._next(before)
        if after is before:
            return start
        self._started = True
        self._prefetched = {after.round: bundles}
        return after.as_json()

    def _next(self, before: Position) -> tuple[Position, dict[str, Any]]:
        """Return the position after the next round, with its bundles; the same if there is none yet."""
        finished = bool(before.round) and self._rounds.is_finished(before)
        if os.path.exists(self._plan.drain) and not (finished and before.draining):
            return self._rounds.drained(before), {}
        if finished and before.done and not self._started:
            # After a restart, a finished run sends its end once more.
            return idle(before, before.now), {}
        due = self._resumes_at()
        if not finished:
            return self._rounds.read(before, due)
        after = self._rounds.idle(before, due)
        if after is before and due != NEVER and self._plan.until_caught_up and not before.draining:
            after = self._rounds.drained(before)  # all restrictions wait
        return after, {}

    def _resumes_at(self) -> int:
        """Return the processing time at which a restriction goes on; NEVER if none is known."""
        path = self._plan.resumes
        if not path or not os.path.exists(path):
            return NEVER
        with open(path) as file:
            return int(file.read() or NEVER)

    @transported
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        before, after = position_of(start), position_of(end)
        if before.round == after.round:
            return []
        bundles = self._prefetched.pop(after.round, None)
        if bundles is None:
            bundles = self._rounds.replay(before, after)
        return self._input_partitions(before, after, bundles)

    @transported
    def commit(self, end: dict[str, Any]) -> None:
        self._rounds.committed(position_of(end))

    def stop(self) -> None:
        self._rounds.close()

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        return self._first.value()(partition.rows)

    def _control(self, after: Position) -> Control:
        """Return the control of a round; sources that are newer than the round have not started yet."""
        new = [read.label for _, read in self._plan.reads if read.label not in after.reads]
        watermarks = {**after.watermarks, **dict.fromkeys(new, MIN_MICROS)}
        done = after.done and not new
        return Control(after.round, after.now, watermarks, done, after.draining)

    def _input_partitions(
        self, before: Position, after: Position, bundles: dict[str, Any]
    ) -> list[InputPartition]:
        refuse_pickle(self._plan.no_pickle)
        control = self._control(after)
        tasks: list[list[StageRow]] = [[] for _ in range(self._plan.width)]
        tasks[0].append(StageRow(0, CONTROL, 0, dumps(control)))
        for label in sorted(self._plan.workers.observed):
            tasks[0].append(observed_by_driver(label, after))
        recorded = self._rounds.recorded()
        if recorded:
            tasks[0].append(StageRow(0, REPORT, 0, dumps(recorded)))
        order = count()
        for index, read in self._plan.reads:
            if read.label in self._plan.workers.labels:
                ranges = bundles.get(read.label, ())
                for number, row in rows_of_ranges(index, after, ranges, len(tasks), order):
                    tasks[number].append(row)
                continue
            for bundle in filter(len, bundles.get(read.label, ())):
                for number, piece in _pieces(bundle, index, len(tasks)):
                    content = _content(read, after.now, piece)
                    tasks[number].append(StageRow(0, index, next(order), content))
        self._rounds.note_size(sum(len(row.payload) for rows in tasks for row in rows))
        first = StageRow(0, BEFORE, 0, dumps(self._watermarks(before)))
        return [TaskRows((first, *rows)) for rows in tasks if rows]

    def _watermarks(self, before: Position) -> dict[str, int]:
        return watermarks_before(before, self._plan.workers.observed, Path(self._plan.observed))


def _pieces(bundle: Bundle, index: int, tasks: int) -> Iterator[tuple[int, Bundle]]:
    """Yield the pieces of a bundle, each with the number of its task."""
    pieces = list(bundle.pieces(-(-len(bundle) // tasks)))
    first = index if len(pieces) == 1 else 0
    return ((number % tasks, piece) for number, piece in enumerate(pieces, first))


def _content(read: Read, now: int, piece: Bundle) -> bytes:
    with label_errors(read.label):
        return dumps((now, pack_read(piece)))


def data_source(plan: SourcePlan, first: FirstLevel) -> type[DataSource]:
    """Return the data source class for a plan; the plan and level 0 are pickled with the class."""
    packed = Packed.of(first)

    class Rounds(DataSource):
        @classmethod
        def name(cls) -> str:
            return NAME

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: object) -> DataSourceStreamReader:
            reader: DataSourceStreamReader = source_reader(RoundsReader(plan, packed))
            return reader

    return Rounds


def source_frame(session: SparkSession, plan: SourcePlan, first: FirstLevel) -> Any:
    """Return what level 0 makes of the rows of the data source as a streaming DataFrame."""
    session.dataSource.register(data_source(plan, first))
    return session.readStream.format(NAME).load()
