"""Streaming on Spark: one query and one checkpoint for any number of levels and sinks.

    data source with level 0 -> [transformWithState by key group] x levels -> foreachBatch

Level 0 runs where the data source is read, in the same process. DataFrames that Spark reads itself are added
by a union; each has its own ``mapInArrow`` with level 0. Control rows go
to every key group of every level in every batch: first the data, then the watermark, then processing time.
Rows that a level sends to the next level arrive there in the same batch.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import attrs
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row as SparkRow
from pyspark.sql.functions import current_timestamp

from headrace.runners.contents.grouping_paths import Keep
from headrace.runners.engine.gc_tuning import infrequent_gc
from headrace.runners.engine.operators import operators_of
from headrace.runners.error_context import label_errors_each
from headrace.runners.grouping.operators import StreamingGroup, streaming_group
from headrace.runners.operator import Operator, Send
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.plan.table_steps import reads_tables
from headrace.runners.side_inputs.side_input_operators import StreamingSideInputs
from headrace.runners.sources.source_bundles import event_bundle
from headrace.runners.sources.source_ranges import SourceRange
from headrace.runners.spark.cluster.error_transport import wrapping
from headrace.runners.spark.cluster.spark_versions import with_state
from headrace.runners.spark.keyed_processor import KeyedProcessor, States
from headrace.runners.spark.shuffle.blocks import unpacked_blocks
from headrace.runners.spark.shuffle.control_rows import BEFORE, CONTROL, Control, merged
from headrace.runners.spark.shuffle.placement import PLACE
from headrace.runners.spark.shuffle.read import shuffle_read_for
from headrace.runners.spark.shuffle.wire import (
    READ_SIZE,
    REPORT,
    SCHEMA,
    StageRow,
    dumps,
    loads,
    record_batch,
)
from headrace.runners.spark.shuffle.write import Scope
from headrace.runners.spark.sources.native import NativeRead, bundles_in
from headrace.runners.spark.sources.native_watermarks import (
    OBSERVED,
    NativeWatermarkObserver,
    Observed,
    SourceClock,
)
from headrace.runners.spark.sources.range_rows import elements_of, size_of
from headrace.runners.spark.sources.read_elements import unpack_read
from headrace.runners.spark.stage import Stage, StagePlan, in_batches
from headrace.runners.spark.state.chunked_keys import KeyedChunks
from headrace.runners.spark.state.chunked_tiers import TieredChunks
from headrace.runners.spark.state.chunks import ChunkedStore, ChunkKind, ChunkStore, Directory
from headrace.runners.spark.state.stage_cache import cached
from headrace.runners.spark.worker.heap import freeze_worker
from headrace.runners.spark.worker.task_context import batch_number, task_number
from headrace.runners.stateful.stateful_operators import StreamingStateful
from headrace.runners.stateful.stateful_side_input_operators import StreamingGatedStateful
from headrace.sdk.coders.stored.stable import refuse_pickle
from headrace.sdk.metrics.cells import recording
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pipelines.graph import Node, Read
from headrace.stored_formats import CHUNKS, check_format
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.watermarks.policies import FromSource

RANGE_ROWS: Final = 1 << 14
"""Number of elements of a range that pass through the steps at once."""

_SPARK_ROW: Final = SparkRow(*StageRow._fields)

SIDES: Final = "Sides"
"""The name of the store for the side inputs of a stateful DoFn, within the store of its keys."""


@attrs.frozen
class StreamPlan:
    """A stage of a query.

    Attributes:
        stage: the plan of the stage.
        run: name of the run, kept after a restart from the checkpoint.
        start: name of this start of the run.
        native: labels of the sources whose watermarks the key groups of level 1 compute: those that Spark
            reads itself, and some of those that the workers read.
    """

    stage: StagePlan
    run: str
    start: str
    native: tuple[str, ...] = ()

    @contextmanager
    def cached_stage(self, batch: int, now: int, task: int) -> Iterator[Stage]:
        """Yield the stage for a batch and a task; it is set up once per process."""
        refuse_pickle(self.stage.plan.no_pickle)
        with cached((self.start, self.stage.level), self._opened) as stage:
            if batch != stage.scope.batch:
                stage.executor.finalize()  # Spark has committed the batch before
            stage.scope.at(batch, now, task)
            yield stage

    def _opened(self) -> Stage:
        scope = Scope(self.run, 0, MIN_MICROS, 0, streaming=True)
        stage = Stage(self.stage, scope, self._operator)
        stage.executor.open()
        freeze_worker()
        return stage

    def _operator(self, node: Node, send: Send, metrics: StepMetrics) -> Operator:
        plan = self.stage.plan
        step = plan.steps.get(node.label)
        if not isinstance(step, KeyedStep):
            return operators_of(plan, batch=False)(node, send, metrics)
        received = shuffle_read_for(step, batch=False)
        return streaming_group(step, send, metrics, received)

    @property
    def reads(self) -> tuple[Read, ...]:
        """All sources of the plan, if this is one of the first two levels."""
        return tuple(node for node in self.stage.plan.graph if isinstance(node, Read))

    def controls(self, control: Control) -> Iterator[StageRow]:
        """Return the control rows for all key groups of the next level."""
        level = self.stage.level + 1
        groups = self.stage.groups if level < self.stage.last else 1
        payload = dumps(control)
        return (StageRow(level, CONTROL, group, payload) for group in range(groups))

    def observed(self, observed: Observed) -> Iterator[StageRow]:
        """Return the rows of an observation for all key groups of the first level, if there is one."""
        payload = dumps(observed)
        groups = self.stage.groups if self.stage.last > 1 else 0
        return (StageRow(1, OBSERVED, group, payload) for group in range(groups))


@attrs.define
class TaskReads:
    """Facts that a task finds out about the ranges that it reads.

    Attributes:
        observers: the observers of watermarks, by the label of the Read.
        size: the size of the records in bytes, estimated.
    """

    observers: dict[str, NativeWatermarkObserver] = attrs.field(factory=dict)
    size: int = 0


@attrs.frozen
class FirstStage:
    """Level 0 for the rows of the data source, called once for each task of a batch."""

    plan: StreamPlan

    def __call__(self, rows: Iterable[StageRow]) -> Iterator[pa.RecordBatch]:
        """Run the stage over a task's rows."""
        with wrapping(), infrequent_gc():
            yield from map(record_batch, in_batches(self._rows(rows)))

    def _rows(self, rows: Iterable[StageRow]) -> Iterator[StageRow]:
        found = TaskReads()
        with self.plan.cached_stage(batch_number(), MIN_MICROS, task_number(0)) as stage:
            for row in rows:
                yield from self._take(stage, row, found)
            stage.end_round({read.label: MIN_MICROS for read in self.plan.reads})
            yield from stage.sent()
            for label, observer in found.observers.items():
                yield from self.plan.observed(observer.observed(label, stage.scope))
            if found.size:
                yield StageRow(self.plan.stage.last, READ_SIZE, 0, dumps(found.size))
            yield from stage.observed(0)
            yield stage.report()

    def _take(self, stage: Stage, row: StageRow, found: TaskReads) -> Iterator[StageRow]:
        payload = loads(row.payload)
        if row.step == CONTROL:
            yield from self.plan.controls(payload)
            return
        if row.step == BEFORE:
            stage.note_before(payload)
            return
        if row.step == OBSERVED:
            yield from self.plan.observed(payload)
            return
        if row.step == REPORT:
            stage.executor.note_recorded(payload)
            return
        stage.scope.read = row.group
        stage.scope.now, content = payload
        read = self.plan.stage.read(row.step)
        if isinstance(content, SourceRange):
            yield from self._read(stage, read, content, found)
            return
        tables = reads_tables(self.plan.stage.plan, read)
        bundle = event_bundle(read.source, unpack_read(read, content, tables=tables), tables)
        stage.operator(row.step).push(bundle)
        yield from stage.sent()

    def _read(
        self, stage: Stage, read: Read, wanted: SourceRange, found: TaskReads
    ) -> Iterator[StageRow]:
        """Read a range of a source, and pass the elements on."""
        with recording(stage.executor[read.label].counted):
            bundle = elements_of(read, wanted)
        stage.executor.note_lags(read, wanted.lags)
        if wanted.elements is None:
            found.size += size_of(bundle)
        if read.label in self.plan.native:
            new = NativeWatermarkObserver(read.watermark or FromSource())
            found.observers.setdefault(read.label, new).record((wanted.number,), bundle)
        for piece in bundle.pieces(RANGE_ROWS):
            stage.executor.feed(read, piece)
            yield from stage.sent()


@attrs.frozen
class NativeStage:
    """Level 0 for a DataFrame that Spark reads itself.

    Attributes:
        plan: the plan of the stage.
        index: index of the Read in the graph.
        branch: number of the stage within its level.
    """

    plan: StreamPlan
    index: int
    branch: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the stage over a task's rows."""
        with wrapping(), infrequent_gc():
            yield from map(record_batch, in_batches(self._rows(batches)))

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[StageRow]:
        read = self.plan.stage.read(self.index)
        observer = NativeWatermarkObserver(read.watermark or FromSource())
        with self.plan.cached_stage(batch_number(), MIN_MICROS, task_number(self.branch)) as stage:
            has_rows = False
            for batch in batches:
                has_rows = has_rows or batch.num_rows > 0
                stage.scope.now = _moment(batch, stage.scope.now)
                yield from self._take(stage, read, batch.drop_columns([NOW]), observer)
            stage.end_round({read.label: MIN_MICROS for read in self.plan.reads})
            yield from stage.sent()
            if has_rows:
                yield from self.plan.observed(observer.observed(read.label, stage.scope))
            yield from stage.observed(0)
            yield stage.report()

    def _take(
        self, stage: Stage, read: Read, batch: pa.RecordBatch, observer: NativeWatermarkObserver
    ) -> Iterator[StageRow]:
        found = bundles_in(read.source, batch, reads_tables(self.plan.stage.plan, read))
        for name, bundle in label_errors_each(read.label, found):
            observer.record(name, bundle)
            stage.executor.feed(read, bundle)
            yield from stage.sent()


NOW: Final = "__headrace_now"
"""A column with the time of the batch, which Spark stores in its offset log."""


def _moment(batch: pa.RecordBatch, before: int) -> int:
    """Return the time of a batch in microseconds."""
    moment: int = batch.column(NOW)[0].value if batch.num_rows else before
    return moment


class KeyedStage:
    """A level for Spark's ``transformWithState``, called for each key group.

    Args:
        plan: the plan of the level.
    """

    def __init__(self, plan: StreamPlan) -> None:
        self._plan = plan

    @property
    def observes(self) -> bool:
        """Whether this level computes the watermarks of sources."""
        return bool(self._plan.native) and self._plan.stage.level == 1

    def open(self, states: States) -> None:
        """Take the state for a task."""
        self._directories, self._chunks, self._observed = states
        self._batch = batch_number()
        self._clock: SourceClock | None = None
        if self.observes:
            self._clock = SourceClock(self._plan.reads, self._plan.native)

    def handle(self, rows: Iterator[SparkRow]) -> Iterator[SparkRow]:
        """Process the rows of a key group in a batch."""
        incoming = (StageRow(row.level, row.step, row.group, row.payload) for row in rows)
        with wrapping(), infrequent_gc():
            yield from (_SPARK_ROW(*row) for row in self._handle(incoming))

    def _handle(self, rows: Iterator[StageRow]) -> Iterator[StageRow]:
        """Run the stage over the rows of a key group, with one control row among them."""
        own, level = [], self._plan.stage.level
        for row in rows:
            if row.level == level:
                own.append(row)
            else:
                yield row
        group, control = own[0].group, self._control(own)
        task = level * self._plan.stage.groups + group
        with self._plan.cached_stage(self._batch, control.now, task) as stage:
            stored, directories = self._open(stage)
            for row in own:
                if row.step >= 0:
                    self._take(stage, row)
            stage.executor.note_drain(control.draining)
            outputs = stage.end_round(control.watermarks)
            data = dumps((CHUNKS, directories))
            if data != stored:
                self._directories.update((data,))
            yield from stage.sent()
            resumes_at = stage.executor.resumes_at
            yield from self._plan.controls(control.with_outputs(self._own(outputs), resumes_at))
            yield from stage.files_in_use(group)
            yield from stage.observed(group)
            yield stage.report()

    def _control(self, rows: list[StageRow]) -> Control:
        """Return the watermarks and the time that follow from the rows of a batch and the state."""
        refuse_pickle(self._plan.stage.plan.no_pickle)
        controls = [loads(row.payload) for row in rows if row.step == CONTROL]
        if self._clock is None:
            return merged(controls)
        stored = self._observed.get()
        self._clock.restore(None if stored is None else loads(stored[0]))
        observed = (loads(row.payload) for row in rows if row.step == OBSERVED)
        control = self._clock.advance(controls, observed)
        self._observed.update((dumps(self._clock.state()),))
        return control

    def _open(self, stage: Stage) -> tuple[bytes | None, dict[str, Directory]]:
        """Attach this key group's state to the keyed steps of this level; return the stored bytes."""
        directories: dict[str, Directory] = {}
        found = self._directories.get()
        stored = None if found is None else bytes(found[0])
        if stored is not None:
            version, directories = loads(stored)
            check_format(
                "the checkpoint's state", version, "chunks", "the directory state in the checkpoint"
            )
        for label in self._own(self._plan.stage.plan.steps):
            for name, operator in _with_stores(label, stage.executor[label]):
                directory = directories.setdefault(name, Directory())
                chunks = StateChunks(self._chunks, name)
                operator.store = ChunkedStore(directory, chunks, _kind_of_chunk(operator))
        return stored, directories

    def _take(self, stage: Stage, row: StageRow) -> None:
        operator, payload = stage.operator(row.step), loads(row.payload)
        if isinstance(operator, StreamingGroup):
            operator.precombiner.take(unpacked_blocks(payload), len(row.payload))
        else:
            stage.push(row.step, payload)

    def _own(self, labels: Mapping[str, object]) -> dict[str, Any]:
        """Return the items whose labels are steps with state of this level."""
        plan, level = self._plan.stage.plan, self._plan.stage.level
        return {
            label: value
            for label, value in labels.items()
            if label in plan.steps and plan.depths[label] == level
        }


StreamingKeyed: TypeAlias = (
    StreamingGroup | StreamingStateful | StreamingSideInputs | StreamingGatedStateful
)
"""An operator with a store."""


def _with_stores(label: str, operator: Operator) -> Iterator[tuple[str, StreamingKeyed]]:
    """Yield the operators of a step that have a store, with the name of the store."""
    assert isinstance(operator, StreamingKeyed)
    if isinstance(operator, StreamingGatedStateful):
        yield f"{label}/{SIDES}", operator
        yield label, operator.keys
    else:
        yield label, operator


def _kind_of_chunk(operator: StreamingKeyed) -> ChunkKind[Any]:
    if isinstance(operator, StreamingSideInputs | StreamingGatedStateful):
        return KeyedChunks(operator.gate)
    if isinstance(operator, StreamingStateful):
        return KeyedChunks(operator.keys)
    if operator.keep is Keep.FULL:
        return KeyedChunks(operator.grouping)
    return TieredChunks(operator.step, operator.grouping, operator.keep)


@attrs.frozen
class StateChunks(ChunkStore):
    """The chunks of one grouping in Spark's state."""

    state: Any
    step: str

    def get(self, chunk: int) -> bytes | None:
        found = self.state.getValue((self.step, chunk))
        return None if found is None else bytes(found[0])

    def put(self, chunk: int, data: bytes) -> None:
        self.state.updateValue((self.step, chunk), (data,))

    def remove(self, chunk: int) -> None:
        self.state.removeKey((self.step, chunk))


def lower(
    source: Callable[[FirstStage], DataFrame],
    stages: Iterable[StagePlan],
    place: Column,
    run: str,
    natives: Sequence[NativeRead] = (),
    observed: Iterable[str] = (),
) -> DataFrame:
    """Return the rows for the sinks of a plan as a streaming DataFrame.

    Args:
        source: returns a streaming DataFrame of what level 0 makes of the sources that Python reads.
        stages: the plan of each level.
        place: what Spark partitions and keeps state by; one value for each key group.
        run: name of the run.
        natives: the sources that Spark reads itself.
        observed: labels of the sources that the workers read and whose watermarks they observe.
    """
    start = uuid.uuid4().hex
    labels = (*(native.read.label for native in natives), *sorted(observed))
    first, *keyed = (StreamPlan(stage, run, start, labels) for stage in stages)
    rows = source(FirstStage(first))
    for branch, native in enumerate(natives, start=1):
        timed = native.frame.withColumn(NOW, current_timestamp())
        rows = rows.union(timed.mapInArrow(NativeStage(first, native.index, branch), SCHEMA))
    for plan in keyed:
        grouped = rows.withColumn(PLACE, place).groupBy(PLACE)
        rows = with_state(grouped, KeyedProcessor(KeyedStage(plan)), SCHEMA, StageRow, in_batches)
    return rows
