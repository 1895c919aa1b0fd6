"""The driver's end of the plan: rows of a batch are given to the sinks, and counts are summed up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import attrs

from headrace.runners.blaming import blamed
from headrace.runners.planning import Plan
from headrace.runners.spark.control import CONTROL, Control, together
from headrace.runners.spark.wire import REPORT, Row, loads
from headrace.sdk.graph import Write
from headrace.sdk.io.sink import Commit, PartSink, SinkBatch
from headrace.sdk.metrics import MetricResults, MetricsContainer
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle


@attrs.define
class Delivery:
    """The sinks of a plan, and its counts.

    Args:
        plan: the plan.
        run: name of the run (see :class:`~headrace.io.SinkBatch`).
    """

    plan: Plan
    run: str
    _containers: dict[str, MetricsContainer] = attrs.field(init=False)
    _steps: dict[str, StepMetrics] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start with all counts at 0."""
        self._containers = {node.label: MetricsContainer() for node in self.plan.graph}
        self._steps = {node.label: StepMetrics() for node in self.plan.graph}

    def open(self) -> None:
        """Open the sinks."""
        for node in self._writes():
            with blamed(node.label):
                node.sink.open()

    def close(self) -> None:
        """Close the sinks, after a run that did not fail."""
        for node in self._writes():
            with blamed(node.label):
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
            if place in parts:
                assert isinstance(node, Write)
                with blamed(node.label):
                    self._write(node, batch, sorted(parts[place], key=lambda part: part[0]))
        return together(controls) if controls else None

    def metrics(self) -> MetricResults:
        """Return what has been counted until now."""
        return MetricResults(self._containers, self._steps)

    def _writes(self) -> Iterable[Write]:
        return (node for node in self.plan.graph if isinstance(node, Write))

    def _write(self, node: Write, batch: int, parts: list[tuple[int, int, Any]]) -> None:
        written = [what for _, _, what in parts]
        if isinstance(node.sink, PartSink):
            node.sink.commit(Commit(batch, self.run, node.label, written))
        else:
            now = max(now for _, now, _ in parts)
            bundle = Bundle.concat(written)
            node.sink.write(SinkBatch(batch, now, bundle, self.run, node.label))

    def _count(self, counts: dict[str, tuple[StepMetrics, MetricsContainer]]) -> None:
        for label, (steps, container) in counts.items():
            self._steps[label].add(steps)
            self._containers[label].add(container)
