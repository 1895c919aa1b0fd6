"""Operators for all runners: what each kind of node does with a bundle, and at the end of a round.

``OPERATORS`` maps kinds of nodes to operators. ``push`` passes a bundle to an operator, which passes its
outputs to ``send``. At the end of a round an operator returns its output watermark.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from headrace.errors import UnsupportedError
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.calls.calling_operator import CallingOperator
from headrace.runners.calls.invoker import ParDoInvoker
from headrace.runners.checks.timestamp_checks import note_read
from headrace.runners.error_context import label_errors
from headrace.runners.grouping.operators import batch_group, streaming_group
from headrace.runners.operator import Operator, Send
from headrace.runners.plan.planning import (
    KeyedStep,
    Plan,
    SideInputStep,
    StatefulStep,
    StepWithState,
)
from headrace.runners.plan.table_steps import reassigns_by_time
from headrace.runners.side_inputs.side_input_operators import side_input_operator
from headrace.runners.splittable.splittable_operators import splittable_operator
from headrace.runners.stateful.stateful_side_input_operators import operator_of_dofn
from headrace.sdk.metrics.cells import MetricsContainer
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pardo.binding import exploded
from headrace.sdk.pipelines import graph
from headrace.sdk.sources.sink import PartSink, SinkBatch
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MIN_MICROS


@attrs.define(eq=False)
class Forward(Operator):
    """Passes bundles on unchanged: flattens and reshuffles."""

    node: graph.Node
    send: Send

    def push(self, bundle: Bundle) -> None:
        """Pass a bundle on."""
        self.send(self.node.outputs[0], bundle)


@attrs.define(eq=False)
class Read(Forward):
    """Passes bundles of a source on, after a look at their timestamps; counts for the source."""

    metrics: StepMetrics
    _counted: MetricsContainer = attrs.field(factory=MetricsContainer, init=False)

    @property
    def counted(self) -> MetricsContainer:
        return self._counted

    def push(self, bundle: Bundle) -> None:
        """Pass a bundle on."""
        note_read(bundle, self.metrics)
        self.send(self.node.outputs[0], bundle)


@attrs.define(eq=False)
class AssignWindows(Operator):
    """Assigns windows to elements with the window function of the output.

    An element in several windows is an element in each of them, and gets new windows for each.

    Args:
        deferred: whether the groupings that read from the node assign the windows.
    """

    node: graph.AssignWindows
    send: Send
    deferred: bool

    def push(self, bundle: Bundle) -> None:
        """Pass a bundle on with its new windows."""
        (output,) = self.node.outputs
        window_fn = output.windowing.window_fn
        if isinstance(bundle, TableBundle) and reassigns_by_time(self.node):
            self.send(output, bundle.windowed(window_fn))
            return
        bundle = exploded(bundle)
        if self.deferred:
            self.send(output, bundle)
            return
        with label_errors(self.node.label):
            windows = window_fn.assign_column(bundle.values, bundle.timestamps, bundle.windows)
        self.send(output, bundle.with_windows(windows))


@attrs.define(eq=False)
class ParDo(CallingOperator):
    """Runs a DoFn, for which all elements of a round are one bundle."""

    def push(self, bundle: Bundle) -> None:
        """Send the outputs of the DoFn for a bundle."""
        self.start_bundle()
        self.send_made(self.invoker.process(bundle), bundle)

    def end_round(self, clock: Clock) -> int:
        """Send the outputs of the DoFn's ``finish_bundle``."""
        self.finish_bundle()
        return clock.watermark


@attrs.define(eq=False)
class Write(Operator):
    """Writes the elements of a round to a sink, as one batch."""

    node: graph.Write
    streaming: bool
    waiting: list[Bundle] = attrs.field(factory=list)
    batches: int = 0
    watermark: int = MIN_MICROS

    def push(self, bundle: Bundle) -> None:
        """Collect a bundle until the round ends."""
        self.waiting.append(bundle)

    def end_round(self, clock: Clock) -> int:
        """Write the collected elements, if there are any, or what the sink also wants."""
        if self.waiting or self._is_due(clock.watermark):
            bundle = Bundle.concat(self.waiting)
            self.waiting = []
            with label_errors(self.node.label):
                self.node.sink.write(
                    SinkBatch(
                        self.batches,
                        clock.now,
                        bundle,
                        step=self.node.label,
                        streaming=self.streaming,
                        watermark=clock.watermark,
                        delivery=self.node.delivery,
                    )
                )
            self.batches += 1
        self.watermark = clock.watermark
        return clock.watermark

    def _is_due(self, watermark: int) -> bool:
        """Whether to write a batch without elements: a part sink commits an empty collection too."""
        sink = self.node.sink
        if sink.wants_watermarks and watermark != self.watermark:
            return True
        return isinstance(sink, PartSink) and not self.streaming

    def open(self) -> None:
        """Open the sink."""
        with label_errors(self.node.label):
            self.node.sink.open()

    def finish(self) -> None:
        """Close the sink."""
        with label_errors(self.node.label):
            self.node.sink.close()


@attrs.frozen
class OperatorContext:
    """The context of an operator.

    Attributes:
        send: receives the outputs.
        metrics: the metrics of the node.
        step: the step; None unless the node has state.
        deferred: whether the groupings that read from the node do its work.
        batch: whether there is only one round, after which the watermark is at the end of time.
        check_mutation: whether functions that change their inputs raise an error.
    """

    send: Send
    metrics: StepMetrics
    step: StepWithState | None
    deferred: bool
    batch: bool
    check_mutation: bool = False


def operators_of(plan: Plan, batch: bool) -> Callable[[graph.Node, Send, StepMetrics], Operator]:
    """Return a function that makes the operators of a plan's nodes."""

    def make(node: graph.Node, send: Send, metrics: StepMetrics) -> Operator:
        step, deferred = plan.steps.get(node.label), node.label in plan.deferred_assigns
        context = OperatorContext(send, metrics, step, deferred, batch, plan.check_mutation)
        return operator_for(node, context)

    return make


def operator_for(node: graph.Node, context: OperatorContext) -> Operator:
    """Return the operator of a node.

    Raises:
        UnsupportedError: the kind of node has no operator; raised before any data flows.
    """
    make = OPERATORS.get(type(node))
    if make is None:
        kind = type(node).__name__
        raise UnsupportedError(f"no runner supports the node kind {kind}", where=node.label)
    return make(node, context)


def _read(node: graph.Node, context: OperatorContext) -> Operator:
    assert isinstance(node, graph.Read)
    return Read(node, context.send, context.metrics)


def _forward(node: graph.Node, context: OperatorContext) -> Operator:
    return Forward(node, context.send)


def _assign_windows(node: graph.Node, context: OperatorContext) -> Operator:
    assert isinstance(node, graph.AssignWindows)
    return AssignWindows(node, context.send, context.deferred)


def _pardo(node: graph.Node, context: OperatorContext) -> Operator:
    assert isinstance(node, graph.ParDo)
    invoker = ParDoInvoker(node, context.check_mutation)
    return ParDo(node, context.send, context.metrics, invoker)


def _write(node: graph.Node, context: OperatorContext) -> Operator:
    assert isinstance(node, graph.Write)
    return Write(node, streaming=not context.batch)


def _group(node: graph.Node, context: OperatorContext) -> Operator:
    assert isinstance(context.step, KeyedStep)
    make = batch_group if context.batch else streaming_group
    return make(context.step, context.send, context.metrics)


def _stateful(node: graph.Node, context: OperatorContext) -> Operator:
    assert isinstance(context.step, StatefulStep)
    return operator_of_dofn(context.step, context.send, context.metrics, context.batch)


def _splittable(node: graph.Node, context: OperatorContext) -> Operator:
    assert isinstance(context.step, StatefulStep)
    return splittable_operator(context.step, context.send, context.metrics, context.batch)


def _side_inputs(node: graph.Node, context: OperatorContext) -> Operator:
    assert isinstance(context.step, SideInputStep)
    return side_input_operator(context.step, context.send, context.metrics, context.batch)


OPERATORS: dict[type[graph.Node], Callable[[graph.Node, OperatorContext], Operator]] = {
    graph.Read: _read,
    graph.Flatten: _forward,
    graph.Reshuffle: _forward,
    graph.AssignWindows: _assign_windows,
    graph.ParDo: _pardo,
    graph.StatefulParDo: _stateful,
    graph.SplittableParDo: _splittable,
    graph.ParDoWithSideInputs: _side_inputs,
    graph.GroupByKey: _group,
    graph.CombinePerKey: _group,
    graph.Write: _write,
}
