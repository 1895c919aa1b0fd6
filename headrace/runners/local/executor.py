"""Execution in memory: rounds over the operators of a plan.

A round is what arrives together: bundles from the sources, then a watermark for each source and a
processing time. Bundles run through element-wise operators at once and collect in front of groupings;
when the round ends, the nodes take their turns in the order of the graph, each after all that it reads
from: a grouping handles first the data, then the watermark, then the clock. Spark's micro-batches do the
same.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack

import attrs

from headrace.runners.local.operators import Operator, Site, operator_for
from headrace.runners.planning import Plan
from headrace.sdk.graph import Collection, Node
from headrace.sdk.metrics import MetricResults
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle
from headrace.triggers.trigger import Clock

CollectionId = tuple[str, str]


@attrs.define(eq=False)
class Executor:
    """The operators of a plan, wired up.

    Args:
        plan: what to execute.
        batch: whether there is but one round, at whose end all watermarks are at the end of time.
    """

    plan: Plan
    batch: bool
    _metrics: dict[str, StepMetrics] = attrs.field(factory=dict, init=False)
    _operators: dict[str, Operator] = attrs.field(factory=dict, init=False)
    _readers: dict[CollectionId, list[str]] = attrs.field(factory=dict, init=False)
    _queue: deque[tuple[Collection, Bundle]] = attrs.field(factory=deque, init=False)
    _opened: ExitStack = attrs.field(factory=ExitStack, init=False)
    _pumping: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        """Make an operator for each node, and note who reads what."""
        for node in self.plan.graph:
            metrics = self._metrics[node.label] = StepMetrics()
            step, left = self.plan.steps.get(node.label), node.label in self.plan.left
            site = Site(self._send, metrics, step, left, self.batch)
            self._operators[node.label] = operator_for(node, site)
            for source in node.inputs:
                self._readers.setdefault(source.id, []).append(node.label)

    def open(self) -> None:
        """Prepare all operators."""
        for operator in self._operators.values():
            operator.open()
            self._opened.callback(operator.release)

    def finish(self) -> None:
        """Complete what goes outside, after a run that did not fail."""
        for operator in self._operators.values():
            operator.finish()

    def release(self) -> None:
        """Let go of the resources of all that was opened, however the run ended."""
        self._opened.__exit__(*sys.exc_info())  # an error of its own must not hide the run's

    def metrics(self) -> MetricResults:
        """Return what has been counted until now."""
        counted = {label: operator.counted for label, operator in self._operators.items()}
        return MetricResults(counted, self._metrics)

    def feed(self, read: Node, bundle: Bundle) -> None:
        """Take a bundle from a source as far as the groupings in front of it."""
        self._operators[read.label].push(bundle)

    def end_round(self, sources: Mapping[str, int], now: int) -> None:
        """End a round.

        Args:
            sources: the watermark of each Read by its label, in microseconds.
            now: processing time in microseconds.
        """
        reached: dict[CollectionId, int] = {}
        for node in self.plan.graph:
            incoming = [reached[source.id] for source in node.inputs]
            watermark = min(incoming) if incoming else sources[node.label]
            output = self._operators[node.label].end_round(Clock(watermark, now))
            self._metrics[node.label].watermark = output
            reached.update((made.id, output) for made in node.outputs)

    def _send(self, collection: Collection, bundle: Bundle) -> None:
        """Hand a bundle to all who read it; what they send in turn waits until they are back."""
        if bundle.values:
            self._queue.append((collection, bundle))
        if not self._pumping:
            self._pumping = True
            try:
                self._pump()
            finally:
                self._pumping = False

    def _pump(self) -> None:
        while self._queue:
            collection, bundle = self._queue.popleft()
            self._metrics[collection.node].elements_out += len(bundle)
            for label in self._readers.get(collection.id, ()):
                self._metrics[label].elements_in += len(bundle)
                self._operators[label].push(bundle)
