"""Groupings at work: elements are collected during a round, and grouped when it ends.

==================  ===========================================================================
operator            for
==================  ===========================================================================
BatchGroup          batch mode: each key runs from its elements to the end of time at once
FinalColumnsGroup   batch mode, where each window has one pane: whole columns of them
StreamingGroup      streaming mode: a store of keys, rounds of data, watermark and clock
FinalPaneGroup      streaming mode, where each window has one pane, at its end
==================  ===========================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.runners.error_context import failing_in
from headrace.runners.keyed_operators import KeyedPanes, KeyedTable
from headrace.runners.operator import Operator, Send
from headrace.runners.planning import KeyedStep
from headrace.runners.precombine import Arrivals
from headrace.runners.stores import MemoryStore, Store
from headrace.runners.window_state import WindowTable
from headrace.sdk import graph
from headrace.sdk.metrics import MetricsContainer, recording
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import RETRACT, Bundle
from headrace.triggers.emission import is_late
from headrace.triggers.grouping import Grouping
from headrace.triggers.pane import PaneInfoTiming
from headrace.triggers.pane_output import Arrival, ArrivalColumns, Panes
from headrace.triggers.trigger import Clock
from headrace.windowing.time import MIN_MICROS

FLUSH_AT = 1 << 14
"""The number of panes after which a batch grouping sends a bundle."""


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
        self._count(out)
        if len(out):
            self.send(self.step.main, out.bundle())
        if out.late and self.step.late is not None:
            self.send(self.step.late, Bundle.of(out.late))

    def _count(self, out: KeyedPanes) -> None:
        """Count panes and retractions, and the elements that came too late."""
        kinds = zip(out.panes.panes, out.panes.diffs, strict=True)
        for (timing, diff), number in Counter((p.timing, diff) for p, diff in kinds).items():
            if diff == RETRACT:
                self.metrics.retractions += number
            else:
                self.metrics.panes[timing.name] += number
        self.metrics.late_dropped += out.dropped


@attrs.define(eq=False)
class StreamingGroup(Group):
    """A keyed operator in streaming mode: rounds of data, then watermark and clock.

    Args:
        store: where the keys are kept; a worker gives it that of another key group before each round.
    """

    store: Store[Any, Any]

    def end_round(self, clock: Clock) -> int:
        """Process what was collected, then wake what is due."""
        clock = Clock(max(clock.watermark, self.store.watermark), clock.now)
        self.run_round(clock)
        return self.store.output_watermark

    def run_round(self, clock: Clock) -> None:
        """Run a round of the store, and send what comes out."""
        out = KeyedPanes()
        with self.at_work():
            self.store.round(self.precombiner.drain(), clock, out)
        self.precombiner.reached = clock.watermark
        self.emit(out)


@attrs.define(eq=False)
class FinalPaneGroup(StreamingGroup):
    """A grouping in streaming mode whose windows have one pane each, at their ends.

    Nothing has to be known of a key but the contents of its windows.
    """

    def run_round(self, clock: Clock) -> None:
        """Add what was collected, then send the panes of all windows that the watermark has passed."""
        passed: list[ArrivalColumns] = []
        with self.at_work():
            self.store.round(self._in_time(), clock, passed)
        self.emit_final_panes(passed)

    def _in_time(self) -> Iterator[ArrivalColumns]:
        """Yield what was collected, without what is late."""
        strategy, watermark = self.step.strategy, self.store.watermark
        for columns in self.precombiner.columns():
            if is_late(strategy, next(iter(columns.lasts)), watermark):
                self.metrics.late_dropped += columns.count
            else:
                yield columns


@attrs.define(eq=False)
class BatchGroup(Group):
    """A grouping in batch mode: each key lives from its data to the end of time in one go."""

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
            if self.precombiner.windows_merged:
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
        state = self.grouping.new_state()
        self.grouping.process(state, arrivals, start, out)
        self.grouping.wake(state, end, out)


@attrs.define(eq=False)
class FinalColumnsGroup(Group):
    """A grouping in batch mode whose windows have one pane each, at their ends: whole columns of them."""

    def end_round(self, clock: Clock) -> int:
        """Group everything, many keys at a time."""
        self.emit_final_panes(self.precombiner.columns())
        return clock.watermark


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


def batch_group(step: KeyedStep, send: Send, metrics: StepMetrics, received: Any = None) -> Group:
    """Return the operator of a grouping in batch mode.

    Args:
        step: the grouping.
        send: takes the outputs.
        metrics: where to count.
        received: takes the place of the precombiner, where what arrives is precombined already.
    """
    columns = step.column_precombiner(batch=True)
    if columns is not None:
        return FinalColumnsGroup(step, send, metrics, received or columns)
    return BatchGroup(step, send, metrics, received or step.precombiner(batch=True))


def streaming_group(
    step: KeyedStep, send: Send, metrics: StepMetrics, received: Any = None
) -> StreamingGroup:
    """Return the operator of a grouping in streaming mode, with its keys in memory.

    Args:
        step: the grouping.
        send: takes the outputs.
        metrics: where to count.
        received: as in :func:`batch_group`.
    """
    columns = step.column_precombiner(batch=False)
    if columns is not None:
        store = MemoryStore(WindowTable(step))
        return FinalPaneGroup(step, send, metrics, received or columns, store)
    store = MemoryStore(KeyedTable(step.grouping()))
    return StreamingGroup(step, send, metrics, received or step.precombiner(batch=False), store)
