"""Operators of groupings: elements are collected during a round, and grouped when it ends.

==============  ===================================================================================
operator        used in
==============  ===================================================================================
StreamingGroup  streaming mode: a store of tables; rounds of data, watermark and clock
BatchGroup      batch mode: one round from the start to the end of time, of which nothing is kept
==============  ===================================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeVar

import attrs

from headrace.grouping.bundle import RETRACT, Bundle
from headrace.grouping.facts import WindowMerging
from headrace.grouping.grouping import Grouping
from headrace.runners.contents.grouping_paths import Collect, Execution, Keep
from headrace.runners.error_context import label_errors, note_key
from headrace.runners.grouping.keyed_table import KeyedTable
from headrace.runners.grouping.output import KeyedPanes
from headrace.runners.grouping.session_tier import SessionTier
from headrace.runners.grouping.store import MemoryStore, Store
from headrace.runners.grouping.table import GroupingTable, LightTier
from headrace.runners.grouping.window_tier import WindowTier, in_time
from headrace.runners.operator import Operator, Send
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.precombine import GroupInput
from headrace.sdk.metrics.cells import MetricsContainer, recording
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.triggers.pane import PaneInfoTiming
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MIN_MICROS

T = TypeVar("T")

FLUSH_AT = 1 << 14
"""The number of panes after which a batch grouping sends a bundle."""


@attrs.define(eq=False)
class Group(Operator):
    """Base of the operators of groupings: elements are collected, and grouped when the round ends."""

    step: KeyedStep
    send: Send
    metrics: StepMetrics
    precombiner: GroupInput
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

    def emit(self, out: KeyedPanes) -> None:
        """Send panes, and late elements if they have an output."""
        self._count(out)
        if len(out):
            self.send(self.step.main, out.bundle())
        for bundle in resized(out.early):
            self.send(self.step.main, bundle)
        if out.late and self.step.late is not None:
            self.send(self.step.late, Bundle.of(out.late))
        self._emit_on_time(chain.from_iterable(out.on_time))

    def _emit_on_time(self, bundles: Iterable[Bundle]) -> None:
        """Send ON_TIME panes, in bundles of an even size."""
        panes = resized(bundles)
        while (bundle := self._next(panes)) is not None:
            self.metrics.panes[PaneInfoTiming.ON_TIME.name] += len(bundle)
            self.send(self.step.main, bundle)

    def _next(self, outputs: Iterator[T]) -> T | None:
        with self.in_step():
            return next(outputs, None)

    def _count(self, out: KeyedPanes) -> None:
        """Count panes, retractions and dropped late elements."""
        kinds = zip(out.panes.panes, out.panes.diffs, strict=True)
        for (timing, diff), number in Counter((p.timing, diff) for p, diff in kinds).items():
            if diff == RETRACT:
                self.metrics.retractions += number
            else:
                self.metrics.panes[timing.name] += number
        for bundle in out.early:
            if next(iter(bundle.diffs)) == RETRACT:
                self.metrics.retractions += len(bundle)
            else:
                self.metrics.panes[PaneInfoTiming.EARLY.name] += len(bundle)
        self.metrics.late_dropped += out.dropped


@attrs.define(eq=False)
class StreamingGroup(Group):
    """A grouping in streaming mode: in each round first the data, then watermark and clock.

    Args:
        keep: what its tables keep.
        store: the store of the tables; on a worker it is set to the store of a key group before each round.
    """

    keep: Keep
    store: Store[Any, Any]

    @property
    def state_size(self) -> int:
        """The number of stored states."""
        return self.store.size

    def end_round(self, clock: Clock) -> int:
        """Process the collected elements, then the timers that are due, and send the panes."""
        clock = Clock(max(clock.watermark, self.store.watermark), clock.now)
        out = KeyedPanes()
        self.precombiner.watermark = self.store.watermark  # of this key group, if there are several
        with self.in_step():
            self.store.round(self._arrivals(out), clock, out)
        self.precombiner.watermark = clock.watermark
        self.emit(out)
        return self.store.output_watermark

    def _arrivals(self, out: KeyedPanes) -> Iterable[object]:
        """Return the collected elements, as the table takes them."""
        if self.keep is Keep.FULL:
            return self.precombiner.drain()
        if self.keep is Keep.SESSIONS:
            return self.precombiner.sessions()
        columns = self.precombiner.columns()
        return in_time(columns, self.step.strategy, self.store.watermark, out)


@attrs.define(eq=False)
class BatchGroup(Group):
    """A grouping in batch mode: one round, from the start to the end of time.

    Args:
        by_columns: whether each window has only one pane, so that whole columns of panes are sent; otherwise
            each key runs to completion in one call.
        merged: whether the collected windows need not merge any more.
    """

    by_columns: bool
    merged: bool

    def end_round(self, clock: Clock) -> int:
        """Group all elements, many keys at a time, and send the panes."""
        outputs = self._columns() if self.by_columns else self._keys(clock)
        while (out := self._next(outputs)) is not None:
            self.emit(out)
        return clock.watermark

    def _columns(self) -> Iterator[KeyedPanes]:
        """Yield the panes of all windows, which are made as they are sent."""
        yield KeyedPanes(
            on_time=[map(self.grouping.emitter.final_panes, self.precombiner.columns())]
        )

    def _keys(self, clock: Clock) -> Iterator[KeyedPanes]:
        """Yield the panes of keys, as many as a bundle has at a time."""
        start, out = Clock(MIN_MICROS, clock.now), KeyedPanes()
        for _, key, arrivals in self.precombiner.drain():
            try:
                self.grouping.run_to_completion(arrivals, self.merged, start, clock, out.panes)
            except Exception as error:
                note_key(error, key)
                raise
            out.assign_key(key)
            if len(out) >= FLUSH_AT:
                yield out
                out = KeyedPanes()
        yield out


def resized(bundles: Iterable[Bundle]) -> Iterator[Bundle]:
    """Concatenate small bundles, and split large ones, to 0.5 to 1.5 of ``FLUSH_AT`` rows."""
    waiting: list[Bundle] = []
    rows = 0
    for bundle in bundles:
        for piece in bundle.pieces(FLUSH_AT):
            waiting.append(piece)
            rows += len(piece)
            if rows >= FLUSH_AT // 2:
                yield Bundle.concat(waiting)
                waiting, rows = [], 0
    if waiting:
        yield Bundle.concat(waiting)


def batch_group(
    step: KeyedStep, send: Send, metrics: StepMetrics, received: GroupInput | None = None
) -> Group:
    """Return the operator of a grouping in batch mode.

    Args:
        step: the grouping.
        send: receives the outputs.
        metrics: the metrics of the step.
        received: used instead of a precombiner, if the input was precombined before a shuffle.
    """
    path, collected = step.path(Execution.BATCH), received or step.precombiner(Execution.BATCH)
    by_columns, merges = path.keep is not Keep.FULL, step.facts.windows is not WindowMerging.ALIGNED
    merged = not merges or (received is None and path.collect is Collect.SESSIONS)
    return BatchGroup(step, send, metrics, collected, by_columns, merged)


def streaming_group(
    step: KeyedStep, send: Send, metrics: StepMetrics, received: GroupInput | None = None
) -> StreamingGroup:
    """Return the operator of a grouping in streaming mode, with its table in memory.

    The arguments are those of :func:`batch_group`.
    """
    execution = Execution.STREAMING if received is None else Execution.SHUFFLED
    keep, collected = step.path(execution).keep, received or step.precombiner(execution)
    grouping = step.grouping()
    full = KeyedTable(grouping)
    store = MemoryStore(full)
    if keep is not Keep.FULL:
        store.table = GroupingTable(grouping, light_tier_of(step, keep, grouping), full)
    return StreamingGroup(step, send, metrics, collected, keep, store)


def light_tier_of(step: KeyedStep, keep: Keep, grouping: Grouping) -> LightTier:
    """Return an empty light tier.

    Args:
        step: the grouping.
        keep: what is kept; not full states of all keys.
        grouping: makes panes.
    """
    return (SessionTier if keep is Keep.SESSIONS else WindowTier)(step, grouping)
