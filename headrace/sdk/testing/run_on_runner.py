"""Runs, played on a runner through the public surface: many side by side in one pipeline.

A runner for which a pipeline is dear is asked once for many runs. Their scripts tick (see
:func:`~headrace.sdk.testing.script.ticking`), so that all share one clock, and the processing time at which
a pane comes out tells the event that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import attrs

from headrace.sdk.pvalue import PDone
from headrace.sdk.reading import Create
from headrace.sdk.runner_lookup import Runner
from headrace.sdk.testing.alignment import aligned
from headrace.sdk.testing.capturing import Capture, Captured
from headrace.sdk.testing.runs import Run, Taps, anything_goes, build, label, ordered
from headrace.sdk.testing.script import event_at, rows_of, stamped, stream, ticking
from headrace.sdk.transform import PTransform
from headrace.windowing.window import BoundedWindow

OneOf: TypeAlias = str | Runner
"""A runner: its name, or an object."""


@attrs.frozen
class Pane:
    """What came out of a grouping: one value of one key, in one window.

    Attributes:
        key: the key.
        window: the window.
        value: the value, with lists in order, as their order means nothing.
        diff: +1 for a value, -1 for a retraction.
        timestamp: its event time, in microseconds.
        timing: "EARLY", "ON_TIME" or "LATE".
        index: the number of the pane in its window.
        nonspeculative: its number among those that are not early; -1 if it is.
        first: whether it says that it is the first.
        last: whether it says that it is the last.
        event: the number of the event of the script that it came out in; -1 if nobody knows.
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
class Input:
    """What went into a grouping: a value of a key, in its windows; times as those of a Pane."""

    key: Any
    value: Any
    timestamp: int
    diff: int
    windows: tuple[BoundedWindow, ...]


@attrs.frozen
class Observation:
    """What went into a grouping and what came out, with the number of the event.

    Attributes:
        panes: all panes in order.
        inputs: all elements that came in, in their windows; seen only if watched.
        late: the elements that were dropped, each in the window that it was dropped from; seen only
            if watched, and asked of groupings of new windows.
        dropped: how many elements were dropped, after each event, or in the end.
        watermarks: how far the output was complete, after each event, or in the end.
    """

    panes: list[Pane] = attrs.field(factory=list)
    inputs: list[tuple[int, Input]] = attrs.field(factory=list)
    late: list[tuple[int, Input]] = attrs.field(factory=list)
    dropped: list[int] = attrs.field(factory=list)
    watermarks: list[int] = attrs.field(factory=list)


UNKNOWN = -1
"""The number of an event that nobody knows."""

When: TypeAlias = Callable[[Captured], int]
"""Tells the event in which an element came out."""


def pane(row: Captured, event: int) -> Pane:
    """Return what was captured of a pane."""
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


def taken_in(row: Captured) -> Input:
    """Return what was captured in front of a grouping."""
    key, value = row.value
    return Input(key, ordered(value), row.timestamp.micros, row.diff, row.windows)


def told(tap: Taps, counted: Any, when: When) -> Observation:
    """Return what was heard of a grouping in a whole run.

    Args:
        tap: where it was listened to.
        counted: its metrics.
        when: tells events.
    """
    panes = [pane(row, when(row)) for row in tap.panes.elements]
    inputs, late = (
        [(when(row), taken_in(row)) for row in rows(at)] for at in (tap.inputs, tap.late)
    )
    return Observation(panes, inputs, late, [counted.late_dropped], [counted.watermark])


def rows(captured: Capture | None) -> Sequence[Captured]:
    """Return what was captured, if anything was listened to."""
    return captured.elements if captured else ()


def by_clock(row: Captured) -> int:
    """Return the event of a ticking script in which an element came out."""
    return event_at(row.now.micros)


def unknown(row: Captured) -> int:
    """Return that nobody knows."""
    return UNKNOWN


class _Part(PTransform[Any, Any]):
    """A run as a part of a larger pipeline: sources, groupings, and where they are listened to."""

    def __init__(self, run: Run, sources: Sequence[PTransform[Any, Any]], watched: bool) -> None:
        super().__init__()
        self.taps: list[Taps] = []
        self._run = run
        self._sources = sources
        self._watched = watched

    def expand(self, pcoll: Any) -> PDone:
        names = ("elements", "others")
        read = [pcoll | name >> s for name, s in zip(names, self._sources, strict=False)]
        self.taps = build(read[0], self._run, self._watched, *read[1:])
        return PDone(pcoll.pipeline)


def play(runs: Sequence[Run], runner: OneOf, watched: bool = False) -> list[list[Observation]]:
    """Play runs side by side, as a stream; return for each what its groupings heard and said.

    Args:
        runs: their scripts hold no retractions. A step of the clock is a second, as every event.
        runner: the runner.
        watched: whether inputs and late elements are seen too; the engine then has to look at every
            element, where otherwise it may take short cuts.
    """
    ticks = max((len(script) for run in runs for script in run.scripts), default=0)
    ticked = [stream(ticking(script, ticks)) for run in runs for script in run.scripts]
    streams = iter(aligned(ticked) if ticked else ())
    parts = [_Part(run, [next(streams) for _ in run.scripts], watched) for run in runs]
    return _played(parts, runner, by_clock)


def perform(run: Run, runner: OneOf) -> list[Observation]:
    """Play one run with its own clock; nobody knows the events."""
    (heard,) = _played([_Part(run, list(map(stream, run.scripts)), watched=False)], runner, unknown)
    return heard


def play_batch(
    runs: Sequence[Run], runner: OneOf, watched: bool = False
) -> list[list[Observation]]:
    """Play runs side by side over all their elements at once; return what their groupings said."""
    parts = [
        _Part(run, [Create(list(map(stamped, rows_of(s)))) for s in run.scripts], watched)
        for run in runs
    ]
    return _played(parts, runner, unknown)


def _played(parts: Iterable[_Part], runner: OneOf, when: When) -> list[list[Observation]]:
    named = {f"run {n}": part for n, part in enumerate(parts)}
    with anything_goes(runner) as p:
        for name, part in named.items():
            _ = p | name >> part
        steps = p.run().metrics().steps
    return [
        [
            told(tap, steps[f"{name}/{label(n, part._run.groupings[n])}"], when)
            for n, tap in enumerate(part.taps)
        ]
        for name, part in named.items()
    ]
