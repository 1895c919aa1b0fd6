"""Records what a run gives to the sinks of a pipeline, and replays it to other sinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

from headrace.runners.error_context import label_errors
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.pipelines.graph import Graph, Write
from headrace.sdk.pipelines.result import PipelineResult, PipelineState
from headrace.sdk.sources.sink import Commit, PartSink, Sink, SinkBatch, SinkPart

SinkInput = SinkBatch | Commit
"""What a sink receives: a batch, or the commit of the parts that workers wrote."""


@attrs.define
class Recorder(Sink):
    """Records the batches that it receives."""

    accepts_retractions: ClassVar[bool] = True

    received: list[SinkInput] = attrs.field(factory=list)

    def write(self, batch: SinkBatch) -> None:
        self.received.append(batch)


@attrs.define
class WatermarkRecorder(Recorder):
    """Records the batches that only tell the watermark, too."""

    wants_watermarks: ClassVar[bool] = True


@attrs.define
class PartRecorder(PartSink):
    """Records the parts of batches instead of writing them."""

    accepts_retractions: ClassVar[bool] = True

    received: list[SinkInput] = attrs.field(factory=list)

    def write_part(self, part: SinkPart) -> SinkPart:
        return part

    def commit(self, commit: Commit) -> None:
        self.received.append(commit)


def recorder_for(sink: Sink) -> Recorder | PartRecorder:
    """A recorder that replaces a sink."""
    if isinstance(sink, PartSink):
        return PartRecorder()
    return WatermarkRecorder() if sink.wants_watermarks else Recorder()


@attrs.frozen
class Recording:
    """The run of a graph as a part of a larger graph.

    Attributes:
        name: the graph's name in the larger graph.
        labels: the labels of the graph, to identify it.
        received: what its sinks received, by label.
        metrics: the metrics of its steps.
        times: where its own clock stops, in microseconds; a clock that it shares stops more often.
    """

    name: str
    labels: tuple[str, ...]
    received: dict[str, list[SinkInput]]
    metrics: MetricResults
    times: Sequence[int]

    def replay(self, graph: Graph) -> PipelineResult:
        """Give the sinks of a graph what was recorded."""
        labels = tuple(node.label for node in graph)
        assert labels == self.labels, f"not the pipeline of the dry run: {labels}, {self.labels}"
        sinks = {node.label: node.sink for node in graph if isinstance(node, Write)}
        for label, sink in sinks.items():
            with label_errors(label):
                sink.open()
        inputs = [(each.id, label, each) for label, some in self.received.items() for each in some]
        for _, label, each in sorted(inputs, key=lambda one: one[0]):
            with label_errors(label):
                self._give(sinks[label], label, each)
        for label, sink in sinks.items():
            with label_errors(label):
                sink.close()
        return Replayed(self.metrics)

    def _give(self, sink: Sink, label: str, recorded: SinkInput) -> None:
        own = attrs.evolve(recorded, step=label, run=self._run_name(recorded))
        if isinstance(own, SinkBatch):
            sink.write(attrs.evolve(own, now=self._time(own.now)))
        else:
            assert isinstance(sink, PartSink)
            parts = (
                attrs.evolve(part, step=label, run=own.run, now=self._time(part.now))
                for part in own.written
            )
            sink.commit(attrs.evolve(own, written=[sink.write_part(part) for part in parts]))

    def _time(self, now: int) -> int:
        """When its own clock would have shown what a shared clock showed."""
        return next((time for time in self.times if time >= now), now)

    def _run_name(self, recorded: SinkInput) -> str:
        """A name of the run that differs between the graphs of the larger graph."""
        return recorded.run and f"{recorded.run}-{self.name}"


class Replayed(PipelineResult):
    """The result of a replayed run."""

    def __init__(self, metrics: MetricResults) -> None:
        super().__init__(PipelineState.DONE)
        self._metrics = metrics

    def metrics(self) -> MetricResults:
        return self._metrics
