"""Where elements leave a stage: for a deeper level's shuffle, or for a sink.

A departure is the operator that a stage puts in the place of a node that is not its own. What it gives
out are rows on the wire, which go to an outbox that the stage empties as it runs; so a table in front of a
shuffle does not grow with the data, and the outbox holds at the most what one key group gives out.
"""

from __future__ import annotations

from itertools import count
from typing import Final

import attrs

from headrace.runners.error_context import failing_in
from headrace.runners.operator import Operator
from headrace.runners.planning import KeyedStep
from headrace.runners.precombine import ColumnPrecombiner, Precombiner
from headrace.runners.spark.shuffle.blocks import Block, blocks_of_arrivals, blocks_of_columns
from headrace.runners.spark.shuffle.bundle_columns import pack
from headrace.runners.spark.shuffle.key_group import KeyGroups
from headrace.runners.spark.shuffle.wire import Row, dumps
from headrace.sdk.graph import GroupByKey, Node, Write
from headrace.sdk.io.sink import PartSink, SinkPart
from headrace.sdk.metrics import MetricsContainer, recording
from headrace.triggers.bundle import Bundle
from headrace.triggers.trigger import Clock

ROWS: Final = 1 << 20
"""So many elements may wait in front of a shuffle."""

BAG_BYTES: Final = 1 << 23
"""So many bytes, about, may wait where they are not combined."""

SAMPLE: Final = 32
"""So many elements of a bundle tell how large the others are."""


@attrs.frozen
class Address:
    """Where the rows of a departure go: a level, and a node by its place in the graph."""

    level: int
    step: int


@attrs.define(eq=False)
class KeyedWrite(Operator):
    """Gathers elements in front of a grouping, and sends what was gathered to their key groups."""

    step: KeyedStep
    address: Address
    groups: KeyGroups
    batch: bool
    outbox: list[Row]
    counted: MetricsContainer = attrs.field(factory=MetricsContainer, init=False)
    _columns: ColumnPrecombiner | None = attrs.field(init=False)
    _gathering: Precombiner | ColumnPrecombiner = attrs.field(init=False)
    _rows: int = attrs.field(default=0, init=False)
    _bytes: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Start with nothing gathered."""
        self._columns = self.step.column_precombiner(self.batch)
        self._gathering = self._columns or self.step.precombiner(self.batch, apart=True)

    def push(self, bundle: Bundle) -> None:
        """Gather a bundle; send what has been gathered whenever it has become much."""
        row = _row_bytes(bundle) if isinstance(self.step.node, GroupByKey) else 0
        for piece in bundle.pieces(max(1, BAG_BYTES // row) if row else ROWS):
            with recording(self.counted), failing_in(self.step.node.label):
                self._gathering.add(piece)
            self._rows += len(piece)
            self._bytes += row * len(piece)
            if self._rows >= ROWS or self._bytes >= BAG_BYTES:
                self._send()

    def end_round(self, clock: Clock) -> int:
        """Send what has been gathered."""
        if self._rows:
            self._send()
        return clock.watermark

    def _send(self) -> None:
        with recording(self.counted), failing_in(self.step.node.label):
            for group, blocks in self._blocks().items():
                for block in blocks:
                    block.contents[:] = map(self.step.reduction.compact, block.contents)
                self.outbox.append(Row(self.address.level, self.address.step, group, dumps(blocks)))
        self._rows = self._bytes = 0

    def _blocks(self) -> dict[int, list[Block]]:
        if self._columns is not None:
            return blocks_of_columns(self._columns.columns(), self.groups)
        assert isinstance(self._gathering, Precombiner)
        trigger = self.step.strategy.trigger
        return blocks_of_arrivals(self._gathering.drain(), self.groups, trigger)


def _row_bytes(bundle: Bundle) -> int:
    """Estimate how large an element of a bundle is, pickled."""
    values = bundle.values
    some = values[:: max(1, len(values) // SAMPLE)]
    return len(dumps(some)) // max(1, len(some))


@attrs.define(eq=False)
class BundleWrite(Operator):
    """Sends bundles as they are, to one key group after another: reshuffles, and ways past a level."""

    address: Address
    groups: int
    outbox: list[Row]
    _turn: count[int] = attrs.field(factory=count, init=False)

    def push(self, bundle: Bundle) -> None:
        """Send a bundle."""
        group = next(self._turn) % self.groups
        self.outbox.append(Row(self.address.level, self.address.step, group, dumps(pack(bundle))))


@attrs.define(eq=False)
class SinkWrite(Operator):
    """Sends elements to the place where sinks are, or writes them here and sends what was written.

    The payload is ``(part, now, what)``: a bundle, or what :meth:`PartSink.write_part` returned.
    """

    node: Write
    address: Address
    groups: int
    outbox: list[Row]
    scope: Scope
    _waiting: list[Bundle] = attrs.field(factory=list, init=False)
    _rows: int = attrs.field(default=0, init=False)

    def push(self, bundle: Bundle) -> None:
        """Collect a bundle; write if there is much."""
        self._waiting.append(bundle)
        self._rows += len(bundle)
        if self._rows >= ROWS:
            self._write()

    def end_round(self, clock: Clock) -> int:
        """Write what was collected."""
        if self._waiting:
            self._write()
        return clock.watermark

    def _write(self) -> None:
        bundle, scope = Bundle.concat(self._waiting), self.scope
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
            )
            with failing_in(self.node.label):
                what = self.node.sink.write_part(part)
        else:
            what = pack(bundle)
        payload = dumps((number, scope.now, what))
        group = number % self.groups
        self.outbox.append(Row(self.address.level, self.address.step, group, payload))


PARTS: Final = 1 << 20
"""So many parts can come from one place in one batch."""


@attrs.define
class Scope:
    """Where and when a stage works.

    Attributes:
        run: name of the run (see :class:`~headrace.io.SinkBatch`).
        batch: number of the batch.
        now: processing time in microseconds.
        place: which of the places it is in which stages work side by side.
        streaming: whether there are many batches.
    """

    run: str
    batch: int
    now: int
    place: int
    streaming: bool
    _parts: int = attrs.field(default=0, init=False)

    def at(self, batch: int, now: int, place: int) -> None:
        """Go to another place, or to another batch."""
        self.batch, self.now, self.place, self._parts = batch, now, place, 0

    def next_part(self) -> int:
        """Return the number of one more part that is written here."""
        self._parts += 1
        return self.place * PARTS + self._parts - 1


def write_for(
    node: Node,
    step: KeyedStep | None,
    address: Address,
    groups: KeyGroups,
    batch: bool,
    outbox: list[Row],
) -> Operator:
    """Return the departure to a node of a deeper level."""
    if step is not None:
        return KeyedWrite(step, address, groups, batch, outbox)
    return BundleWrite(address, groups.number, outbox)
