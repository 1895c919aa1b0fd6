"""The driver's end of the plan: rows of a batch are given to the sinks, and counts are summed up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

import attrs

from headrace.runners.error_context import failing_in
from headrace.runners.planning import Plan
from headrace.runners.progress import Progress
from headrace.runners.spark.shuffle.bundle_columns import unpack
from headrace.runners.spark.shuffle.wire import REPORT, Row, loads
from headrace.runners.spark.sources.control_rows import CONTROL, Control, together
from headrace.sdk.graph import Read, Write
from headrace.sdk.io.sink import Commit, PartSink, SinkBatch
from headrace.sdk.metrics import MetricResults, MetricsContainer
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle


@attrs.define
class DriverSinks:
    """The sinks of a plan, and its counts.

    Args:
        plan: the plan.
        run: name of the run (see :class:`~headrace.io.SinkBatch`).
        streaming: whether there are many batches.
        progress: shows how many elements were read.
    """

    plan: Plan
    run: str
    streaming: bool
    progress: Progress = attrs.field(factory=partial(Progress, wanted=False))
    _containers: dict[str, MetricsContainer] = attrs.field(init=False)
    _steps: dict[str, StepMetrics] = attrs.field(init=False)
    _reads: frozenset[str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start with all counts at 0."""
        self._containers = {node.label: MetricsContainer() for node in self.plan.graph}
        self._steps = {node.label: StepMetrics() for node in self.plan.graph}
        self._reads = frozenset(n.label for n in self.plan.graph if isinstance(n, Read))

    def open(self) -> None:
        """Open the sinks."""
        for node in self._writes():
            with failing_in(node.label):
                node.sink.open()

    def close(self) -> None:
        """Close the sinks, after a run that did not fail."""
        for node in self._writes():
            with failing_in(node.label):
                node.sink.close()

    def deliver(self, batch: int, rows: Iterable[Row]) -> Control | None:
        """Give the sinks what came in a batch, in the order of the graph; return what time it is."""
        parts: dict[int, list[Any]] = defaultdict(list)
        for row in rows:
            parts[row.step].append(loads(row.payload))
        for counts in parts.pop(REPORT, ()):
            self._count(counts)
        controls = parts.pop(CONTROL, [])
        for place, node in enumerate(self.plan.graph):
            if isinstance(node, Write):
                with failing_in(node.label):
                    self._write(node, batch, sorted(parts[place], key=lambda part: part[0]))
        control = together(controls) if controls else None
        if control is not None:
            self._note(control)
        return control

    def _note(self, control: Control) -> None:
        """Note the output watermark of each node; an element-wise one has that of its input."""
        for node in self.plan.graph:
            incoming = (self._steps[source.node].watermark for source in node.inputs)
            said = control.watermarks.get(node.label)
            self._steps[node.label].watermark = min(incoming) if said is None else said

    def metrics(self) -> MetricResults:
        """Return what has been counted until now."""
        return MetricResults(self._containers, self._steps)

    def _writes(self) -> Iterable[Write]:
        return (node for node in self.plan.graph if isinstance(node, Write))

    def _write(self, node: Write, batch: int, parts: list[tuple[int, int, Any]]) -> None:
        written = [what for _, _, what in parts]
        streaming, label = self.streaming, node.label
        if isinstance(node.sink, PartSink):
            if written or not streaming:  # a whole collection counts though it is empty
                node.sink.commit(Commit(batch, self.run, label, written, streaming=streaming))
        elif written:
            now = max(now for _, now, _ in parts)
            bundle = Bundle.concat(list(map(unpack, written)))
            node.sink.write(SinkBatch(batch, now, bundle, self.run, label, streaming=streaming))

    def _count(self, counts: dict[str, tuple[StepMetrics, MetricsContainer]]) -> None:
        for label, (steps, container) in counts.items():
            self._steps[label].add(steps)
            self._containers[label].add(container)
            if label in self._reads:
                self.progress.advance(steps.elements_out)
