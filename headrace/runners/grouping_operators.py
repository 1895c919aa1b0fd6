"""Operators of groupings: elements are collected during a round, and grouped when it ends.

==================  ===========================================================================
operator            used in
==================  ===========================================================================
BatchGroup          batch mode: each key runs from its elements to the end of time at once
FinalColumnsGroup   batch mode, if each window has only one pane: whole columns of panes
StreamingGroup      streaming mode: a store of keys; rounds of data, watermark and clock
FinalPaneGroup      streaming mode, if each window has only one pane, at its end
FirstPaneGroup      streaming mode, if each window has its first pane at its end
==================  ===========================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.runners.error_context import label_errors, note_key
from headrace.runners.keyed_operators import FirstPaneOutput, KeyedPanes, KeyedTable
from headrace.runners.late_pane_state import LatePaneTable
from headrace.runners.operator import Operator, Send
from headrace.runners.planning import KeyedStep
from headrace.runners.precombine import Arrivals, PlainPrecombiner, SessionPrecombiner
from headrace.runners.session_state import SessionTable
from headrace.runners.stores import MemoryStore, Store
from headrace.runners.window_state import WindowTable
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
    """Base of the operators of groupings: elements are collected, and grouped when the round ends."""

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
        with self.in_step():
            self.precombiner.add(bundle)

    def open(self) -> None:
        """Set up the CombineFn, if there is one."""
        with self.in_step():
            self.step.set_up()

    def release(self) -> None:
        """Tear down the CombineFn, if there is one."""
        with self.in_step():
            self.step.tear_down()

    @contextmanager
    def in_step(self) -> Iterator[None]:
        """Record metrics for this step, and add its label to errors."""
        with recording(self.counted), label_errors(self.step.node.label):
            yield

    def emit_final_panes(self, arrivals: Iterable[ArrivalColumns]) -> None:
        """Send the panes of windows that have only one pane each."""
        self.emit_on_time(map(self.grouping.final_panes, arrivals))

    def emit_on_time(self, bundles: Iterable[Bundle]) -> None:
        """Send ON_TIME panes, in bundles of an even size."""
        panes = resized(bundles)
        while (bundle := self._next(panes)) is not None:
            self.metrics.panes[PaneInfoTiming.ON_TIME.name] += len(bundle)
            self.send(self.step.main, bundle)

    def _next(self, panes: Iterator[Bundle]) -> Bundle | None:
        with self.in_step():
            return next(panes, None)

    def emit(self, out: KeyedPanes) -> None:
        """Send panes, and late elements if they have an output."""
        self._count(out)
        if len(out):
            self.send(self.step.main, out.bundle())
        if out.late and self.step.late is not None:
            self.send(self.step.late, Bundle.of(out.late))

    def _count(self, out: KeyedPanes) -> None:
        """Count panes, retractions and dropped late elements."""
        kinds = zip(out.panes.panes, out.panes.diffs, strict=True)
        for (timing, diff), number in Counter((p.timing, diff) for p, diff in kinds).items():
            if diff == RETRACT:
                self.metrics.retractions += number
            else:
                self.metrics.panes[timing.name] += number
        self.metrics.late_dropped += out.dropped


@attrs.define(eq=False)
class StreamingGroup(Group):
    """A grouping in streaming mode: in each round first the data, then watermark and clock.

    Args:
        store: the store of the keys; on a worker it is set to the store of a key group before each round.
    """

    store: Store[Any, Any]

    @property
    def state_size(self) -> int:
        """The number of stored states."""
        return self.store.size

    def end_round(self, clock: Clock) -> int:
        """Process the collected elements, then the timers that are due."""
        clock = Clock(max(clock.watermark, self.store.watermark), clock.now)
        self.run_round(clock)
        return self.store.output_watermark

    def run_round(self, clock: Clock) -> None:
        """Run a round of the store, and send its output."""
        out = KeyedPanes()
        with self.in_step():
            self.store.round(self.precombiner.drain(), clock, out)
        self.precombiner.watermark = clock.watermark
        self.emit(out)


@attrs.define(eq=False)
class FinalPaneGroup(StreamingGroup):
    """A grouping in streaming mode whose windows have only one pane each, at their ends.

    The state of a key has only the contents of its windows.
    """

    def run_round(self, clock: Clock) -> None:
        """Add the collected contents, then send the panes of all windows that the watermark has passed."""
        passed: list[ArrivalColumns] = []
        with self.in_step():
            self.store.round(self._in_time(), clock, passed)
        self.emit_final_panes(passed)

    def _in_time(self) -> Iterator[ArrivalColumns]:
        """Yield the collected columns, and drop late ones."""
        strategy, watermark = self.step.strategy, self.store.watermark
        for columns in self.precombiner.columns():
            if is_late(strategy, next(iter(columns.lasts)), watermark):
                self.metrics.late_dropped += columns.count
            else:
                yield columns


@attrs.define(eq=False)
class FirstPaneGroup(StreamingGroup):
    """A grouping in streaming mode whose windows have their first panes at their ends.

    Args:
        arrivals: returns the collected elements, as the table takes them.
    """

    arrivals: Callable[[], Iterable[Any]]

    def run_round(self, clock: Clock) -> None:
        """Run a round of the store; of a key, the first panes of windows come after other panes."""
        out = FirstPaneOutput()
        with self.in_step():
            self.store.round(self.arrivals(), clock, out)
        self.precombiner.watermark = clock.watermark
        self.emit(out.panes)
        self.emit_on_time(out.bundles)


@attrs.define(eq=False)
class BatchGroup(Group):
    """A grouping in batch mode: each key runs from its elements to the end of time in one call."""

    def end_round(self, clock: Clock) -> int:
        """Group all elements, key by key."""
        arrivals = self.precombiner.drain()
        full = True
        while full:
            with self.in_step():
                out = self._next_panes(arrivals, clock)
            self.emit(out)
            full = len(out) >= FLUSH_AT
        return clock.watermark

    def _next_panes(self, drained: Arrivals, clock: Clock) -> KeyedPanes:
        """Group further keys until there are enough panes for a bundle, or no keys are left."""
        start, out = Clock(MIN_MICROS, clock.now), KeyedPanes()
        for _, key, arrivals in drained:
            try:
                self._run_to_completion(arrivals, start, clock, out.panes)
            except Exception as error:
                note_key(error, key)
                raise
            out.assign_key(key)
            if len(out) >= FLUSH_AT:
                break
        return out

    def _run_to_completion(
        self, arrivals: Sequence[Arrival], start: Clock, end: Clock, out: Panes
    ) -> None:
        if self.precombiner.windows_merged:
            self.grouping.run_to_completion(arrivals, start, end, out)
            return
        state = self.grouping.new_state()
        self.grouping.process(state, arrivals, start, out)
        self.grouping.wake(state, end, out)


@attrs.define(eq=False)
class FinalColumnsGroup(Group):
    """A grouping in batch mode whose windows have only one pane each; it sends whole columns of panes."""

    def end_round(self, clock: Clock) -> int:
        """Group all elements, many keys at a time."""
        self.emit_final_panes(self.precombiner.columns())
        return clock.watermark


def resized(bundles: Iterable[Bundle]) -> Iterator[Bundle]:
    """Concatenate small bundles, and split large ones."""
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
        send: receives the outputs.
        metrics: the metrics of the step.
        received: used instead of a precombiner, if the input was precombined before a shuffle.
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
        send: receives the outputs.
        metrics: the metrics of the step.
        received: as in :func:`batch_group`.
    """
    columns = step.column_precombiner(batch=False)
    if columns is not None:
        store = MemoryStore(WindowTable(step))
        return FinalPaneGroup(step, send, metrics, received or columns, store)
    if received is not None:
        return StreamingGroup(
            step, send, metrics, received, MemoryStore(KeyedTable(step.grouping()))
        )
    return _group_in_memory(step, send, metrics)


def _group_in_memory(step: KeyedStep, send: Send, metrics: StepMetrics) -> StreamingGroup:
    """Return the operator of a grouping whose windows can have several panes."""
    precombiner = step.precombiner(batch=False)
    common = step, send, metrics, precombiner
    if step.fires_first_at_end and isinstance(precombiner, SessionPrecombiner):
        sessions = MemoryStore(SessionTable(step, precombiner))
        return FirstPaneGroup(*common, sessions, precombiner.sessions)
    merging = step.strategy.window_fn.is_merging()
    if step.fires_first_at_end and isinstance(precombiner, PlainPrecombiner) and not merging:
        return FirstPaneGroup(*common, MemoryStore(LatePaneTable(step)), precombiner.columns)
    return StreamingGroup(*common, MemoryStore(KeyedTable(step.grouping())))
