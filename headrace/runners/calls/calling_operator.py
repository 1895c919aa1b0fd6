"""The base of operators that call a function or DoFn: bundles, outputs and life cycle."""

from __future__ import annotations

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.calls.invoker import ParDoInvoker
from headrace.runners.checks.timestamp_checks import note_made
from headrace.runners.operator import Operator, Send, send_outputs
from headrace.sdk.metrics.cells import MetricsContainer
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pipelines.graph import Node
from headrace.sdk.pipelines.outputs import Outputs


@attrs.define(eq=False)
class CallingOperator(Operator):
    """An operator whose invoker calls a function; all elements of a round are one bundle of a DoFn.

    Args:
        node: the node.
        send: receives the outputs.
        metrics: the metrics of the step.
        invoker: calls the function.
    """

    node: Node
    send: Send
    metrics: StepMetrics
    invoker: ParDoInvoker
    _started: bool = attrs.field(default=False, init=False)

    def open(self) -> None:
        """Set up the DoFn."""
        self.invoker.setup()

    def release(self) -> None:
        """Tear down the DoFn."""
        self.invoker.teardown()

    @property
    def counted(self) -> MetricsContainer:
        """The metrics of the DoFn."""
        return self.invoker.metrics

    def finalize(self) -> None:
        """Call what was registered with the finalizer of the DoFn."""
        self.invoker.contexts.finalizer.finalize_bundle()

    def start_bundle(self) -> None:
        """Start a bundle of the DoFn, unless one has started."""
        if not self._started:
            self._started = True
            self.invoker.start_bundle()

    def send_made(self, made: Outputs, origin: Bundle) -> None:
        """Send outputs of the function.

        Args:
            made: the outputs by tag.
            origin: the bundle that the function was called on.
        """
        if self.invoker.can_stamp:
            for output in made.values():
                note_made(output, origin, self.metrics)
        send_outputs(self.node, made, self.send)

    def finish_bundle(self) -> None:
        """Send the outputs of the DoFn's ``finish_bundle``, if a bundle has started."""
        if self._started:
            self._started = False
            send_outputs(self.node, self.invoker.finish_bundle(), self.send)
