"""What a run gave to the sinks of a pipeline, and how it is given again."""

from __future__ import annotations

from typing import ClassVar

import attrs

from headrace.runners.error_context import failing_in
from headrace.sdk.graph import Graph, Write
from headrace.sdk.io.sink import Commit, PartSink, Sink, SinkBatch, SinkPart
from headrace.sdk.metrics import MetricResults
from headrace.sdk.result import PipelineResult, PipelineState

Given = SinkBatch | Commit
"""What a sink is given: a batch, or what was written of it on workers."""


@attrs.define
class Recorder(Sink):
    """Keeps the batches that it gets, for another sink."""

    accepts_retractions: ClassVar[bool] = True

    given: list[Given] = attrs.field(factory=list)

    def write(self, batch: SinkBatch) -> None:
        self.given.append(batch)


@attrs.define
class PartRecorder(PartSink):
    """Keeps the parts of batches instead of writing them, for another sink."""

    accepts_retractions: ClassVar[bool] = True

    given: list[Given] = attrs.field(factory=list)

    def write_part(self, part: SinkPart) -> SinkPart:
        return part

    def commit(self, commit: Commit) -> None:
        self.given.append(commit)


def recorder_for(sink: Sink) -> Recorder | PartRecorder:
    """A recorder that takes the place of a sink."""
    return PartRecorder() if isinstance(sink, PartSink) else Recorder()


@attrs.frozen
class Recording:
    """The run of a graph as a part of a larger one.

    Attributes:
        name: what tells it from the others.
        labels: the labels of the graph, by which it is known again.
        given: what its sinks were given, by their labels.
        metrics: what was counted.
    """

    name: str
    labels: tuple[str, ...]
    given: dict[str, list[Given]]
    metrics: MetricResults

    def replay(self, graph: Graph) -> PipelineResult:
        """Give the sinks of a graph what the run gave them."""
        found = tuple(node.label for node in graph)
        assert found == self.labels, f"not the pipeline that was rehearsed: {found}, {self.labels}"
        sinks = {node.label: node.sink for node in graph if isinstance(node, Write)}
        for label, sink in sinks.items():
            with failing_in(label):
                sink.open()
        each = [(given.id, label, given) for label, some in self.given.items() for given in some]
        for _, label, given in sorted(each, key=lambda one: one[0]):
            with failing_in(label):
                self._give(sinks[label], label, given)
        for label, sink in sinks.items():
            with failing_in(label):
                sink.close()
        return Replayed(self.metrics)

    def _give(self, sink: Sink, label: str, given: Given) -> None:
        own = attrs.evolve(given, step=label, run=self._run(given))
        if isinstance(own, SinkBatch):
            sink.write(own)
        else:
            parts = (attrs.evolve(part, step=label, run=own.run) for part in own.written)
            sink.commit(attrs.evolve(own, written=[sink.write_part(part) for part in parts]))

    def _run(self, given: Given) -> str:
        """A name of the run that no other graph of the larger one has."""
        return given.run and f"{given.run}-{self.name}"


class Replayed(PipelineResult):
    """A run that was over before it began."""

    def __init__(self, metrics: MetricResults) -> None:
        super().__init__(PipelineState.DONE)
        self._metrics = metrics

    def metrics(self) -> MetricResults:
        return self._metrics
