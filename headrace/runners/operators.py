"""Operators: what each kind of node does with a bundle, and at the end of a round; on every runner.

``OPERATORS`` is the table from node kind to operator. An operator gets bundles by ``push``, hands on what
it makes by the ``send`` that it was given, and at the end of a round says how far its output is complete.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.errors import UnsupportedError
from headrace.runners.error_context import failing_in
from headrace.runners.invoker import ParDoInvoker
from headrace.runners.keyed_operators import KeyedGrouping, KeyedPanes
from headrace.runners.measuring import count_panes
from headrace.runners.planning import KeyedStep, Plan
from headrace.runners.precombine import Arrivals, ColumnPrecombiner, Precombiner
from headrace.runners.window_state import Tables
from headrace.sdk import graph
from headrace.sdk.io.sink import PartSink, SinkBatch
from headrace.sdk.metrics import MetricsContainer, recording
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle
from headrace.triggers.grouping import Grouping
from headrace.triggers.key_state import KeyState
from headrace.triggers.pane import PaneInfoTiming
from headrace.triggers.pane_output import Arrival, ArrivalColumns, Panes
from headrace.triggers.timer_queue import TimerQueue
from headrace.triggers.trigger import Clock
from headrace.windowing.time import MIN_MICROS
from headrace.windowing.window import BoundedWindow

Send = Callable[[graph.Collection, Bundle], None]

FLUSH_AT = 1 << 14
"""So many panes go on as one bundle when a batch grouping gives out more than that."""


class Operator:
    """A node at work; most nodes need only :meth:`push`."""

    @abstractmethod
    def push(self, bundle: Bundle) -> None:
        """Take a bundle."""

    def end_round(self, clock: Clock) -> int:
        """Take the input watermark and the clock, and return the output watermark."""
        return clock.watermark

    def open(self) -> None:
        """Prepare; called once before the first bundle."""

    def finish(self) -> None:
        """Complete what goes outside; called once, after a run that did not fail."""

    def release(self) -> None:
        """Let go of resources; called once, however the run ended."""

    @property
    def counted(self) -> MetricsContainer:
        """What the user's functions have counted."""
        return MetricsContainer()


@attrs.define(eq=False)
class Forward(Operator):
    """Hands bundles on as they are: reads, flattens and reshuffles."""

    node: graph.Node
    send: Send

    def push(self, bundle: Bundle) -> None:
        """Hand a bundle on."""
        self.send(self.node.outputs[0], bundle)


@attrs.define(eq=False)
class AssignWindows(Operator):
    """Puts elements into the windows of the output's window function."""

    node: graph.AssignWindows
    send: Send

    def push(self, bundle: Bundle) -> None:
        """Hand a bundle on in its new windows."""
        (output,) = self.node.outputs
        assign = output.windowing.window_fn.assign_column
        with failing_in(self.node.label):
            windows = assign(bundle.values, bundle.timestamps, bundle.windows)
        self.send(output, attrs.evolve(bundle, windows=windows))


@attrs.define(eq=False)
class ParDo(Operator):
    """Runs a DoFn; what comes in one round is one bundle to it."""

    node: graph.ParDo
    send: Send
    invoker: ParDoInvoker
    started: bool = False

    def push(self, bundle: Bundle) -> None:
        """Hand on what the DoFn makes of a bundle, by output."""
        if not self.started:
            self.started = True
            self.invoker.start_bundle()
        self._send_all(self.invoker.process(bundle))

    def end_round(self, clock: Clock) -> int:
        """Hand on what the DoFn gives out at the end of its bundle."""
        if self.started:
            self.started = False
            self._send_all(self.invoker.finish_bundle())
        return clock.watermark

    def _send_all(self, made: Mapping[str, Bundle]) -> None:
        for output in self.node.outputs:
            if output.tag in made:
                self.send(output, made[output.tag])

    def open(self) -> None:
        """Set the DoFn up."""
        self.invoker.setup()

    def release(self) -> None:
        """Tear the DoFn down."""
        self.invoker.teardown()

    @property
    def counted(self) -> MetricsContainer:
        """What the DoFn has counted."""
        return self.invoker.metrics


@attrs.define(eq=False)
class Group(Operator):
    """What groupings have in common: elements are collected, and grouped when the round ends."""

    step: KeyedStep
    send: Send
    metrics: StepMetrics
    precombiner: Any
    counted: MetricsContainer = attrs.field(factory=MetricsContainer, init=False)
    grouping: Grouping = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Make the grouping."""
        self.grouping = self.step.grouping()

    def push(self, bundle: Bundle) -> None:
        """Collect a bundle until the round ends."""
        with self.at_work():
            self.precombiner.add(bundle)

    def open(self) -> None:
        """Set the CombineFn up, if there is one."""
        if isinstance(self.step.node, graph.CombinePerKey):
            with self.at_work():
                self.step.node.combine_fn.setup()

    def release(self) -> None:
        """Tear the CombineFn down, if there is one."""
        if isinstance(self.step.node, graph.CombinePerKey):
            with self.at_work():
                self.step.node.combine_fn.teardown()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count for this step, and name it in whatever goes wrong."""
        with recording(self.counted), failing_in(self.step.node.label):
            yield

    def emit_final_panes(self, arrivals: Iterable[ArrivalColumns]) -> None:
        """Send the panes of windows that have one each."""
        panes = resized(map(self.grouping.final_panes, arrivals))
        while (bundle := self._next(panes)) is not None:
            self.metrics.panes[PaneInfoTiming.ON_TIME.name] += len(bundle)
            self.send(self.step.main, bundle)

    def _next(self, panes: Iterator[Bundle]) -> Bundle | None:
        with self.at_work():
            return next(panes, None)

    def emit(self, out: KeyedPanes) -> None:
        """Send panes, and late elements where they have an output."""
        count_panes(self.metrics, out)
        if len(out):
            self.send(self.step.main, out.bundle())
        if out.late and self.step.late is not None:
            self.send(self.step.late, Bundle.of(out.late))


@attrs.define(eq=False)
class StreamingGroup(Group):
    """A grouping in streaming mode: live keys, rounds of data, watermark and clock."""

    precombiner: Precombiner
    table: KeyedGrouping = attrs.field(init=False)
    watermark: int = attrs.field(default=MIN_MICROS, init=False)
    complete: int = attrs.field(default=MIN_MICROS, init=False)

    @table.default
    def _no_keys(self) -> KeyedGrouping:
        return KeyedGrouping(self.step.grouping())

    def end_round(self, clock: Clock) -> int:
        """Group what was collected, then reach for the watermark and the clock."""
        out = KeyedPanes()
        with self.at_work():
            self.table.add(self.precombiner.drain(), Clock(self.watermark, clock.now), out)
            self.table.wake(clock, out)
        self.watermark = self.precombiner.reached = clock.watermark
        self.emit(out)
        self.complete = max(self.complete, min(clock.watermark, self.table.hold))
        return self.complete


@attrs.define(eq=False)
class BatchGroup(Group):
    """A grouping in batch mode: each key lives from its data to the end of time in one go."""

    precombiner: Precombiner

    def end_round(self, clock: Clock) -> int:
        """Group everything, key by key."""
        arrivals = self.precombiner.drain()
        full = True
        while full:
            with self.at_work():
                out = self._next_panes(arrivals, clock)
            self.emit(out)
            full = len(out) >= FLUSH_AT
        return clock.watermark

    def _next_panes(self, drained: Arrivals, clock: Clock) -> KeyedPanes:
        """Group on until there are panes for a bundle, or no keys any more."""
        start, out = Clock(MIN_MICROS, clock.now), KeyedPanes()
        for _, key, arrivals in drained:
            if self.precombiner.settled:
                self.grouping.run_to_completion(arrivals, start, clock, out.panes)
            else:
                self._run_to_completion(arrivals, start, clock, out.panes)
            out.credit(key)
            if len(out) >= FLUSH_AT:
                break
        return out

    def _run_to_completion(
        self, arrivals: Sequence[Arrival], start: Clock, end: Clock, out: Panes
    ) -> None:
        state = KeyState()
        self.grouping.add(state, arrivals, start, out)
        self.grouping.wake(state, end, out)


@attrs.define(eq=False)
class ColumnGroup(Group):
    """A grouping in batch mode whose windows have one pane each, at their ends: whole columns of them."""

    precombiner: ColumnPrecombiner

    def end_round(self, clock: Clock) -> int:
        """Group everything, many keys at a time."""
        self.emit_final_panes(self.precombiner.columns())
        return clock.watermark


@attrs.define(eq=False)
class WaitingGroup(Group):
    """A grouping in streaming mode whose windows wait for the watermark and are gone at their ends.

    Each has one pane, so nothing has to be known of a key but the content of its windows.
    """

    precombiner: ColumnPrecombiner
    tables: Tables = attrs.field(init=False)
    expiries: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue, init=False)
    watermark: int = attrs.field(default=MIN_MICROS, init=False)

    @tables.default
    def _no_tables(self) -> Tables:
        return Tables(self.step)

    def end_round(self, clock: Clock) -> int:
        """Add what was collected, then send the panes of all windows that the watermark has passed."""
        with self.at_work():
            for columns in self.precombiner.columns():
                self._add(columns)
        self.watermark = clock.watermark
        self.emit_final_panes(map(self.tables.take, self.expiries.pop(clock.watermark)))
        return min(clock.watermark, self.expiries.first - 1)

    def _add(self, columns: ArrivalColumns) -> None:
        (window,) = next(iter(columns.windows))
        expiry = self.step.strategy.expiry(window.last)
        if expiry <= self.watermark:
            self.metrics.late_dropped += columns.count
            return
        self.tables.add(window, columns.keys, columns.contents)
        self.expiries.set(window, expiry)


def resized(bundles: Iterable[Bundle]) -> Iterator[Bundle]:
    """Put small bundles together, and cut large ones."""
    waiting: list[Bundle] = []
    rows = 0
    for bundle in bundles:
        for piece in bundle.pieces(FLUSH_AT):
            waiting.append(piece)
            rows += len(piece)
            if rows >= FLUSH_AT:
                yield Bundle.concat(waiting)
                waiting, rows = [], 0
    if waiting:
        yield Bundle.concat(waiting)


@attrs.define(eq=False)
class Write(Operator):
    """Gives a sink what came in a round, as one batch."""

    node: graph.Write
    streaming: bool
    waiting: list[Bundle] = attrs.field(factory=list)
    batches: int = 0

    def push(self, bundle: Bundle) -> None:
        """Collect a bundle until the round ends."""
        self.waiting.append(bundle)

    def end_round(self, clock: Clock) -> int:
        """Write what was collected, if anything; in batch mode parts are committed even if there are none."""
        if self.waiting or (isinstance(self.node.sink, PartSink) and not self.streaming):
            bundle = Bundle.concat(self.waiting)
            self.waiting = []
            with failing_in(self.node.label):
                self.node.sink.write(
                    SinkBatch(
                        self.batches,
                        clock.now,
                        bundle,
                        step=self.node.label,
                        streaming=self.streaming,
                    )
                )
            self.batches += 1
        return clock.watermark

    def open(self) -> None:
        """Open the sink."""
        with failing_in(self.node.label):
            self.node.sink.open()

    def finish(self) -> None:
        """Close the sink."""
        with failing_in(self.node.label):
            self.node.sink.close()


@attrs.frozen
class OperatorContext:
    """Where an operator is put: the way out, its counts, and, for a grouping, its step.

    ``left`` tells whether the node leaves its work to those that read from it; ``batch`` whether there
    is but one round, at whose end the watermark is at the end of time.
    """

    send: Send
    metrics: StepMetrics
    step: KeyedStep | None
    left: bool
    batch: bool


def operators_of(plan: Plan, batch: bool) -> Callable[[graph.Node, Send, StepMetrics], Operator]:
    """Return what makes the operators of a plan's nodes in one place."""

    def make(node: graph.Node, send: Send, metrics: StepMetrics) -> Operator:
        step, left = plan.steps.get(node.label), node.label in plan.left
        return operator_for(node, OperatorContext(send, metrics, step, left, batch))

    return make


def operator_for(node: graph.Node, context: OperatorContext) -> Operator:
    """Return the operator of a node.

    Raises:
        UnsupportedError: there is none; raised before any data flows.
    """
    make = _forward if context.left else OPERATORS.get(type(node))
    if make is None:
        kind = type(node).__name__
        raise UnsupportedError(f"no runner knows a {kind} node", where=node.label)
    return make(node, context)


def _forward(node: Any, context: OperatorContext) -> Operator:
    return Forward(node, context.send)


def _group(node: Any, context: OperatorContext) -> Operator:
    assert context.step is not None
    columns = context.step.column_precombiner(context.batch)
    if columns is not None:
        kind = ColumnGroup if context.batch else WaitingGroup
        return kind(context.step, context.send, context.metrics, columns)
    make = BatchGroup if context.batch else StreamingGroup
    return make(
        context.step, context.send, context.metrics, context.step.precombiner(context.batch)
    )


OPERATORS: dict[type[graph.Node], Callable[[Any, OperatorContext], Operator]] = {
    graph.Read: _forward,
    graph.Flatten: _forward,
    graph.Reshuffle: _forward,
    graph.AssignWindows: lambda node, context: AssignWindows(node, context.send),
    graph.ParDo: lambda node, context: ParDo(node, context.send, ParDoInvoker(node)),
    graph.GroupByKey: _group,
    graph.CombinePerKey: _group,
    graph.Write: lambda node, context: Write(node, streaming=not context.batch),
}
