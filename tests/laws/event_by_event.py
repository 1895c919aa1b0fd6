"""Runs, driven through the executor event by event, and told in the words of the oracle.

So it is known in which event a pane came out, and how far each output was complete then, also where a clock
stands still, and where the input holds retractions, which no test stream does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, zip_longest
from typing import Any

import attrs

import headrace as hr
from headrace.runners.executor import Executor
from headrace.runners.operators import operators_of
from headrace.runners.planning import plan
from headrace.sdk.encoding import encode_value
from headrace.sdk.graph import MAIN, Collection, Graph, Read
from headrace.sdk.metrics import MetricResults
from headrace.sdk.pvalue import PCollection
from headrace.sdk.testing.batch_oracle import Part, source_watermarks
from headrace.sdk.testing.capturing import Capture, Captured
from headrace.sdk.testing.run_on_runner import Observation, pane, play_batch, taken_in
from headrace.sdk.testing.runs import (
    Run,
    Step,
    Taps,
    adapted,
    anything_goes,
    build,
    holds_lists,
    name,
)
from headrace.sdk.testing.script import Event, Row, event_at, retracts, ticking
from headrace.triggers.bundle import Bundle
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time import MAX_MICROS, MIN_MICROS
from tests.oracle import contents, translate
from tests.oracle.replay import Played, Stage, replay
from tests.oracle.story import Element, Pane

CONTENTS = {"sum": contents.Sum(), "list": contents.Bag(), "largest": contents.Largest()}


class Changes(hr.PTransform):
    """A source whose elements may be retractions, fed by hand."""

    def expand(self, pcoll: Any) -> PCollection[Any]:
        pipeline = pcoll.pipeline
        output = Collection(pipeline.scope, MAIN, WindowingStrategy(), bounded=True, changing=True)
        pipeline.add(Read(pipeline.scope, (), (output,), None))
        return PCollection(pipeline, output)


# In the executor, event by event


class Following:
    """A run in the executor, event by event.

    Attributes:
        heard: what each grouping has heard and said until now.
    """

    def __init__(self, run: Run, watched: bool = False) -> None:
        self._graph, self._taps = graph_of(run, watched)
        self.heard = [Observation() for _ in self._taps]
        self._executor = Executor(self._graph.nodes, operators_of(plan(self._graph), batch=False))
        self._executor.open()
        self._time = Time()

    def play(self, event: Event) -> None:
        """Let an event happen."""
        read, brought = next(iter(self._graph)), self._time.pass_to(event)
        if brought is not None:
            self._executor.feed(read, brought)
        self._executor.end_round({read.label: self._time.watermark}, self._time.now)
        listen(self.heard, self._taps, self._time.event, self._executor.metrics())


@attrs.define
class Time:
    """What time it is in a script.

    Attributes:
        event: the number of the event; -1 before the first.
        watermark: in microseconds.
        now: processing time, in microseconds.
    """

    event: int = -1
    watermark: int = MIN_MICROS
    now: int = 0

    def pass_to(self, event: Event) -> Bundle | None:
        """Go on to an event; return the elements that it brings."""
        kind, what = event
        self.event += 1
        if kind == "watermark":
            self.watermark = what
        elif kind == "clock":
            self.now = what
        return bundle(what) if kind == "elements" else None


def graph_of(run: Run, watched: bool) -> tuple[Graph, list[Taps]]:
    """The graph of a run whose source is fed by hand, and where it is listened to."""
    with anything_goes() as p:
        source = p | Changes() if retracts(run.script) else p | hr.Create([])
        taps = build(source, run, watched)
    return p.graph, taps


def follow(run: Run, watched: bool = False) -> list[Observation]:
    """Play a run and note what happens in each event.

    Args:
        run: the script may hold retractions.
        watched: whether inputs and late elements are seen too; the engine then has to look at every
            element, where otherwise it may take short cuts.
    """
    following = Following(run, watched)
    for event in run.script:
        following.play(event)
    return following.heard


def bundle(rows: Sequence[Row]) -> Bundle:
    keys, values, timestamps, diffs = map(list, zip(*rows, strict=True))
    return Bundle(list(zip(keys, values, strict=True)), timestamps, diffs=diffs)


def listen(heard: list[Observation], taps: list[Taps], event: int, counted: MetricResults) -> None:
    """Note what has come out in an event, and what was counted until then."""
    for n, (told, tap) in enumerate(zip(heard, taps, strict=True)):
        told.panes.extend(pane(row, event) for row in _new(tap.panes))
        told.inputs.extend((event, taken_in(row)) for row in _new(tap.inputs))
        told.late.extend((event, taken_in(row)) for row in _new(tap.late))
        told.dropped.append(counted.steps[name(n)].late_dropped)
        told.watermarks.append(counted.steps[name(n)].watermark)


def _new(tap: Capture | None) -> list[Captured]:
    """What has been captured since the last time."""
    found, elements = [], tap.elements if tap else []
    found, elements[:] = elements.copy(), []
    return found


def parts(run: Run) -> list[Part]:
    """Play a run, and look at each of its groupings."""
    found: list[Part] = []
    complete = source_watermarks(run.script)
    for step, heard in zip(run.steps, follow(run, watched=True), strict=True):
        changing = any(e.diff < 0 for _, e in heard.inputs)
        found.append(Part(step, heard, complete, changing, ended=complete[-1] == MAX_MICROS))
        complete = [MIN_MICROS, *heard.watermarks]
    return found


def batch_of(rows: Sequence[Row], steps: Sequence[Step]) -> list[Observation]:
    """Run groupings over all rows at once, on the local runner."""
    (heard,) = play_batch([Run((("elements", tuple(rows)),), tuple(steps))], "local")
    return heard


# By the oracle


def foretell(run: Run) -> list[Played]:
    """What the oracle says of a run."""
    script = [
        (kind, [Element(*row) for row in what] if kind == "elements" else what)
        for kind, what in run.script
    ]
    return replay(script, stages(run))


def foretell_ticking(run: Run) -> list[list[Pane]]:
    """The panes that the oracle says of a run whose clock tells events, as the kit plays it."""
    script = ticking(run.script)
    clock = list(accumulate((what if kind == "clock" else 0 for kind, what in script), max))
    return [
        [attrs.evolve(pane, event=event_at(clock[pane.event])) for pane in played.panes]
        for played in foretell(attrs.evolve(run, script=script))
    ]


def stages(run: Run) -> list[Stage]:
    """The groupings of a run in the words of the oracle, with what the plan knows of them."""
    found, changing = [], retracts(run.script)
    for step, behind in zip_longest(run.steps, run.steps[1:]):
        found.append(stage(step, changing, inherited=behind is not None and not behind.assigns))
        changing = says_changes(step, changing)
    return found


def says_changes(step: Step, changing: bool) -> bool:
    """Whether what a step says may hold retractions, as a fact of the plan.

    Args:
        step: the step.
        changing: whether what comes to it may.
    """
    mode = step.windowing.accumulation_mode
    says_what_went = mode is AccumulationMode.DISCARDING and step.kind == "list"
    return mode is AccumulationMode.RETRACTING or (changing and says_what_went)


def stage(step: Step, changing: bool, inherited: bool) -> Stage:
    """A step in the words of the oracle.

    Args:
        step: the step.
        changing: whether its input may hold retractions.
        inherited: whether the step behind it keeps its windows.
    """
    strategy = translate.strategy(step.windowing, lambda value: len(encode_value(value)))
    remap = partial(adapted, step.one_key, holds_lists(step))
    return Stage(strategy, CONTENTS[step.kind], remap, step.assigns, changing, inherited)
