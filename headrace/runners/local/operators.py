"""Operators in memory: what each kind of node does with a bundle, and at the end of a round.

``OPERATORS`` is the table from node kind to operator. An operator gets bundles by ``push``, hands on what
it makes by the ``send`` that it was given, and at the end of a round says how far its output is complete.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.errors import UnsupportedError
from headrace.runners.gathering import Gathering
from headrace.runners.keyed import KeyedGrouping, KeyedPanes
from headrace.runners.measuring import count_panes
from headrace.runners.planning import KeyedStep
from headrace.sdk import graph
from headrace.sdk.invoker import ParDoInvoker
from headrace.sdk.io.sink import SinkBatch
from headrace.sdk.metrics import MetricsContainer
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle
from headrace.triggers.grouping import Grouping
from headrace.triggers.key_state import KeyState
from headrace.triggers.panes import Arrival, Panes
from headrace.triggers.trigger import Clock
from headrace.windowing.time import MIN_MICROS

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
class StreamingGroup(Operator):
    """A grouping in streaming mode: live keys, rounds of data, watermark and clock."""

    step: KeyedStep
    send: Send
    metrics: StepMetrics
    gathering: Gathering = attrs.field(init=False)
    table: KeyedGrouping = attrs.field(init=False)
    watermark: int = attrs.field(default=MIN_MICROS, init=False)

    def __attrs_post_init__(self) -> None:
        """Start with no keys."""
        self.gathering = self.step.gathering()
        self.table = KeyedGrouping(self.step.grouping())

    def push(self, bundle: Bundle) -> None:
        """Collect a bundle until the round ends."""
        self.gathering.add(bundle)

    def end_round(self, clock: Clock) -> int:
        """Group what was collected, then reach for the watermark and the clock."""
        out = KeyedPanes()
        with blamed(self.step.node.label):
            self.table.add(self.gathering.drain(), Clock(self.watermark, clock.now), out)
            self.table.reach(clock, out)
        self.watermark = clock.watermark
        emit(self.step, out, self.send, self.metrics)
        return min(clock.watermark, self.table.hold)


@attrs.define(eq=False)
class BatchGroup(Operator):
    """A grouping in batch mode: each key lives from its data to the end of time in one go."""

    step: KeyedStep
    send: Send
    metrics: StepMetrics
    gathering: Gathering = attrs.field(init=False)
    grouping: Grouping = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start with nothing collected."""
        self.gathering = self.step.gathering()
        self.grouping = self.step.grouping()

    def push(self, bundle: Bundle) -> None:
        """Collect a bundle until the input ends."""
        self.gathering.add(bundle)

    def end_round(self, clock: Clock) -> int:
        """Group everything, key by key."""
        start = Clock(MIN_MICROS, clock.now)
        out = KeyedPanes()
        with blamed(self.step.node.label):
            for _, key, arrivals in self.gathering.drain():
                self._live_through(arrivals, start, clock, out.panes)
                out.credit(key)
                if len(out) >= FLUSH_AT:
                    emit(self.step, out, self.send, self.metrics)
                    out = KeyedPanes()
        emit(self.step, out, self.send, self.metrics)
        return clock.watermark

    def _live_through(
        self, arrivals: Sequence[Arrival], start: Clock, end: Clock, out: Panes
    ) -> None:
        if self.gathering.settled:
            self.grouping.live_through(arrivals, start, end, out)
        else:
            state = KeyState()
            self.grouping.add(state, arrivals, start, out)
            self.grouping.reach(state, end, out)


@attrs.define(eq=False)
class Write(Operator):
    """Gives a sink what came in a round, as one batch."""

    node: graph.Write
    waiting: list[Bundle] = attrs.field(factory=list)
    batches: int = 0

    def push(self, bundle: Bundle) -> None:
        """Collect a bundle until the round ends."""
        self.waiting.append(bundle)

    def end_round(self, clock: Clock) -> int:
        """Write what was collected, if anything."""
        if self.waiting:
            bundle = Bundle.concat(self.waiting)
            self.waiting = []
            self.node.sink.write(SinkBatch(self.batches, clock.now, bundle))
            self.batches += 1
        return clock.watermark

    def open(self) -> None:
        """Open the sink."""
        self.node.sink.open()

    def finish(self) -> None:
        """Close the sink."""
        self.node.sink.close()


def emit(step: KeyedStep, out: KeyedPanes, send: Send, metrics: StepMetrics) -> None:
    """Send the panes of a grouping, and its late elements where they have an output."""
    count_panes(metrics, out)
    if len(out):
        send(step.main, out.bundle())
    if out.late and step.late is not None:
        send(step.late, Bundle.of(out.late))


@contextmanager
def blamed(label: str) -> Iterator[None]:
    """Name the transform in whatever goes wrong inside, and leave the error what it is."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the transform {label!r}")
        raise


@attrs.frozen
class Site:
    """Where an operator is put: the way out, its counts, and, for a grouping, its step.

    ``left`` tells whether the node leaves its work to those that read from it; ``batch`` whether there
    is but one round, at whose end the watermark is at the end of time.
    """

    send: Send
    metrics: StepMetrics
    step: KeyedStep | None
    left: bool
    batch: bool


def operator_for(node: graph.Node, site: Site) -> Operator:
    """Return the operator of a node.

    Raises:
        UnsupportedError: there is none; raised before any data flows.
    """
    make = _forward if site.left else OPERATORS.get(type(node))
    if make is None:
        kind = type(node).__name__
        raise UnsupportedError(f"the local runner knows no {kind} node", where=node.label)
    return make(node, site)


def _forward(node: Any, site: Site) -> Operator:
    return Forward(node, site.send)


def _group(node: Any, site: Site) -> Operator:
    assert site.step is not None
    make = BatchGroup if site.batch else StreamingGroup
    return make(site.step, site.send, site.metrics)


OPERATORS: dict[type[graph.Node], Callable[[Any, Site], Operator]] = {
    graph.Read: _forward,
    graph.Flatten: _forward,
    graph.Reshuffle: _forward,
    graph.AssignWindows: lambda node, site: AssignWindows(node, site.send),
    graph.ParDo: lambda node, site: ParDo(node, site.send, ParDoInvoker(node)),
    graph.GroupByKey: _group,
    graph.CombinePerKey: _group,
    graph.Write: lambda node, site: Write(node),
}
