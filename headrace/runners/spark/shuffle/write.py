"""Shuffle writers: the operators that send elements to a later level or to a sink.

A stage uses a shuffle writer in place of a node of another level. The writer emits rows to an outbox that
the stage clears as it runs, so a precombiner does not grow with the data, and the outbox holds at most the
output of one key group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from typing import Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import joined
from headrace.runners.contents.grouping_paths import (
    WITH_COUNTS,
    Collect,
    Execution,
    GroupingPath,
    Keep,
)
from headrace.runners.error_context import label_errors, note_key
from headrace.runners.operator import Operator
from headrace.runners.plan.planning import (
    KeyedStep,
    StatefulStep,
    StepWithSides,
    StepWithState,
    has_sides,
)
from headrace.runners.precombine import GroupInput
from headrace.runners.spark.shuffle.blocks import (
    Block,
    blocks_of_arrivals,
    blocks_of_columns,
    blocks_of_rows,
    packed_blocks,
)
from headrace.runners.spark.shuffle.bundle_columns import pack
from headrace.runners.spark.shuffle.key_group import KeyGroups
from headrace.runners.spark.shuffle.wire import ELEMENTS, StageRow, dumps
from headrace.sdk.metrics.cells import MetricsContainer, recording
from headrace.sdk.pardo.stateful_dofn import key_of_pair
from headrace.sdk.pipelines.graph import GroupByKey, Node, Write
from headrace.sdk.sources.sink import PartSink, SinkPart
from headrace.triggers.trigger import Clock
from headrace.windowing.column import mapped
from headrace.windowing.time.timestamps import MAX_MICROS

ROWS: Final = 1 << 20
"""Maximum number of buffered elements before a shuffle."""

BAG_BYTES: Final = 1 << 23
"""Approximate maximum size, in bytes, of buffered elements that are not combined."""

SIZED_ELEMENTS: Final = 32
"""Number of elements of a bundle from which the size of the others is estimated."""


SENT_PIECE: Final = 1 << 12
"""Maximum number of elements that are sent to one key group before the next one."""


@attrs.frozen
class StepAddress:
    """The destination of rows: a level, and the index of a node in the graph."""

    level: int
    step: int


@attrs.define(eq=False)
class KeyedWrite(Operator):
    """Precombines elements before a grouping, and sends the result to their key groups."""

    step: KeyedStep
    address: StepAddress
    groups: KeyGroups
    batch: bool
    outbox: list[StageRow]
    counted: MetricsContainer = attrs.field(factory=MetricsContainer, init=False)
    _path: GroupingPath = attrs.field(init=False)
    _precombiner: GroupInput = attrs.field(init=False)
    _rows: int = attrs.field(default=0, init=False)
    _bytes: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the precombiner."""
        execution = Execution.BATCH if self.batch else Execution.SHUFFLED
        self._path = self.step.path(execution)
        self._precombiner = self.step.precombiner(execution)
        self.note_before({})

    def note_before(self, watermarks: Mapping[str, int]) -> None:
        """Take the watermarks of sources before the batch, by label, as far as they are known."""
        if self.step.timed_by:
            known = (watermarks.get(label, MAX_MICROS) for label in self.step.timed_by)
            self._precombiner.watermark = min(known)

    def push(self, bundle: Bundle) -> None:
        """Add a bundle; send the precombined elements whenever the buffer is full."""
        with label_errors(self.step.node.label):
            row = _row_bytes(bundle) if isinstance(self.step.node, GroupByKey) else 0
        for piece in bundle.pieces(max(1, BAG_BYTES // row) if row else ROWS):
            with recording(self.counted), label_errors(self.step.node.label):
                self._precombiner.add(piece)
            self._rows += len(piece)
            self._bytes += row * len(piece)
            if self._rows >= ROWS or self._bytes >= BAG_BYTES:
                self._send()

    def open(self) -> None:
        """Set up the CombineFn, if there is one."""
        with recording(self.counted), label_errors(self.step.node.label):
            self.step.set_up()

    def release(self) -> None:
        """Tear down the CombineFn, if there is one."""
        with recording(self.counted), label_errors(self.step.node.label):
            self.step.tear_down()

    def end_round(self, clock: Clock) -> int:
        """Send the precombined elements."""
        if self._rows:
            self._send()
        return clock.watermark

    def _send(self) -> None:
        with recording(self.counted), label_errors(self.step.node.label):
            for group, blocks in self._blocks().items():
                for block in blocks:
                    self._compact(block)
                payload = dumps(packed_blocks(blocks))
                self.outbox.append(StageRow(self.address.level, self.address.step, group, payload))
        self._rows = self._bytes = 0

    def _compact(self, block: Block) -> None:
        def note(error: Exception, row: int) -> None:
            note_key(error, block.keys[row])

        block.contents[:] = mapped(self.step.reduction.compact, block.contents, note)

    def _blocks(self) -> dict[int, list[Block]]:
        collect, keep = self._path.collect, self._path.keep
        if collect is Collect.ROWS:
            return blocks_of_rows(self._precombiner.rows(), self.groups)
        merged = keep is Keep.SESSIONS and collect is Collect.SESSIONS
        counted = keep in WITH_COUNTS or (merged and not self.batch)
        if collect is not Collect.ELEMENTS and (counted or merged or keep is Keep.WINDOWS):
            return blocks_of_columns(self._precombiner.columns(), self.groups, counted)
        predicates = tuple(self.step.strategy.trigger.predicates)
        return blocks_of_arrivals(self._precombiner.drain(), self.groups, predicates)


def _payload(label: str, value: object) -> bytes:
    """Return the payload of a row; errors have the label of the node that the elements are for."""
    with label_errors(label):
        return dumps(value)


def _row_bytes(bundle: Bundle) -> int:
    """Estimate the pickled size of an element of a bundle, in bytes."""
    values = bundle.values
    some = values[:: max(1, len(values) // SIZED_ELEMENTS)]
    return len(dumps(some)) // max(1, len(some))


@attrs.define(eq=False)
class KeyedBundleWrite(Operator):
    """Sends elements to their key groups unchanged: for stateful DoFns.

    The payload is ``(read, number, bundle)``. The first two give the bundles the order of what was read,
    because a shuffle keeps none.
    """

    label: str
    address: StepAddress
    groups: KeyGroups
    outbox: list[StageRow]
    scope: Scope
    _numbers: count[int] = attrs.field(factory=count, init=False)

    def push(self, bundle: Bundle) -> None:
        """Send the elements of a bundle, one row for each key group."""
        read = self.scope.read
        for group, own in _by_key_group(self.label, bundle, self.groups):
            payload = _payload(self.label, (read, next(self._numbers), pack(own)))
            self.outbox.append(StageRow(self.address.level, self.address.step, group, payload))


def _by_key_group(label: str, bundle: Bundle, groups: KeyGroups) -> Iterator[tuple[int, Bundle]]:
    """Yield the pairs of each key group; errors have the label of the node that they are for."""
    for piece in bundle.pieces(ROWS):
        with label_errors(label):
            keys = [key_of_pair(value) for value in piece.values]
            numbers = groups.of(keys)
        rows: dict[int, list[int]] = {}
        for row, group in enumerate(numbers):
            rows.setdefault(group, []).append(row)
        for group, own in rows.items():
            yield group, piece.take(own)


@attrs.define(eq=False)
class SideInputWrite(Operator):
    """Sends elements to a node with side inputs: panes of side inputs to all key groups, others to one each.

    Elements are sent in pieces, to the key groups in turn; in each round the number of the task says which
    is the first. So a task that runs again sends the same. If elements can be retracted, a task sends all
    of them to one key group, so that a retraction follows its value, as it left the grouping before. The
    payload is the number of the input and a bundle. The values of a large pane are written to a file once.
    """

    step: StepWithSides
    address: StepAddress
    groups: KeyGroups
    batch: bool
    outbox: list[StageRow]
    scope: Scope
    _pieces: int = attrs.field(default=0, init=False)

    def push(self, bundle: Bundle) -> None:
        """Send elements of the main input."""
        step = self.address.step + ELEMENTS if self.batch else self.address.step
        for piece in bundle.pieces(SENT_PIECE):
            group = (self.scope.task + self._pieces) % self.groups.number
            self._send([group], step, _payload(self.step.node.label, (0, pack(piece))))
            self._pieces += not self.step.node.inputs[0].changing

    def receiver(self, number: int) -> Callable[[Bundle], None]:
        return partial(self._push_panes, number) if number else self.push

    def _push_panes(self, number: int, bundle: Bundle) -> None:
        files = self.step.files
        if files is not None:
            with label_errors(self.step.node.label):
                values = [(key, files.stored(some) or some) for key, some in bundle.values]
            bundle = bundle.with_values(values)
        payload = _payload(self.step.node.label, (number, pack(bundle)))
        self._send(range(self.groups.number), self.address.step, payload)

    def end_round(self, clock: Clock) -> int:
        """Start with the first key group again."""
        self._pieces = 0
        return clock.watermark

    def _send(self, groups: Iterable[int], step: int, payload: bytes) -> None:
        for group in groups:
            self.outbox.append(StageRow(self.address.level, step, group, payload))


@attrs.define(eq=False)
class KeyedSideInputWrite(SideInputWrite):
    """Sends elements to a stateful DoFn with side inputs: panes to all key groups, pairs by key.

    In batch mode, too, all of these have the same step: the keys of a key group are processed at its end.
    """

    def push(self, bundle: Bundle) -> None:
        """Send pairs of the main input."""
        label = self.step.node.label
        for group, own in _by_key_group(label, bundle, self.groups):
            self._send([group], self.address.step, _payload(label, (0, pack(own))))


@attrs.define(eq=False)
class BundleWrite(Operator):
    """Sends whole bundles to the key groups in turn: for reshuffles and for nodes of later levels."""

    label: str
    address: StepAddress
    groups: int
    outbox: list[StageRow]
    _next_group: count[int] = attrs.field(factory=count, init=False)

    def push(self, bundle: Bundle) -> None:
        """Send a bundle."""
        group = next(self._next_group) % self.groups
        payload = _payload(self.label, pack(bundle))
        self.outbox.append(StageRow(self.address.level, self.address.step, group, payload))


@attrs.define(eq=False)
class SinkWrite(Operator):
    """Sends elements to the driver's sinks; for a PartSink, writes them here and sends the result.

    The payload is ``(part, now, what)``: a bundle, or the result of :meth:`PartSink.write_part`.
    """

    node: Write
    address: StepAddress
    groups: int
    outbox: list[StageRow]
    scope: Scope
    _waiting: list[Bundle] = attrs.field(factory=list, init=False)
    _rows: int = attrs.field(default=0, init=False)

    def push(self, bundle: Bundle) -> None:
        """Buffer a bundle; write when the buffer is full."""
        self._waiting.append(bundle)
        self._rows += len(bundle)
        if self._rows >= ROWS:
            self._write()

    def end_round(self, clock: Clock) -> int:
        """Write the buffered elements."""
        if self._waiting:
            self._write()
        return clock.watermark

    def _write(self) -> None:
        bundle, scope = joined(self._waiting), self.scope
        self._waiting, self._rows = [], 0
        number, what = scope.next_part(), None
        if isinstance(self.node.sink, PartSink):
            part = SinkPart(
                id=scope.batch,
                now=scope.now,
                bundle=bundle,
                run=scope.run,
                step=self.node.label,
                streaming=scope.streaming,
                number=number,
                delivery=self.node.delivery,
            )
            with label_errors(self.node.label):
                what = self.node.sink.write_part(part)
        else:
            what = pack(bundle)
        payload = _payload(self.node.label, (number, scope.now, what))
        group = number % self.groups
        self.outbox.append(StageRow(self.address.level, self.address.step, group, payload))


PARTS: Final = 1 << 20
"""Maximum number of parts of one task in one batch."""


@attrs.define
class Scope:
    """The task, batch and processing time of a running stage.

    Attributes:
        run: name of the run (see :class:`~headrace.io.SinkBatch`).
        batch: number of the batch.
        now: processing time in microseconds.
        task: number of the task, unique among those that run concurrently.
        streaming: whether there are many batches.
        read: on level 0, the place of the present input in the order of all that the batch reads.
    """

    run: str
    batch: int
    now: int
    task: int
    streaming: bool
    read: int = 0
    _parts: int = attrs.field(default=0, init=False)

    def at(self, batch: int, now: int, task: int) -> None:
        """Move to another task or batch."""
        self.batch, self.now, self.task, self._parts = batch, now, task, 0
        self.read = 0

    def next_part(self) -> int:
        """Return the number of the next part of this task."""
        self._parts += 1
        return self.task * PARTS + self._parts - 1


def write_for(
    node: Node,
    step: StepWithState | None,
    address: StepAddress,
    groups: KeyGroups,
    batch: bool,
    outbox: list[StageRow],
    scope: Scope,
) -> Operator:
    """Return the shuffle writer for a node of a later level."""
    if has_sides(step):
        write = KeyedSideInputWrite if isinstance(step, StatefulStep) else SideInputWrite
        return write(step, address, groups, batch, outbox, scope)
    if isinstance(step, StatefulStep):
        return KeyedBundleWrite(node.label, address, groups, outbox, scope)
    if isinstance(step, KeyedStep):
        return KeyedWrite(step, address, groups, batch, outbox)
    return BundleWrite(node.label, address, groups.number, outbox)
