"""Which pipelines run together, and the runner that tests see in place of Spark's."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import count
from typing import Any, NamedTuple

import attrs

from headrace.runners import local
from headrace.runners.planning import plan
from headrace.sdk.graph import Graph, Read, Write
from headrace.sdk.io.source import BoundedSource
from headrace.sdk.io.test_stream import TestStream
from headrace.sdk.metrics import MetricResults
from headrace.sdk.options import PipelineOptions
from headrace.sdk.result import PipelineResult, PipelineState
from headrace.sdk.runner_lookup import Runner
from headrace.sdk.testing.alignment import aligned, steps
from tests.batching.merge_scripts import label, merged, part, replaced
from tests.batching.recording import Recording, recorder_for

log = logging.getLogger(__name__)

ALL_THE_SAME = ("runner", "allow_unsafe_triggers")
"""Options that say nothing about a run."""


class Name(NamedTuple):
    """The name of a pipeline: its test, and its number there."""

    test: str
    number: int


@attrs.frozen
class Case:
    """A pipeline of a test."""

    name: Name
    graph: Graph
    options: PipelineOptions

    @property
    def sources(self) -> list[Any]:
        return [node.source for node in self.graph if isinstance(node, Read)]

    @property
    def scripts(self) -> list[TestStream]:
        return [source for source in self.sources if isinstance(source, TestStream)]

    @property
    def clock(self) -> tuple[int, ...]:
        """The steps of the clock."""
        return next(filter(None, (steps(script.events) for script in self.scripts)), ())

    @property
    def can_be_packed(self) -> bool:
        """Whether it ends, and has no other source beside a clock."""
        ends = all(isinstance(source, (BoundedSource, TestStream)) for source in self.sources)
        return ends and (not self.clock or len(self.sources) == 1)

    @property
    def kind(self) -> Hashable:
        """What pipelines that can run together have in common."""
        said = self.options.get_all_options(drop_default=True, retain_unknown_options=True)
        told = sorted((n, repr(v)) for n, v in said.items() if n not in ALL_THE_SAME)
        return bool(self.scripts), self.depth, self.clock, tuple(told)

    @property
    def depth(self) -> int:
        """How many shuffles lie behind each other; a round costs as much as the deepest pipeline."""
        return max(1, len(plan(self.graph).levels) - 1)

    @property
    def rounds(self) -> int:
        """How long the scripts are."""
        return max((len(script.events) for script in self.scripts), default=0)


@attrs.define
class Packs:
    """All pipelines of all tests that run on another runner, a few at a time.

    Attributes:
        runner: where they run in the end.
        size: at most so many run together.
        rehearsing: whether pipelines are only noted, and run on the local runner.
        cases: what was noted.
        recordings: what came out; who has none runs alone.
        runs: how many pipelines each run held.
    """

    runner: Runner
    size: int = 150
    rehearsing: bool = False
    cases: list[Case] = attrs.field(factory=list)
    recordings: dict[Name, Recording] = attrs.field(factory=dict)
    runs: list[int] = attrs.field(factory=list)

    def record(self) -> None:
        """Run all that was noted, short scripts together and long ones together."""
        kinds = defaultdict(list)
        for case in sorted(self.cases, key=lambda case: case.rounds):
            kinds[case.kind].append(case)
        for alike in kinds.values():
            for start in range(0, len(alike), self.size):
                self._record(alike[start : start + self.size])

    def _record(self, cases: list[Case]) -> None:
        """Run pipelines together; if that fails, look for the one to blame, which will run alone."""
        self.runs.append(len(cases))
        try:
            self.recordings.update(recorded(cases, self.runner))
        except Exception:
            log.exception("a pack of %d pipelines failed", len(cases))
            middle = len(cases) // 2
            for half in filter(None, (cases[:middle], cases[middle:]) if middle else ()):
                self._record(half)

    def run(self, name: Name, graph: Graph, options: PipelineOptions) -> PipelineResult:
        """Note a pipeline and run it on the local runner, or replay it, or run it alone."""
        case = Case(name, graph, options)
        if self.rehearsing:
            result = local.run(graph, options)
            if case.can_be_packed:
                self.cases.append(case)
            return result
        if name in self.recordings:
            return self.recordings.pop(name).replay(graph)
        self.runs.append(1)
        return self.runner.run(graph, options)


@attrs.define
class PackingRunner:
    """The runner that a test sees."""

    packs: Packs
    test: str
    ships_functions: bool = True
    _numbers: count[int] = attrs.field(factory=count, init=False)

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        return self.packs.run(Name(self.test, next(self._numbers)), graph, options)


def recorded(cases: Iterable[Case], runner: Runner) -> dict[Name, Recording]:
    """Run pipelines of a kind as one."""
    named = {str(n): case for n, case in enumerate(cases)}
    graphs = _on_one_clock({name: case.graph for name, case in named.items()})
    graphs = {name: replaced(graph, Write, _with_recorder) for name, graph in graphs.items()}
    options = next(iter(named.values())).options
    result = runner.run(merged(graphs), options)
    if result.state == PipelineState.CANCELLED:
        raise KeyboardInterrupt  # which the run has taken for itself
    metrics = result.metrics()
    return {
        case.name: Recording(
            name,
            tuple(node.label for node in case.graph),
            {n.label: n.sink.given for n in graphs[name] if isinstance(n, Write)},
            MetricResults(part(metrics.containers, name), part(metrics.steps, name)),
        )
        for name, case in named.items()
    }


def _with_recorder(node: Write) -> Write:
    return attrs.evolve(node, sink=recorder_for(node.sink))


def _on_one_clock(graphs: dict[str, Graph]) -> dict[str, Graph]:
    """Let all scripts of the graphs share one clock, if they have any steps of it."""
    scripts = {
        label(name, node.label): node.source
        for name, graph in graphs.items()
        for node in graph
        if isinstance(node, Read) and isinstance(node.source, TestStream)
    }
    if not any(steps(script.events) for script in scripts.values()):
        return graphs
    new = dict(zip(scripts, aligned(list(scripts.values())), strict=True))
    return {
        name: replaced(
            graph, Read, lambda n, name=name: attrs.evolve(n, source=new[label(name, n.label)])
        )
        for name, graph in graphs.items()
    }
