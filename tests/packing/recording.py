"""What a run gave to the sinks of a pipeline, and how it is given again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs

from headrace.runners.blaming import blamed
from headrace.sdk.graph import Graph, Write
from headrace.sdk.io.sink import Sink, SinkBatch
from headrace.sdk.metrics import MetricResults
from headrace.sdk.result import PipelineResult, PipelineState


@attrs.define
class Recorder(Sink):
    """Keeps the batches that it gets, for another sink of which only the name is known."""

    accepts_retractions: ClassVar[bool] = True

    batches: list[SinkBatch] = attrs.field(factory=list)

    def open(self) -> None:
        self.batches.clear()

    def write(self, batch: SinkBatch) -> None:
        self.batches.append(batch)


@attrs.frozen
class Recording:
    """The run of a graph.

    Attributes:
        labels: the labels of the graph, by which it is known again.
        batches: what its sinks got, by their labels.
        metrics: what was counted.
    """

    labels: tuple[str, ...]
    batches: dict[str, list[SinkBatch]]
    metrics: MetricResults

    def replay(self, graph: Graph) -> PipelineResult:
        """Give the sinks of a graph what the run gave them."""
        found = tuple(node.label for node in graph)
        assert found == self.labels, f"not the pipeline that was rehearsed: {found}, {self.labels}"
        writes = {node.label: node for node in graph if isinstance(node, Write)}
        for node in writes.values():
            with blamed(node.label):
                node.sink.open()
        for label, batch in self._in_order():
            with blamed(label):
                writes[label].sink.write(attrs.evolve(batch, step=label))
        for node in writes.values():
            with blamed(node.label):
                node.sink.close()
        return Replayed(self.metrics)

    def _in_order(self) -> Iterator[tuple[str, SinkBatch]]:
        given = [(label, batch) for label, some in self.batches.items() for batch in some]
        return iter(sorted(given, key=lambda pair: pair[1].id))


class Replayed(PipelineResult):
    """A run that was over before it began."""

    def __init__(self, metrics: MetricResults) -> None:
        super().__init__(PipelineState.DONE)
        self._metrics = metrics

    def metrics(self) -> MetricResults:
        return self._metrics
