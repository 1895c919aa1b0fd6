"""Local and Spark side by side, over streams that state machines write, with workers killed on the way.

The worker code alone hears each event as it is written, so that a difference shrinks. On Spark many machines
share one query, which dies and is resumed from its checkpoint.
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
from headrace.sdk.encoding import encode_value
from headrace.sdk.graph import Graph, Write
from headrace.sdk.result import PipelineResult
from headrace.sdk.testing.capturing import Capture
from headrace.sdk.testing.run_on_runner import Observation, play
from headrace.sdk.testing.runs import Run

from .machines import SideBySide, Writing

MACHINES = int(os.environ.get("HEADRACE_MACHINES", "40"))
"""So many share a query."""

BLOWS = 4
"""So often a query dies."""

TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = settings(stateful_step_count=20)


def written(machines: int) -> tuple[list[Run], list[int]]:
    """What so many machines write, and the events that most of them would die in."""
    runs: list[Run] = []
    kills: Counter[int] = Counter()

    class Written(Writing):
        def teardown(self) -> None:
            super().teardown()
            runs.append(self.run)
            kills.update(self.kills)

    chosen = settings(
        max_examples=machines,
        stateful_step_count=12,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )
    run_state_machine_as_test(Written, settings=chosen)
    return runs, sorted(event for event, _ in kills.most_common(BLOWS))


class Died(Exception):
    """What a query dies of that is killed between its last level and the commit."""


@attrs.define
class Kept(Sink):
    """What a capture gets, by batch, so that a batch that comes again counts once."""

    accepts_retractions: ClassVar[bool] = True

    capture: Capture
    remove_window: Any
    batches: dict[int, SinkBatch] = attrs.field(factory=dict)

    def write(self, batch: SinkBatch) -> None:
        self.batches[batch.id] = batch
        self.remove_window(batch.id)

    def close(self) -> None:
        self.capture.elements.clear()
        for _, batch in sorted(self.batches.items()):
            self.capture.write(batch)


@attrs.define
class Dying:
    """Spark, in queries that die in some batches and are resumed.

    In every other of them it is the Python workers that are killed, a moment later; else the sink fails
    when it has the batch.

    Attributes:
        home: where the checkpoint is.
        blows: numbers of the batches.
        deaths: how often a query has died.
    """

    ships_functions: ClassVar[bool] = True

    home: Path
    blows: list[int]
    deaths: int = 0

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        said = options.view_as(SparkOptions)
        said.key_groups, said.checkpoint = 2, str(self.home / "checkpoint")
        fires_only_at_end = Graph(tuple(self._fires_only_at_end(node) for node in graph))
        while True:
            try:
                return SparkRunner().run(fires_only_at_end, options)
            except Exception:
                if self.deaths >= 3 * BLOWS:  # one that is killed as it starts dies twice
                    raise
                self.deaths += 1

    def _fires_only_at_end(self, node: Any) -> Any:
        if isinstance(node, Write) and isinstance(node.sink, Capture):
            return attrs.evolve(node, sink=Kept(node.sink, self._strike))
        return node

    def _strike(self, batch: int) -> None:
        if not self.blows or batch < self.blows[0]:
            return
        self.blows.pop(0)
        if len(self.blows) % 2:
            threading.Timer(0.3, kill_workers).start()
        else:
            raise Died(f"in batch {batch}")


def kill_workers() -> None:
    """Kill all Python workers of this process's Spark; what forks them lives on, as Spark relies on it."""
    for parent, process in offspring(os.getpid()):
        if is_daemon(parent) and is_daemon(process):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def is_daemon(process: int) -> bool:
    try:
        return b"pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False


def offspring(ancestor: int) -> list[tuple[int, int]]:
    """Parent and child, of all processes that a process has started, and those that they have started."""
    children = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children[parent].append((parent, int(stat.parent.name)))
    found = list(children[ancestor])
    for _, process in found:
        found.extend(children[process])
    return found


def told(heard: Observation) -> Counter[Any]:
    return Counter(map(encode_value, heard.panes))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for workers in /proc")
def test_machines_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    runs, kills = written(MACHINES)
    dying = Dying(tmp_path, [2 * event + 1 for event in kills])
    found = play(runs, dying)
    expected = play(runs, "local")
    for run, here, there in zip(runs, found, expected, strict=True):
        assert list(map(told, here)) == list(map(told, there)), run
    assert dying.deaths >= 1
    assert not dying.blows
