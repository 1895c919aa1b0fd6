"""Execution in one place: rounds over the operators of a graph, or of a part of it.

A round is what arrives together: bundles from outside, then a watermark for each node that others watch
and a processing time. Bundles run through element-wise operators at once and collect in front of groupings;
when the round ends, the nodes take their turns in the order of the graph, each after all that it reads
from: a grouping handles first the data, then the watermark, then the clock.

The local runner gives every node an operator; a worker of another runner gives them to the nodes of its
part, and to those behind it operators that send bundles on their way.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

import attrs

from headrace.runners.operator import Operator, Send
from headrace.sdk.graph import Collection, Node
from headrace.sdk.metrics import MetricResults, MetricsContainer
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle
from headrace.triggers.trigger import Clock

CollectionId = tuple[str, str]

MakeOperator = Callable[[Node, Send, StepMetrics], Operator | None]
"""Makes the operator of a node, given the way out and where to count; None for a node of another place."""


@attrs.define(eq=False)
class Executor:
    """The operators of a graph, wired up.

    Args:
        nodes: the nodes, each after those that it reads from.
        make: makes their operators.
    """

    nodes: Sequence[Node]
    make: MakeOperator
    _metrics: dict[str, StepMetrics] = attrs.field(factory=dict, init=False)
    _operators: dict[str, Operator] = attrs.field(factory=dict, init=False)
    _readers: dict[CollectionId, list[str]] = attrs.field(factory=dict, init=False)
    _queue: deque[tuple[Collection, Bundle]] = attrs.field(factory=deque, init=False)
    _opened: ExitStack = attrs.field(factory=ExitStack, init=False)
    _pumping: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the operators, and note who reads what."""
        for node in self.nodes:
            metrics = StepMetrics()
            operator = self.make(node, self._send, metrics)
            if operator is None:
                continue
            self._operators[node.label], self._metrics[node.label] = operator, metrics
            for source in node.inputs:
                self._readers.setdefault(source.id, []).append(node.label)

    def __getitem__(self, label: str) -> Operator:
        """Return the operator of a node."""
        return self._operators[label]

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

    def drain(self) -> dict[str, tuple[StepMetrics, MetricsContainer]]:
        """Return what each node has counted, by label, and start anew."""
        counted = {}
        for label, operator in self._operators.items():
            counted[label] = self._metrics[label].drain(), operator.counted.drain()
        return counted

    def feed(self, read: Node, bundle: Bundle) -> None:
        """Take a bundle from a source as far as the groupings in front of it."""
        self._operators[read.label].push(bundle)

    def end_round(self, given: Mapping[str, int], now: int) -> dict[str, int]:
        """End a round, and return the output watermark of each node.

        Args:
            given: the watermarks, in microseconds, of nodes that are told from outside, by label: at
                least those of all that read from nothing.
            now: processing time in microseconds.
        """
        outputs: dict[str, int] = {}
        for node in self.nodes:
            # A node behind this part may read from others there as well, which are not here.
            incoming = (outputs[s.node] for s in node.inputs if s.node in outputs)
            watermark = given[node.label] if node.label in given else min(incoming)
            outputs[node.label] = self._end_round(node.label, Clock(watermark, now))
        return outputs

    def _end_round(self, label: str, clock: Clock) -> int:
        if label not in self._operators:
            return clock.watermark
        output = self._metrics[label].watermark = self._operators[label].end_round(clock)
        return output

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
