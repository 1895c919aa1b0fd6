"""The driver's part of a plan: it passes the rows of a batch to the sinks, and sums up metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any

import attrs

from headrace.grouping.table_bundle import joined
from headrace.runners.checks.timestamp_checks import TimestampWarnings
from headrace.runners.engine.gc_tuning import infrequent_gc
from headrace.runners.engine.progress import Progress
from headrace.runners.error_context import label_errors
from headrace.runners.plan.planning import Plan
from headrace.runners.spark.cluster.file_retention import FileRetention
from headrace.runners.spark.cluster.observed_rows import ObservedRows
from headrace.runners.spark.shuffle.bundle_columns import unpack
from headrace.runners.spark.shuffle.control_rows import CONTROL, Control, merged
from headrace.runners.spark.shuffle.wire import (
    FILES_IN_USE,
    READ_SIZE,
    REPORT,
    SAMPLES,
    StageRow,
    loads,
)
from headrace.sdk.coders.stored.stable import without_pickle
from headrace.sdk.metrics.cells import MetricResults, MetricsContainer
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pipelines.graph import Read, Write
from headrace.sdk.sources.sink import Commit, PartSink, SinkBatch
from headrace.windowing.time.timestamps import MAX_MICROS


@attrs.define
class DriverSinks:
    """The sinks and metrics of a plan.

    Args:
        plan: the plan.
        run: name of the run (see :class:`~headrace.io.SinkBatch`).
        streaming: whether there are many batches.
        progress: displays the number of elements read.
        retention: deletes files of side inputs that are not needed any more; None to keep all.

    Attributes:
        observed: what the tasks tell the observers of the run.
        read_size: the size of the records of the last batch that the workers have read, in bytes.
    """

    plan: Plan
    run: str
    streaming: bool
    progress: Progress = attrs.field(factory=partial(Progress, wanted=False))
    retention: FileRetention | None = None
    observed: ObservedRows = attrs.field(factory=ObservedRows, init=False)
    read_size: int = attrs.field(default=0, init=False)
    _containers: dict[str, MetricsContainer] = attrs.field(init=False)
    _steps: dict[str, StepMetrics] = attrs.field(init=False)
    _reads: frozenset[str] = attrs.field(init=False)
    _warnings: TimestampWarnings = attrs.field(factory=TimestampWarnings, init=False)

    def __attrs_post_init__(self) -> None:
        """Start with all counts at 0."""
        self._containers = {node.label: MetricsContainer() for node in self.plan.graph}
        self._steps = {node.label: StepMetrics() for node in self.plan.graph}
        self._reads = frozenset(n.label for n in self.plan.graph if isinstance(n, Read))

    def open(self) -> None:
        """Open the sinks."""
        for node in self._writes():
            with label_errors(node.label):
                node.sink.open()

    def close(self) -> None:
        """Close the sinks, after a run that did not fail."""
        for node in self._writes():
            with label_errors(node.label):
                node.sink.close()

    @infrequent_gc()
    def deliver(self, batch: int, rows: Iterable[StageRow]) -> Control | None:
        """Write the rows of a batch to the sinks, in the order of the graph; return its control row."""
        parts: dict[int, list[Any]] = defaultdict(list)
        with without_pickle() if self.plan.no_pickle else nullcontext():
            for row in rows:
                parts[row.step].append(loads(row.payload))
        for counts in parts.pop(REPORT, ()):
            self._count(counts)
        self._warnings.warn(self._steps)
        self.observed.take(parts.pop(SAMPLES, ()))
        self.read_size = sum(parts.pop(READ_SIZE, ()))
        controls = parts.pop(CONTROL, [])
        control = merged(controls) if controls else None
        if control is not None:
            self._record_watermarks(control)
        for place, node in enumerate(self.plan.graph):
            if isinstance(node, Write):
                with label_errors(node.label):
                    self._write(node, batch, sorted(parts[place], key=lambda p: p[0]), control)
        if self.retention is not None:
            self.retention.note(batch, parts.pop(FILES_IN_USE, ()))
        if control is not None:
            self.progress.end_batch(
                batch,
                min((self._steps[label].watermark for label in self._reads), default=None),
                sum(self.observed.state.values()),
            )
        return control

    def _record_watermarks(self, control: Control) -> None:
        """Record each node's output watermark; an element-wise node has the one of its inputs."""
        for node in self.plan.graph:
            incoming = (self._steps[source.node].watermark for source in node.inputs)
            own = control.watermarks.get(node.label)
            self._steps[node.label].watermark = min(incoming) if own is None else own

    def metrics(self) -> MetricResults:
        """Return the metrics so far."""
        return MetricResults(self._containers, self._steps)

    def _writes(self) -> Iterable[Write]:
        return (node for node in self.plan.graph if isinstance(node, Write))

    def _write(
        self,
        node: Write,
        batch: int,
        parts: list[tuple[int, int, Any]],
        control: Control | None,
    ) -> None:
        written = [what for _, _, what in parts]
        due = node.sink.wants_watermarks and control is not None
        told: dict[str, Any] = {
            "streaming": self.streaming,
            "watermark": self._watermark(node, control),
            "delivery": node.delivery,
        }
        if isinstance(node.sink, PartSink):
            if written or due or not self.streaming:  # in batch mode, commit an empty collection
                node.sink.commit(Commit(batch, self.run, node.label, written, **told))
        elif written or due:
            now = max((now for _, now, _ in parts), default=control.now if control else 0)
            bundle = joined(list(map(unpack, written)))
            node.sink.write(SinkBatch(batch, now, bundle, self.run, node.label, **told))

    def _watermark(self, node: Write, control: Control | None) -> int | None:
        if not self.streaming:
            return MAX_MICROS
        return None if control is None else self._steps[node.label].watermark

    def _count(self, counts: dict[str, tuple[StepMetrics, MetricsContainer]]) -> None:
        for label, (steps, container) in counts.items():
            self._steps[label].add(steps)
            self._containers[label].add(container)
            if label in self._reads:
                self.progress.advance(steps.elements_out)
