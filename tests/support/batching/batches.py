"""Decides which pipelines run together, and holds the runner that tests see in place of Spark's."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import count
from typing import Any, NamedTuple

import attrs
import pytest

from headrace.runners import local
from headrace.runners.plan.execution_mode import is_unbounded
from headrace.runners.plan.planning import plan
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.graph import Graph, Read, Write
from headrace.sdk.pipelines.result import PipelineResult, PipelineState
from headrace.sdk.pipelines.runner_lookup import Runner
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.sources.source import BoundedSource
from headrace.sdk.testing.streams.alignment import aligned, times
from tests.support.batching.merge_graphs import (
    map_nodes,
    merge_graphs,
    prefixed_label,
    select_graph,
)
from tests.support.batching.recording import PartRecorder, Recorder, Recording, recorder_for

log = logging.getLogger(__name__)

DRY_RUN = "HEADRACE_DRY_RUN"
"""The variable that turns batches off: with "off" each pipeline runs by itself."""

IRRELEVANT_OPTIONS = ("runner", "allow_unsafe_triggers")
"""Options that have no influence on a run."""


class PipelineId(NamedTuple):
    """Identifies a pipeline by its test and its position there."""

    test: str
    number: int


@attrs.frozen
class TestedPipeline:
    """A pipeline of a test."""

    __test__ = False

    id: PipelineId
    graph: Graph
    options: PipelineOptions

    @property
    def sources(self) -> list[Any]:
        return [node.source for node in self.graph if isinstance(node, Read)]

    @property
    def test_streams(self) -> list[TestStream]:
        return [source for source in self.sources if isinstance(source, TestStream)]

    @property
    def times(self) -> list[int]:
        """The times at which its clock stops, in microseconds."""
        return max((times(stream.events) for stream in self.test_streams), key=len, default=[0])

    @property
    def has_clock(self) -> bool:
        """Whether it advances processing time."""
        return len(self.times) > 1

    @property
    def clock(self) -> Hashable:
        """Which clock it can share; a stream that stays open would see more of a longer one."""
        if not self.has_clock:
            return None
        return tuple(self.times[-1] for stream in self.test_streams if not stream.bounded)

    @property
    def can_be_batched(self) -> bool:
        """Whether it ends, and has no second source if its test stream advances processing time."""
        ends = all(isinstance(source, (BoundedSource, TestStream)) for source in self.sources)
        return ends and (not self.has_clock or len(self.sources) == 1)

    @property
    def batch_key(self) -> Hashable:
        """What all pipelines of a batch have in common."""
        options = self.options.get_all_options(drop_default=True, retain_unknown_options=True)
        relevant = sorted((n, repr(v)) for n, v in options.items() if n not in IRRELEVANT_OPTIONS)
        unbounded = is_unbounded(self.graph)
        return bool(self.test_streams), unbounded, self.depth, self.clock, tuple(relevant)

    @property
    def depth(self) -> int:
        """The number of shuffles in a row, or 2 for more: deeper rounds cost less than a query."""
        return min(max(1, len(plan(self.graph).levels) - 1), 2)

    @property
    def rounds(self) -> int:
        """The length of the longest test stream."""
        return max((len(stream.events) for stream in self.test_streams), default=0)


@attrs.define
class Batches:
    """All pipelines of all tests that run on another runner, in batches.

    Attributes:
        runner: runs the batches.
        size: maximum number of pipelines in a batch.
        dry_run: whether pipelines are only collected, and run on the local runner.
        pipelines: the collected pipelines that have not run yet.
        recordings: the results; a pipeline without a recording runs alone.
        runs: the number of pipelines in each run.
    """

    runner: Runner
    size: int = 300
    dry_run: bool = False
    pipelines: list[TestedPipeline] = attrs.field(factory=list)
    recordings: dict[PipelineId, Recording] = attrs.field(factory=dict)
    runs: list[int] = attrs.field(factory=list)

    def record(self) -> None:
        """Run all pipelines collected so far; test streams of similar length run together."""
        collected, self.pipelines = self.pipelines, []
        groups = defaultdict(list)
        for pipeline in sorted(collected, key=lambda pipeline: pipeline.rounds):
            groups[pipeline.batch_key].append(pipeline)
        for group in groups.values():
            for start in range(0, len(group), self.size):
                self._record(group[start : start + self.size])

    def _record(self, batch: list[TestedPipeline]) -> None:
        """Run a batch; bisect one that fails, until the failing pipeline is left to run alone."""
        self.runs.append(len(batch))
        try:
            self.recordings.update(record_batch(batch, self.runner))
        except Exception:
            log.exception("a batch of %d pipelines failed", len(batch))
            middle = len(batch) // 2
            for half in filter(None, (batch[:middle], batch[middle:]) if middle else ()):
                self._record(half)

    def run(
        self, pipeline_id: PipelineId, graph: Graph, options: PipelineOptions
    ) -> PipelineResult:
        """Collect a pipeline and run it on the local runner, or replay it, or run it alone."""
        if self.dry_run:
            return self._collect(TestedPipeline(pipeline_id, graph, options))
        if pipeline_id in self.recordings:
            return self.recordings.pop(pipeline_id).replay(graph)
        self.runs.append(1)
        return self.runner.run(graph, options)

    def _collect(self, pipeline: TestedPipeline) -> PipelineResult:
        result = local.run(pipeline.graph, pipeline.options)
        if pipeline.can_be_batched:
            self.pipelines.append(pipeline)
        return result


def runner_of(item: pytest.Item) -> str | None:
    """Return the runner that the fixture `runner` gives to a test; None without the fixture."""
    mark = item.get_closest_marker("on_runner")
    return str(mark.args[0]) if mark else None


def is_batched(item: pytest.Item) -> bool:
    """Return whether the pipelines of a test run on Spark together with the pipelines of other tests."""
    alone = os.environ.get(DRY_RUN) == "off" or item.get_closest_marker("alone")
    return runner_of(item) == "spark" and not alone


BATCHES = pytest.StashKey[Batches]()
"""The batches of a pytest session."""


@attrs.define
class BatchingRunner:
    """The runner that a test sees."""

    batches: Batches
    test: str
    ships_functions: bool = True
    _numbers: count[int] = attrs.field(factory=count, init=False)

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        return self.batches.run(PipelineId(self.test, next(self._numbers)), graph, options)


def record_batch(
    pipelines: Iterable[TestedPipeline], runner: Runner
) -> dict[PipelineId, Recording]:
    """Run pipelines with the same batch key as one."""
    named = {str(n): pipeline for n, pipeline in enumerate(pipelines)}
    graphs = {name: pipeline.graph for name, pipeline in named.items()}
    if any(pipeline.has_clock for pipeline in named.values()):
        graphs = _with_shared_clock(graphs)
    graphs = {name: map_nodes(graph, Write, _with_recorder) for name, graph in graphs.items()}
    options = next(iter(named.values())).options
    result = runner.run(merge_graphs(graphs), options)
    result.wait_until_finish()  # splittable DoFns can be unbounded, but end
    if result.state == PipelineState.CANCELLED:
        raise KeyboardInterrupt  # the runner handled it, and cancelled the run
    metrics = result.metrics()
    return {
        pipeline.id: Recording(
            name,
            tuple(node.label for node in pipeline.graph),
            {
                n.label: n.sink.received
                for n in graphs[name]
                if isinstance(n, Write) and isinstance(n.sink, (Recorder, PartRecorder))
            },
            MetricResults(
                select_graph(metrics.containers, name), select_graph(metrics.steps, name)
            ),
            pipeline.times,
        )
        for name, pipeline in named.items()
    }


def _with_recorder(node: Write) -> Write:
    return attrs.evolve(node, sink=recorder_for(node.sink))


def _with_shared_clock(graphs: dict[str, Graph]) -> dict[str, Graph]:
    """Let all test streams of the graphs share a clock, which stops where any of theirs stops."""
    streams = {
        prefixed_label(name, node.label): node.source
        for name, graph in graphs.items()
        for node in graph
        if isinstance(node, Read) and isinstance(node.source, TestStream)
    }
    new = dict(zip(streams, aligned(list(streams.values())), strict=True))
    return {
        name: map_nodes(
            graph,
            Read,
            lambda n, name=name: attrs.evolve(
                n, source=new.get(prefixed_label(name, n.label), n.source)
            ),
        )
        for name, graph in graphs.items()
    }
