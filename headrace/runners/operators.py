"""Operators: what each kind of node does with a bundle, and at the end of a round; on every runner.

``OPERATORS`` is the table from node kind to operator. An operator gets bundles by ``push``, sends its
outputs by the ``send`` that it was given, and at the end of a round returns its output watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from headrace.errors import UnsupportedError
from headrace.runners.error_context import failing_in
from headrace.runners.grouping_operators import batch_group, streaming_group
from headrace.runners.invoker import ParDoInvoker
from headrace.runners.operator import Operator, Send
from headrace.runners.planning import KeyedStep, Plan
from headrace.sdk import graph
from headrace.sdk.io.sink import PartSink, SinkBatch
from headrace.sdk.metrics import MetricsContainer
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle
from headrace.triggers.trigger import Clock


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
    make = batch_group if context.batch else streaming_group
    return make(context.step, context.send, context.metrics)


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
