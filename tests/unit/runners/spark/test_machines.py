"""Local and Spark side by side, over streams that state machines write, with workers killed on the way.

The worker code alone processes each event as it is written, so that a difference shrinks. On Spark, many
machines share one query, which fails and is resumed from its checkpoint.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from pyspark.sql import SparkSession

from headrace.io import Sink, SinkBatch
from headrace.options import PipelineOptions
from headrace.runners.spark import SparkRunner
from headrace.runners.spark.cluster.options import SparkOptions
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.pipelines.graph import Graph, Write
from headrace.sdk.pipelines.result import PipelineResult
from headrace.sdk.testing.assertions.capturing import Capture
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import Observation, run_streaming

from .machines import SideBySide, StreamMachine

MACHINES = int(os.environ.get("HEADRACE_MACHINES", "40"))
"""Number of machines that share a query."""

FAILURES = 4
"""Number of failures of a query."""

TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = settings(stateful_step_count=20)


def draw_runs(machines: int) -> list[Run]:
    """Draw the runs of machines; the draws depend on which modules are imported."""
    runs: list[Run] = []

    class RecordingMachine(StreamMachine):
        def teardown(self) -> None:
            super().teardown()
            runs.append(self.run)

    chosen = settings(
        max_examples=machines,
        stateful_step_count=12,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )
    run_state_machine_as_test(RecordingMachine, settings=chosen)
    return runs


def failing_batches(runs: list[Run]) -> list[int]:
    """Return the ids of batches at even distances; an event of the longest script takes about two batches."""
    events = max(len(script) for run in runs for script in run.scripts)
    return [2 * events * n // (FAILURES + 1) for n in range(1, FAILURES + 1)]


class InjectedError(Exception):
    """The failure of a query between its last level and the commit."""


@attrs.define
class DeduplicatingSink(Sink):
    """Keeps the batches of a capture by id, so that a repeated batch counts once."""

    accepts_retractions: ClassVar[bool] = True

    capture: Capture
    on_batch: Any
    batches: dict[int, SinkBatch] = attrs.field(factory=dict)

    def write(self, batch: SinkBatch) -> None:
        self.batches[batch.id] = batch
        self.on_batch(batch.id)

    def close(self) -> None:
        self.capture.elements.clear()
        for _, batch in sorted(self.batches.items()):
            self.capture.write(batch)


@attrs.define
class FailingSpark:
    """Spark, in queries that fail in some batches and are resumed.

    In every second of them the Python workers are killed shortly after the batch; in the others the sink
    fails.

    Attributes:
        home: the folder of the checkpoint.
        failing_batches: the ids of the batches.
        failures: the number of failures so far.
    """

    ships_functions: ClassVar[bool] = True

    home: Path
    failing_batches: list[int]
    failures: int = 0

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        spark_options = options.view_as(SparkOptions)
        spark_options.key_groups, spark_options.checkpoint = 2, str(self.home / "checkpoint")
        failing_graph = Graph(tuple(self._with_failing_sink(node) for node in graph))
        while True:
            try:
                return SparkRunner().run(failing_graph, options)
            except Exception:
                if self.failures >= 3 * FAILURES:  # a query that is killed at its start fails twice
                    raise
                self.failures += 1

    def _with_failing_sink(self, node: Any) -> Any:
        if isinstance(node, Write) and isinstance(node.sink, Capture):
            return attrs.evolve(node, sink=DeduplicatingSink(node.sink, self._fail_in))
        return node

    def _fail_in(self, batch: int) -> None:
        if not self.failing_batches or batch < self.failing_batches[0]:
            return
        self.failing_batches.pop(0)
        if len(self.failing_batches) % 2:
            threading.Timer(0.3, kill_workers).start()
        else:
            raise InjectedError(f"in batch {batch}")


def kill_workers() -> None:
    """Kill all Python workers of this process's Spark, but not the daemon that forks them."""
    for parent, process in descendants(os.getpid()):
        if is_daemon(parent) and is_daemon(process):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def is_daemon(process: int) -> bool:
    try:
        return b"pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False


def descendants(ancestor: int) -> list[tuple[int, int]]:
    """(Parent, child) of all descendants of a process."""
    children = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children[parent].append((parent, int(stat.parent.name)))
    found = list(children[ancestor])
    for _, process in found:
        found.extend(children[process])
    return found


def pane_counts(heard: Observation) -> Counter[Any]:
    return Counter(map(encode_value, heard.panes))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for workers in /proc")
def test_machines_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    runs = draw_runs(MACHINES)
    failing = FailingSpark(tmp_path, failing_batches(runs))
    found = run_streaming(runs, failing)
    expected = run_streaming(runs, "local")
    for run, here, there in zip(runs, found, expected, strict=True):
        assert list(map(pane_counts, here)) == list(map(pane_counts, there)), run
    assert failing.failures >= 1
    assert not failing.failing_batches
