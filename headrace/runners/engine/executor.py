"""Execution in one process: rounds over the operators of a graph, or of a part of it.

In a round bundles arrive from sources, then a watermark for each source and a processing time. Bundles pass
through element-wise operators at once, and groupings collect them. At the end of the round the nodes run in
the order of the graph, each after all nodes that it reads from: a grouping processes first its data, then
the watermark, then the clock.

The local runner makes an operator for every node. A worker of another runner makes the operators of its part
of the graph, and for downstream nodes operators that send bundles to other workers.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.engine.sampler import Budget, Sampler
from headrace.runners.error_context import each_within, label_errors_each
from headrace.runners.operator import Operator, Send
from headrace.sdk.metrics.cells import (
    GaugeResult,
    MetricName,
    MetricResults,
    MetricsContainer,
    recording,
)
from headrace.sdk.metrics.run_records import Samples
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pipelines.graph import Collection, Node
from headrace.triggers.trigger import NEVER, Clock

CollectionId = tuple[str, str]

Receive = Callable[[Bundle], None]

SOURCE: Final = "source"
"""The namespace of the metrics of sources."""

ReadingNode = tuple[StepMetrics, Receive]
"""A node that reads a collection: its metrics, and what takes a bundle."""

MakeOperator = Callable[[Node, Send, StepMetrics], Operator | None]
"""Makes the operator of a node, from its output function and metrics; None if it runs elsewhere."""


@attrs.define(eq=False)
class Executor:
    """The connected operators of a graph.

    Args:
        nodes: the nodes, each after those that it reads from.
        make: makes the operator of a node.
        sampled: labels of groupings whose elements and panes are sampled.
        checking: returns what takes the bundles of an input of a node, by its number, with checks; None for
            no checks.
    """

    nodes: Sequence[Node]
    make: MakeOperator
    sampled: Container[str] = ()
    checking: Callable[[Node, int, Receive], Receive] | None = None
    _samplers: dict[str, Sampler] = attrs.field(factory=dict, init=False)
    _metrics: dict[str, StepMetrics] = attrs.field(factory=dict, init=False)
    _operators: dict[str, Operator] = attrs.field(factory=dict, init=False)
    _readers: dict[CollectionId, list[ReadingNode]] = attrs.field(factory=dict, init=False)
    _queue: deque[tuple[Collection, Bundle]] = attrs.field(factory=deque, init=False)
    _exit_stack: ExitStack = attrs.field(factory=ExitStack, init=False)
    _delivering: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the operators, and record which nodes read each collection."""
        budget = Budget()
        for node in self.nodes:
            metrics = StepMetrics()
            sampler = Sampler(budget) if node.label in self.sampled else None
            send = self._send if sampler is None else sampler.sending(self._send)
            operator = self.make(node, send, metrics)
            if operator is None:
                continue
            if sampler is not None:
                self._samplers[node.label] = sampler
            self._operators[node.label], self._metrics[node.label] = operator, metrics
            for number, source in enumerate(node.inputs):
                receive = operator.receiver(number)
                if self.checking is not None:
                    receive = self.checking(node, number, receive)
                if sampler is not None:
                    receive = sampler.receiving(receive)
                self._readers.setdefault(source.id, []).append((metrics, receive))

    def __getitem__(self, label: str) -> Operator:
        """Return the operator of a node."""
        return self._operators[label]

    def open(self) -> None:
        """Open all operators."""
        for operator in self._operators.values():
            operator.open()
            self._exit_stack.callback(operator.release)

    def finish(self) -> None:
        """Complete the external effects of all operators, after a run that did not fail."""
        for operator in self._operators.values():
            operator.finish()

    def release(self) -> None:
        """Release the resources of all opened operators; called after every run."""
        # With the current exception, so that an error here does not replace the error of the run.
        self._exit_stack.__exit__(*sys.exc_info())

    @property
    def steps(self) -> Mapping[str, StepMetrics]:
        """The built-in metrics of each node by label."""
        return self._metrics

    def metrics(self) -> MetricResults:
        """Return the metrics so far."""
        counted = {label: operator.counted for label, operator in self._operators.items()}
        return MetricResults(counted, self._metrics)

    def drain(self) -> dict[str, tuple[StepMetrics, MetricsContainer]]:
        """Return the metrics of each node by label, and reset them."""
        counted = {}
        for label, operator in self._operators.items():
            counted[label] = self._metrics[label].drain(), operator.counted.drain()
        return counted

    def take_samples(self, now: int) -> dict[str, Samples]:
        """Return the samples of groupings by label since they were last taken.

        Args:
            now: processing time in microseconds.
        """
        return {label: sampler.take(now) for label, sampler in self._samplers.items()}

    def state(self) -> dict[str, int]:
        """Return the number of stored states of each node with state, by label."""
        sizes = ((label, operator.state_size) for label, operator in self._operators.items())
        return {label: size for label, size in sizes if size is not None}

    def feed(self, read: Node, bundle: Bundle) -> None:
        """Pass a bundle of a source through all operators up to the next groupings."""
        self._operators[read.label].push(bundle)

    def reading(self, read: Node, bundles: Iterable[Bundle]) -> Iterator[Bundle]:
        """Iterate over what a source reads; it gets the metrics that are recorded meanwhile, and errors."""
        counted = self[read.label].counted
        return label_errors_each(read.label, each_within(lambda: recording(counted), bundles))

    def note_recorded(self, recorded: Mapping[str, MetricsContainer]) -> None:
        """Add metrics that sources have recorded elsewhere, by label."""
        for label, container in recorded.items():
            self._operators[label].counted.add(container)

    def note_lags(self, read: Node, lags: Sequence[tuple[str, int]]) -> None:
        """Set the gauges of a source: how many records it has not read yet."""
        gauges = self._operators[read.label].counted.gauges
        gauges.update((MetricName(SOURCE, name), GaugeResult(lag)) for name, lag in lags)

    def end_round(self, watermarks: Mapping[str, int], now: int) -> dict[str, int]:
        """End a round, and return the output watermark of each node.

        Args:
            watermarks: watermarks in microseconds by node label; at least for all nodes without inputs.
            now: processing time in microseconds.
        """
        outputs: dict[str, int] = {}
        for node in self.nodes:
            # A node after this part may also read from nodes that run elsewhere.
            incoming = [outputs[s.node] for s in node.inputs if s.node in outputs]
            given = watermarks.get(node.label)
            watermark = min(incoming[: node.main_inputs]) if given is None else given
            outputs[node.label] = self._end_round(node.label, incoming, Clock(watermark, now))
        return outputs

    def note_drain(self, draining: bool) -> None:
        """Tell all operators whether the run is drained, before a round ends."""
        for operator in self._operators.values():
            operator.note_drain(draining)

    @property
    def resumes_at(self) -> int:
        """The processing time at which a restriction goes on, in microseconds; NEVER if all have ended."""
        return min((o.resumes_at for o in self._operators.values()), default=NEVER)

    def finalize(self) -> None:
        """Tell all operators that the outputs of the rounds so far have been written."""
        for operator in self._operators.values():
            operator.finalize()

    def _end_round(self, label: str, incoming: list[int], clock: Clock) -> int:
        operator = self._operators.get(label)
        if operator is None:
            return clock.watermark
        operator.note_watermarks(incoming)
        output = self._metrics[label].watermark = operator.end_round(clock)
        return output

    def _send(self, collection: Collection, bundle: Bundle) -> None:
        """Deliver a bundle to all its readers; their own output is delivered after they return."""
        if len(bundle):
            self._queue.append((collection, bundle))
        if not self._delivering:
            self._delivering = True
            try:
                self._deliver()
            finally:
                self._delivering = False

    def _deliver(self) -> None:
        while self._queue:
            collection, bundle = self._queue.popleft()
            self._metrics[collection.node].elements_out += len(bundle)
            for metrics, receive in self._readers.get(collection.id, ()):
                metrics.elements_in += len(bundle)
                receive(bundle)
