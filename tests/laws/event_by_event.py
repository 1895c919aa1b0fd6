"""Runs scripts through the executor event by event, and through the oracle.

This shows in which event a pane was emitted, and the output watermark after each event. It works with a
script that advances processing time, and with retractions in the input, which no test stream has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, zip_longest
from typing import Any

import attrs

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.engine.executor import Executor
from headrace.runners.engine.operators import operators_of
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_steps import ON_COLUMNS, with_tables
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.pipelines.graph import MAIN, Collection, Graph, Read
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.sources.reading import ValuesSource
from headrace.sdk.testing.assertions.capturing import Capture, Captured
from headrace.sdk.testing.runs.batch_oracle import Part, source_watermarks
from headrace.sdk.testing.runs.run import Run, StepCaptures, adapted, build, unchecked_pipeline
from headrace.sdk.testing.runs.run_on_runner import (
    Observation,
    in_memory,
    input_of,
    pane,
    run_batch,
)
from headrace.sdk.testing.runs.steps import LAST_VALUES, Step, holds_lists
from headrace.sdk.testing.streams.script import (
    END_OF_DATES,
    ScriptEvent,
    ScriptRow,
    event_at,
    retracts,
    stamped_row,
    ticking,
)
from headrace.sdk.testing.streams.table_stream import as_table
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from tests.laws.oracle import contents, translate
from tests.laws.oracle.replay import GroupingResult, Stage, replay
from tests.laws.oracle.window_history import Element, Pane

CONTENTS = {
    "sum": contents.Sum(),
    "list": contents.Bag(),
    "largest": contents.Largest(),
    "spread": contents.Spread(),
    "count": contents.Count(),
    "mean": contents.Mean(),
    "max": contents.Max(),
    "several": contents.Several(),
    "distinct": contents.Distinct(),
    "last": contents.Last(LAST_VALUES),
    "earliest": contents.ByTime(-1),
    "latest": contents.ByTime(1),
}


class Changes(hr.PTransform):
    """A source whose elements may be retractions; the test feeds it."""

    def expand(self, pcoll: Any) -> PCollection[Any]:
        pipeline = pcoll.pipeline
        output = Collection(pipeline.scope, MAIN, WindowingStrategy(), bounded=True, changing=True)
        pipeline.add(Read(pipeline.scope, (), (output,), ValuesSource(())))
        return PCollection(pipeline, output)


# In the executor, event by event


class EventRunner:
    """A run in the executor, event by event.

    Attributes:
        heard: the observations of each grouping so far.
    """

    def __init__(self, run: Run, watched: bool = False) -> None:
        self._graph, self._taps = graph_of(run, watched)
        self.heard = [Observation() for _ in self._taps]
        planned = with_tables(plan(self._graph), Execution.STREAMING)
        self._tables = planned.works_on.get(next(iter(self._graph)).label) == ON_COLUMNS
        self._executor = Executor(self._graph.nodes, operators_of(planned, batch=False))
        self._executor.open()
        self._time = Time(columns=run.columns)

    def play(self, event: ScriptEvent) -> None:
        """Process an event."""
        read, arrivals = next(iter(self._graph)), self._time.advance(event)
        if arrivals is not None:
            self._executor.feed(read, as_table(arrivals) if self._tables else arrivals)
        self._executor.end_round({read.label: self._time.watermark}, self._time.now)
        observe(self.heard, self._taps, self._time.event, self._executor.metrics())


@attrs.define
class Time:
    """The time in a script.

    Attributes:
        event: the number of the event; -1 before the first.
        watermark: in microseconds.
        now: processing time, in microseconds.
        columns: whether the elements are rows with named fields.
    """

    event: int = -1
    watermark: int = MIN_MICROS
    now: int = 0
    columns: bool = False

    def advance(self, event: ScriptEvent) -> Bundle | None:
        """Advance to an event; return its elements."""
        kind, what = event
        self.event += 1
        if kind == "watermark":
            self.watermark = what
        elif kind == "clock":
            self.now = what
        return bundle(what, self.columns) if kind == "elements" else None


def graph_of(run: Run, watched: bool) -> tuple[Graph, list[StepCaptures]]:
    """The graph of a run whose source is fed by the test, and its taps."""
    with unchecked_pipeline() as p:
        source = p | (Changes() if retracts(run.script) else in_memory((), run.columns))
        taps = build(source, run, watched)
    return p.graph, taps


def run_events(run: Run, watched: bool = False) -> list[Observation]:
    """Run a script event by event.

    Args:
        run: the script may contain retractions.
        watched: whether inputs and late elements are captured too; the engine then has to look at every
            element, where otherwise it may take shortcuts.
    """
    runner = EventRunner(run, watched)
    for event in run.script:
        runner.play(event)
    return runner.heard


def bundle(rows: Sequence[ScriptRow], columns: bool = False) -> Bundle:
    if columns:
        return as_bundle(list(map(stamped_row, rows)))
    keys, values, timestamps, diffs = map(list, zip(*rows, strict=True))
    return Bundle(list(zip(keys, values, strict=True)), timestamps, diffs=diffs)


def observe(
    heard: list[Observation], taps: list[StepCaptures], event: int, counted: MetricResults
) -> None:
    """Record the output of an event, and the metrics so far."""
    for observation, tap in zip(heard, taps, strict=True):
        observation.panes.extend(pane(row, event) for row in _new(tap.panes))
        observation.inputs.extend((event, input_of(row)) for row in _new(tap.inputs))
        observation.late.extend((event, input_of(row)) for row in _new(tap.late))
        observation.dropped.append(counted.steps[tap.label].late_dropped)
        observation.watermarks.append(counted.steps[tap.label].watermark)


def _new(tap: Capture | None) -> list[Captured]:
    """The elements captured since the last call."""
    found, elements = [], tap.elements if tap else []
    found, elements[:] = elements.copy(), []
    return found


def parts(run: Run) -> list[Part]:
    """Run a script, and return what each of its groupings did."""
    found: list[Part] = []
    complete = source_watermarks(run.script)
    for step, heard in zip(run.steps, run_events(run, watched=True), strict=True):
        changing = any(e.diff < 0 for _, e in heard.inputs)
        found.append(Part(step, heard, complete, changing, ended=complete[-1] == MAX_MICROS))
        complete = [MIN_MICROS, *heard.watermarks]
    return found


def run_batch_of(rows: Sequence[ScriptRow], steps: Sequence[Step]) -> list[Observation]:
    """Run groupings over all rows at once, in batch mode on the local runner."""
    (heard,) = run_batch([Run((("elements", tuple(rows)),), tuple(steps))], "local")
    return heard


# By the oracle


def oracle_results(run: Run) -> list[GroupingResult]:
    """The oracle's results of a run."""
    script = [
        (kind, [Element(*row) for row in what] if kind == "elements" else what)
        for kind, what in run.script
    ]
    return replay(script, stages(run))


def oracle_panes(run: Run) -> list[list[Pane]]:
    """The oracle's panes of a run, with events numbered by the clock as the kit does."""
    script = ticking(run.script)
    clock = list(accumulate((what if kind == "clock" else 0 for kind, what in script), max))
    return [
        [attrs.evolve(pane, event=event_at(clock[pane.event])) for pane in played.panes]
        for played in oracle_results(attrs.evolve(run, script=script))
    ]


def stages(run: Run) -> list[Stage]:
    """The groupings of a run as stages of the oracle."""
    found, changing = [], retracts(run.script)
    for step, behind in zip_longest(run.steps, run.steps[1:]):
        found.append(
            stage(step, changing, windows_inherited=behind is not None and not behind.assigns)
        )
        changing = output_can_retract(step, changing)
    return found


def output_can_retract(step: Step, changing: bool) -> bool:
    """Whether the output of a step may contain retractions, as the plan infers.

    Args:
        step: the step.
        changing: whether its input may.
    """
    mode = step.windowing.accumulation_mode
    emits_retracted_values = mode is AccumulationMode.DISCARDING and step.kind == "list"
    return mode is AccumulationMode.RETRACTING or (changing and emits_retracted_values)


def stage(step: Step, changing: bool, windows_inherited: bool) -> Stage:
    """A step as a stage of the oracle.

    Args:
        step: the step.
        changing: whether its input may contain retractions.
        windows_inherited: whether the next step keeps its windows.
    """
    strategy = translate.strategy(step.windowing, lambda value: len(encode_value(value)))
    remap = partial(adapted, step.one_key, holds_lists(step))
    restamp = partial(later, step.later) if step.later else None
    return Stage(
        strategy,
        CONTENTS[step.kind],
        remap,
        step.assigns,
        changing,
        windows_inherited,
        restamp,
    )


def later(seconds: int, timestamp: int) -> int:
    """A timestamp that is some seconds later, unless it is near the end of time."""
    return timestamp + 1_000_000 * seconds if timestamp < END_OF_DATES else timestamp
