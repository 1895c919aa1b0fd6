"""Runs, played by the engine through the public surface, and told in the words of the oracle.

``play`` runs a pipeline on a runner and sees what comes out; ``follow`` drives the executor event
by event, so that it also knows in which event a pane came out and how far each output was complete then.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import attrs

import headrace as hr
from headrace.runners.executor import Executor
from headrace.runners.operators import operators_of
from headrace.runners.planning import plan
from headrace.sdk.encoding import encode_value
from headrace.sdk.graph import MAIN, Collection, Read
from headrace.sdk.pvalue import PCollection
from headrace.sdk.testing.capturing import Capture, Captured, capture
from headrace.sdk.testing.test_pipeline import TestPipeline
from headrace.sdk.testing.test_stream import TestStream
from headrace.triggers.bundle import Bundle
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time import MIN_MICROS
from tests.laws.strategies import Event, Row, Run, Step, weight
from tests.oracle import contents, translate
from tests.oracle.replay import Played, Stage, replay
from tests.oracle.story import Element, Pane

CONTENTS = {"sum": contents.Sum(), "list": contents.Bag(), "largest": contents.Largest()}

UNKNOWN = -1
"""The event of a pane whose runner does not tell."""


@attrs.frozen
class Heard:
    """What went into a grouping and what came out, with the number of the event.

    Attributes:
        panes: all panes in order.
        inputs: all elements that came in, in their windows; seen only if watched.
        late: the elements that were dropped, each in the window that it was dropped from; seen only
            if watched.
        dropped: how many elements were dropped.
        watermarks: how far the output was complete after each event, or after the last.
    """

    panes: list[Pane] = attrs.field(factory=list)
    inputs: list[tuple[int, Element]] = attrs.field(factory=list)
    late: list[tuple[int, Element]] = attrs.field(factory=list)
    dropped: list[int] = attrs.field(factory=list)
    watermarks: list[int] = attrs.field(factory=list)


# The pipeline of a run


class Largest(hr.CombineFn):
    """The largest number, 0 of none; what it has taken in cannot be taken out again."""

    def create_accumulator(self) -> int | None:
        return None

    def add_input(self, accumulator: int | None, element: int) -> int:
        return element if accumulator is None else max(accumulator, element)

    def merge_accumulators(self, accumulators: Any) -> int | None:
        return max((a for a in accumulators if a is not None), default=None)

    def extract_output(self, accumulator: int | None) -> int:
        return 0 if accumulator is None else accumulator


def ordered(value: Any) -> Any:
    """A value whose lists, and lists in lists, are in order, as their order means nothing."""
    return sorted(map(ordered, value), key=repr) if isinstance(value, list) else value


def adapted(step: Step, key: Any, value: Any) -> tuple[Any, Any]:
    """What a step groups in place of what comes to it."""
    return "all" if step.one_key else key, ordered(value) if step.kind == "list" else weight(value)


def grouping(step: Step) -> Any:
    """The grouping of a step."""
    if step.kind == "list":
        return hr.GroupByKey()
    return hr.CombinePerKey(sum if step.kind == "sum" else Largest())


class Changes(hr.PTransform):
    """A source whose elements may be retractions, fed by hand."""

    def expand(self, pcoll: Any) -> PCollection[Any]:
        pipeline = pcoll.pipeline
        output = Collection(pipeline.scope, MAIN, WindowingStrategy(), bounded=True, changing=True)
        pipeline.add(Read(pipeline.scope, (), (output,), None))
        return PCollection(pipeline, output)


@attrs.frozen
class Taps:
    """Where a step of a pipeline is listened to."""

    panes: Capture
    inputs: Capture | None
    late: Capture | None


def build(source: Any, steps: Sequence[Step], watched: bool) -> list[Taps]:
    """Put groupings in a row behind a collection, and listen."""
    taps = []
    for n, step in enumerate(steps):
        came = source | f"adapt {n}" >> hr.Map(lambda pair, step=step: adapted(step, *pair))
        if step.assigns:
            tag = "late" if watched else None
            into = hr.WindowInto(step.windowing, late_output_tag=tag)
            came = came | f"window {n}" >> into
        source = came | name(n) >> grouping(step)
        inputs = capture(came, f"inputs {n}") if watched else None
        late = capture(source.late, f"late {n}") if watched and step.assigns else None
        taps.append(Taps(capture(source, f"panes {n}"), inputs, late))
    return taps


def name(n: int) -> str:
    return f"grouping {n}"


@contextmanager
def anything_goes(runner: str | None = None) -> Iterator[Any]:
    """A pipeline in which triggers may lose data and panes may count double."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*holds accumulating panes")
        yield TestPipeline(runner, argv=["--allow_unsafe_triggers"])


# On any runner


def play(run: Run, runner: str) -> list[Heard]:
    """Run a pipeline on a runner; the script holds no retractions, and ends."""
    with anything_goes(runner) as p:
        taps = build(p | stream(run.script), run.steps, watched=False)
        result = p.run()
    return [told(tap, result.metrics().steps[name(n)]) for n, tap in enumerate(taps)]


def play_batch(rows: Sequence[Row], steps: Sequence[Step], runner: str) -> list[Heard]:
    """Run a pipeline over all rows at once."""
    with anything_goes(runner) as p:
        taps = build(p | hr.Create(list(map(stamped, rows))), steps, watched=False)
        result = p.run()
    return [told(tap, result.metrics().steps[name(n)]) for n, tap in enumerate(taps)]


def stream(script: Sequence[Event]) -> TestStream:
    """A script as a test stream."""
    said = TestStream()
    for kind, what in script:
        if kind == "elements":
            said = said.add_elements(map(stamped, what))
        elif kind == "watermark":
            said = said.advance_watermark_to(hr.Timestamp(micros=what))
        else:
            said = said.advance_processing_time_to(hr.Duration(micros=what))
    return said


def stamped(row: Row) -> hr.TimestampedValue:
    key, value, timestamp, diff = row
    assert diff == 1, "a pipeline begins with values"
    return hr.TimestampedValue((key, value), hr.Timestamp(micros=timestamp))


def told(tap: Taps, counted: Any) -> Heard:
    panes = [pane(row, UNKNOWN) for row in tap.panes.elements]
    return Heard(panes, dropped=[counted.late_dropped], watermarks=[counted.watermark])


# In the executor, event by event


def follow(run: Run, watched: bool = False) -> list[Heard]:
    """Play a run and note what happens in each event.

    Args:
        run: the script may hold retractions.
        watched: whether inputs and late elements are seen too; the engine then has to look at every
            element, where otherwise it may take short cuts.
    """
    with anything_goes() as p:
        changing = any(diff < 0 for rows in bursts(run.script) for *_, diff in rows)
        source = p | Changes() if changing else p | hr.Create([])
        taps = build(source, run.steps, watched)
    executor, heard = (
        Executor(p.graph.nodes, operators_of(plan(p.graph), batch=False)),
        [Heard() for _ in taps],
    )
    read, watermark, now = next(iter(p.graph)), MIN_MICROS, 0
    executor.open()
    for event, (kind, what) in enumerate(run.script):
        if kind == "elements":
            executor.feed(read, bundle(what))
        watermark = what if kind == "watermark" else watermark
        now = what if kind == "clock" else now
        executor.end_round({read.label: watermark}, now)
        counted = executor.metrics().steps
        for n, tap in enumerate(taps):
            listen(heard[n], tap, event, counted[name(n)])
    executor.release()
    return heard


def bursts(script: Sequence[Event]) -> list[Sequence[Row]]:
    """The rows that come together."""
    return [what for kind, what in script if kind == "elements"]


def bundle(rows: Sequence[Row]) -> Bundle:
    keys, values, timestamps, diffs = map(list, zip(*rows, strict=True))
    return Bundle(list(zip(keys, values, strict=True)), timestamps, diffs=diffs)


def listen(heard: Heard, tap: Taps, event: int, counted: Any) -> None:
    heard.panes.extend(pane(row, event) for row in _new(tap.panes))
    heard.inputs.extend((event, element(row)) for row in _new(tap.inputs))
    heard.late.extend((event, element(row)) for row in _new(tap.late))
    heard.dropped.append(counted.late_dropped)
    heard.watermarks.append(counted.watermark)


def _new(tap: Capture | None) -> list[Captured]:
    """What has been captured since the last time."""
    found, elements = [], tap.elements if tap else []
    found, elements[:] = elements.copy(), []
    return found


def pane(row: Captured, event: int) -> Pane:
    key, value = row.value
    info = row.pane
    return Pane(
        key=key,
        window=tuple(row.window[:2]),
        value=ordered(value),
        diff=row.diff,
        timestamp=row.timestamp.micros,
        timing=info.timing.name,
        index=info.index,
        nonspeculative=info.nonspeculative_index,
        first=info.is_first,
        last=info.is_last,
        event=event,
    )


def element(row: Captured) -> Element:
    key, value = row.value
    windows = tuple(tuple(window[:2]) for window in row.windows)
    return Element(key, ordered(value), row.timestamp.micros, row.diff, windows)


# By the oracle


def foretell(run: Run) -> list[Played]:
    """What the oracle says of a run."""
    script = [
        (kind, [Element(*row) for row in what] if kind == "elements" else what)
        for kind, what in run.script
    ]
    return replay(script, list(map(stage, run.steps)))


def stage(step: Step) -> Stage:
    """A step in the words of the oracle."""
    strategy = translate.strategy(step.windowing, lambda value: len(encode_value(value)))
    return Stage(strategy, CONTENTS[step.kind], partial(adapted, step), step.assigns)
