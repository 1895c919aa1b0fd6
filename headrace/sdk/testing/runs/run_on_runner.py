"""Runs many runs side by side in one pipeline, on any runner.

This is for runners on which each pipeline is expensive. The clock of a script ticks (see
:func:`~headrace.sdk.testing.streams.script.ticking`), so that all scripts share one clock, and the
processing time of a pane identifies its event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import attrs

from headrace.sdk.elements.row import Row
from headrace.sdk.pipelines.pvalue import PDone
from headrace.sdk.pipelines.runner_lookup import Runner
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create, Read
from headrace.sdk.testing.assertions.capturing import Capture, Captured
from headrace.sdk.testing.runs.run import Run, StepCaptures, build, ordered, unchecked_pipeline
from headrace.sdk.testing.runs.steps import side_name
from headrace.sdk.testing.streams.alignment import aligned
from headrace.sdk.testing.streams.script import (
    event_at,
    rows_of,
    stamped,
    stamped_row,
    stream,
    ticking,
)
from headrace.sdk.testing.streams.table_stream import TableValues
from headrace.windowing.window import BoundedWindow

RunnerOrName: TypeAlias = str | Runner
"""A runner, or its name."""


@attrs.frozen
class Pane:
    """An output of a grouping: one value of one key, in one window.

    Attributes:
        key: the key.
        window: the window.
        value: the value, with lists sorted, because their order is not defined.
        diff: +1 for a value, -1 for a retraction.
        timestamp: its event time, in microseconds.
        timing: "EARLY", "ON_TIME" or "LATE".
        index: the number of the pane in its window.
        nonspeculative: its number among the panes that are not early; -1 for an early pane.
        first: whether it is marked as the first pane.
        last: whether it is marked as the last pane.
        event: number of the script event that caused it; -1 if unknown.
    """

    key: Any
    window: BoundedWindow
    value: Any
    diff: int
    timestamp: int
    timing: str
    index: int
    nonspeculative: int
    first: bool
    last: bool
    event: int


@attrs.frozen
class GroupingInput:
    """An input of a grouping: a value of a key, in its windows, with times as in a Pane."""

    key: Any
    value: Any
    timestamp: int
    diff: int
    windows: tuple[BoundedWindow, ...]


@attrs.frozen
class SideObservation:
    """Observations of a step with a side input, before its grouping.

    Attributes:
        before: the elements to which the side input is added.
        side: the elements of the side input.
        dropped: number of elements that were dropped, because they were late.
        side_dropped: number of elements of the side input that were dropped.
    """

    before: list[GroupingInput]
    side: list[GroupingInput]
    dropped: int
    side_dropped: int


@attrs.frozen
class Observation:
    """The inputs and outputs of a grouping, with the numbers of their events.

    Attributes:
        panes: all panes in order.
        inputs: all input elements with their windows; captured only if watched.
        late: the dropped elements, each with the window from which it was dropped; captured only if watched,
            and only for groupings of new windows.
        dropped: number of dropped elements, after each event, or at the end.
        watermarks: output watermarks, after each event, or at the end.
        side: what was observed of a side input; captured only if watched.
        repeats: the inputs and outputs of each splittable DoFn before the grouping; captured only if watched.
    """

    panes: list[Pane] = attrs.field(factory=list)
    inputs: list[tuple[int, GroupingInput]] = attrs.field(factory=list)
    late: list[tuple[int, GroupingInput]] = attrs.field(factory=list)
    dropped: list[int] = attrs.field(factory=list)
    watermarks: list[int] = attrs.field(factory=list)
    side: SideObservation | None = None
    repeats: list[tuple[list[GroupingInput], list[GroupingInput]]] = attrs.field(factory=list)


UNKNOWN_EVENT = -1
"""The number of an unknown event."""

EventOf: TypeAlias = Callable[[Captured], int]
"""Returns the event in which an element was emitted."""


def pane(row: Captured, event: int) -> Pane:
    """Return a captured element as a pane."""
    key, value = row.value
    info = row.pane
    return Pane(
        key=key,
        window=row.window,
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


def input_of(row: Captured) -> GroupingInput:
    """Return a captured element as an input."""
    key, value = row.value
    return GroupingInput(key, ordered(value), row.timestamp.micros, row.diff, row.windows)


def observation(tap: StepCaptures, counted: Any, event_of: EventOf) -> Observation:
    """Return the observation of a grouping in a whole run.

    Args:
        tap: the captures of the step.
        counted: the metrics of the step.
        event_of: returns the event of a captured element.
    """
    panes = [pane(row, event_of(row)) for row in tap.panes.elements]
    inputs, late = (
        [(event_of(row), input_of(row)) for row in rows(at)] for at in (tap.inputs, tap.late)
    )
    repeats = [([*map(input_of, rows(a))], [*map(input_of, rows(b))]) for a, b in tap.repeats]
    dropped, watermarks = [counted.late_dropped], [counted.watermark]
    return Observation(panes, inputs, late, dropped, watermarks, repeats=repeats)


def side_observation(tap: StepCaptures, steps: Any, called: str) -> SideObservation | None:
    """Return what was observed of the side input of a step, if it was captured.

    Args:
        tap: the captures of the step.
        steps: the metrics of all steps.
        called: the label of the transform with the side input.
    """
    if tap.side is None:
        return None
    before, side = ([input_of(row) for row in rows(at)] for at in (tap.before, tap.side))
    grouped = steps[f"{called}/Side0/GroupByKey"].late_dropped
    return SideObservation(before, side, steps[called].late_dropped, grouped)


def rows(captured: Capture | None) -> Sequence[Captured]:
    """Return the captured elements, if there is a capture."""
    return captured.elements if captured else ()


def event_by_clock(row: Captured) -> int:
    """Return the event of a ticking script in which an element was emitted."""
    return event_at(row.now.micros)


def unknown_event(row: Captured) -> int:
    """Return the number of an unknown event."""
    return UNKNOWN_EVENT


class _RunTransform(PTransform[Any, Any]):
    """A run as a part of a larger pipeline: sources, groupings and captures."""

    def __init__(self, run: Run, sources: Sequence[PTransform[Any, Any]], watched: bool) -> None:
        super().__init__()
        self.taps: list[StepCaptures] = []
        self.run = run
        self._sources = sources
        self._watched = watched

    def expand(self, pcoll: Any) -> PDone:
        names = ("elements", "others")
        read = [pcoll | name >> s for name, s in zip(names, self._sources, strict=False)]
        self.taps = build(read[0], self.run, self._watched, *read[1:])
        return PDone(pcoll.pipeline)


def run_streaming(
    runs: Sequence[Run], runner: RunnerOrName, watched: bool = False
) -> list[list[Observation]]:
    """Run runs side by side as streams; return the observations of each run's groupings.

    Args:
        runs: their scripts have no retractions. A clock step takes one second, like every event.
        runner: the runner.
        watched: whether to capture inputs and late elements; the engine then handles each element, and cannot
            use optimisations.
    """
    ticks = max((len(script) for run in runs for script in run.scripts), default=0)
    ticked = [stream(ticking(script, ticks), run.columns) for run in runs for script in run.scripts]
    streams = iter(aligned(ticked) if ticked else ())
    parts = [_RunTransform(run, [next(streams) for _ in run.scripts], watched) for run in runs]
    return _run_all(parts, runner, event_by_clock)


def run_alone(run: Run, runner: RunnerOrName) -> list[Observation]:
    """Run one run with its own clock; events are not known."""
    sources = [stream(script, run.columns) for script in run.scripts]
    (observed,) = _run_all([_RunTransform(run, sources, watched=False)], runner, unknown_event)
    return observed


def run_batch(
    runs: Sequence[Run], runner: RunnerOrName, watched: bool = False
) -> list[list[Observation]]:
    """Run runs side by side as batches of all their elements; return the observations of their groupings."""
    parts = [
        _RunTransform(run, [in_memory(rows_of(s), run.columns) for s in run.scripts], watched)
        for run in runs
    ]
    return _run_all(parts, runner, unknown_event)


def in_memory(rows: Sequence[Any], columns: bool = False) -> PTransform[Any, Any]:
    """Return a bounded source of the rows of a script.

    Args:
        rows: the rows.
        columns: whether its elements reach the first steps as columns.
    """
    if not columns:
        return Create(list(map(stamped, rows)))
    return Read(TableValues(tuple(map(stamped_row, rows)))).with_output_types(Row)


def _run_all(
    parts: Iterable[_RunTransform], runner: RunnerOrName, event_of: EventOf
) -> list[list[Observation]]:
    named = {f"run {n}": part for n, part in enumerate(parts)}
    with unchecked_pipeline(runner) as p:
        for name, part in named.items():
            _ = p | name >> part
        steps = p.run().metrics().steps
    return [
        [
            attrs.evolve(
                observation(tap, steps[f"{name}/{tap.label}"], event_of),
                side=side_observation(tap, steps, f"{name}/{side_name(n, step)}"),
            )
            for n, (tap, step) in enumerate(zip(part.taps, part.run.groupings, strict=True))
        ]
        for name, part in named.items()
    ]
