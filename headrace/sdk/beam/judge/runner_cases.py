"""Random pipelines that Beam's Python can express and whose results its model defines.

Left out are the cases that the documents of Beam do not decide: elements at the very watermark at which their
window expires, sessions that merge behind the watermark, and triggers that may lose data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from random import Random
from typing import Final

import attrs

from headrace.sdk.beam.judge.beam_pipelines import GROUPINGS
from headrace.sdk.beam.judge.in_beam import is_in_beam
from headrace.sdk.testing.conformance.check_runner import AT_LEAST, drawn
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.steps import Kind, Step
from headrace.sdk.testing.strategies.arriving import SECONDS, Scale, scripts
from headrace.sdk.testing.streams.script import (
    Script,
    ScriptEvent,
    ScriptRow,
    ended,
    retracts,
    rows_of,
)
from headrace.triggers.clock_triggers import AfterProcessingTime
from headrace.triggers.composite_triggers import (
    AfterAll,
    AfterAny,
    AfterEach,
    OrFinally,
    Repeatedly,
)
from headrace.triggers.data_triggers import AfterCount, Always
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import AfterWatermark, DefaultTrigger
from headrace.windowing.sessions import Sessions
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.time.units import SECOND
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

BEAM_MODES: Final = (AccumulationMode.DISCARDING, AccumulationMode.ACCUMULATING)

BEAM_TRIGGERS: Final = (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    DefaultTrigger,
    OrFinally,
    Repeatedly,
)
"""The triggers that are public in Beam's Python."""

AMPLE: Final = 10_000 * SECOND
"""An allowed lateness that no element of a script exceeds."""

ALLOWED: Final = (12 * SECOND, 3 * SECOND, AMPLE, 0)

DRAWN: Final = 3
"""Number of runs that are drawn for each that is taken."""

MILLISECOND: Final = 1_000

AFTER_EPOCH: Final = Scale(100_000 * SECOND)
"""Scripts with triggers that read the clock start here: Beam's Python compares the clock with windows."""


@cache
def beam_triggers(timed: bool, depth: int = 2) -> st.SearchStrategy[Trigger]:
    """Draw triggers of Beam's.

    Args:
        timed: whether one may depend on processing time.
        depth: maximum nesting depth.
    """
    clock = [st.builds(AfterProcessingTime, st.integers(0, 15))] * timed
    leaves = st.one_of(
        st.builds(AfterCount, st.integers(1, 4)),
        st.just(AfterWatermark()),
        st.sampled_from([DefaultTrigger(), Always()]),
        *clock,
    )
    if not depth:
        return leaves
    part = beam_triggers(timed, depth - 1)
    maybe = st.none() | part
    return st.one_of(
        leaves,
        st.builds(AfterWatermark, early=maybe, late=maybe),
        st.builds(Repeatedly, part),
        st.builds(AfterAny, part, part),
        st.builds(AfterAll, part, part),
        st.builds(AfterEach, part, part),
        st.builds(OrFinally, part, leaves),
    )


@cache
def _beam_window_fns() -> st.SearchStrategy[WindowFn]:
    """Draw window functions; fixed windows most often, in which elements can be late."""
    sizes, offsets = st.integers(1, 20), st.integers(0, 5)
    fixed = st.builds(FixedWindows, sizes, st.just(0) | offsets)
    return st.one_of(
        fixed,
        fixed,
        st.builds(SlidingWindows, sizes, st.integers(4, 12), st.just(0) | offsets),
        st.builds(Sessions, st.integers(1, 10)),
        st.just(GlobalWindows()),
    )


@st.composite
def beam_windowings(
    draw: st.DrawFn, timed: bool = False, latenesses: tuple[int, ...] = ALLOWED
) -> WindowingStrategy:
    """Draw windowing strategies that Beam's Python can express, with triggers that lose no data."""
    lateness = draw(st.sampled_from(latenesses))
    windowing = WindowingStrategy(
        window_fn=draw(_beam_window_fns()),
        trigger=draw(st.just(DefaultTrigger()) | beam_triggers(timed)),
        accumulation_mode=draw(st.sampled_from(BEAM_MODES)),
        allowed_lateness=lateness,
        timestamp_combiner=draw(
            st.sampled_from([*TimestampCombiner, TimestampCombiner.OUTPUT_AT_EOW])
        ),
    )
    return _lossless(windowing)


def _lossless(windowing: WindowingStrategy) -> WindowingStrategy:
    if not windowing.trigger.may_finish(windowing):
        return windowing
    return attrs.evolve(windowing, trigger=Repeatedly(windowing.trigger))


@st.composite
def beam_runs(draw: st.DrawFn) -> Run:
    """Draw runs of one or two groupings that Beam's Python can express."""
    timed = draw(st.sampled_from([False, False, False, True]))
    kinds: st.SearchStrategy[Kind] = st.sampled_from(["list", "list", "sum", "largest"])
    first = Step(draw(beam_windowings(timed)), draw(kinds))
    late = (5 * SECOND, min(first.windowing.allowed_lateness, 12 * SECOND))
    script = draw(scripts(AFTER_EPOCH if timed else SECONDS, edges=late))
    second = draw(st.sampled_from([False, False, True]))
    steps = [first]
    if second:
        after = draw(beam_windowings(timed, (AMPLE,)))
        steps.append(Step(after, draw(kinds), one_key=draw(st.booleans())))
    return for_beam(Run(script, tuple(steps)))


# Runs that are defined


def is_expressible(run: Run) -> bool:
    """Return whether a run can be written in Beam's Python, and loses no data."""
    return (
        run.plain and not run.has_other and not retracts(run.script) and all(map(_has, run.steps))
    )


def _has(step: Step) -> bool:
    windowing = step.windowing
    return (
        step.kind in GROUPINGS
        and step.assigns
        and not step.later
        and not step.pauses
        and is_in_beam(windowing.window_fn)
        and windowing.accumulation_mode in BEAM_MODES
        and windowing.on_time is OnTimeBehavior.FIRE_ALWAYS
        and windowing.closing is ClosingBehavior.FIRE_IF_NON_EMPTY
        and _is_in_beam(windowing.trigger)
        and not windowing.trigger.may_finish(windowing)
    )


def _is_in_beam(trigger: Trigger) -> bool:
    return type(trigger) in BEAM_TRIGGERS and all(map(_is_in_beam, trigger.children))


def is_timed(trigger: Trigger) -> bool:
    """Return whether a trigger depends on processing time."""
    return isinstance(trigger, AfterProcessingTime) or any(map(is_timed, trigger.children))


def for_beam(run: Run) -> Run:
    """Return a run with a script that ends, in milliseconds, without elements whose treatment is open.

    If a trigger reads the clock, the clock advances before the end, so that no timer is left.
    """
    *before, end = ended(in_milliseconds(run.script))
    if any(is_timed(step.windowing.trigger) for step in run.steps):
        now = max((what for kind, what in before if kind == "clock"), default=0)
        before = [e for e in before if e != ("clock", now)] + [("clock", max(now, 1_000 * SECOND))]
    windowing = run.steps[0].windowing
    is_open = _may_merge if windowing.window_fn.is_merging() else _is_at_expiry
    script = without((*before, end), partial(is_open, windowing=windowing))
    return attrs.evolve(run, script=script)


def in_milliseconds(script: Script) -> tuple[ScriptEvent, ...]:
    """Return a script with milliseconds in place of odd microseconds."""
    return tuple(
        (
            kind,
            tuple((key, value, _coarse(at), diff) for key, value, at, diff in what)
            if kind == "elements"
            else _coarse(what),
        )
        for kind, what in script
    )


def _coarse(micros: int) -> int:
    """Return a time with a millisecond in place of an odd microsecond."""
    if micros == MAX_MICROS:
        return micros
    whole = round(micros / SECOND) * SECOND
    apart = micros - whole
    return micros if apart % MILLISECOND == 0 else whole + apart * MILLISECOND


def without(script: Script, is_open: Callable[[ScriptRow, int], bool]) -> tuple[ScriptEvent, ...]:
    """Return a script without some elements.

    Args:
        script: the script.
        is_open: whether an element is left out, given the watermark at which it arrives.
    """
    watermark, left = MIN_MICROS, []
    for kind, what in script:
        watermark = what if kind == "watermark" else watermark
        if kind == "elements":
            what = tuple(row for row in what if not is_open(row, watermark))
        if what != ():
            left.append((kind, what))
    return tuple(left)


def _is_at_expiry(row: ScriptRow, watermark: int, windowing: WindowingStrategy) -> bool:
    windows = windows_of(row, windowing)
    return not windows or any(w[1] + windowing.allowed_lateness == watermark for w in windows)


def _may_merge(row: ScriptRow, watermark: int, windowing: WindowingStrategy) -> bool:
    return row[2] < watermark


def windows_of(row: ScriptRow, windowing: WindowingStrategy) -> tuple[BoundedWindow, ...]:
    """Return the windows of a row."""
    key, value, timestamp, _ = row
    column = windowing.window_fn.assign_column([(key, value)], [timestamp])
    return tuple(next(iter(column)))


def simpler(run: Run) -> Iterator[Run]:
    """Yield runs whose times and windows are easier to read, if they differ."""
    seconds = tuple(_rounded(event) for event in run.script)
    if seconds != run.script:
        yield attrs.evolve(run, script=seconds)
    for n, step in enumerate(run.steps):
        for plain in (GlobalWindows(), FixedWindows(10)):
            if step.windowing.window_fn not in (GlobalWindows(), FixedWindows(10)):
                windowing = attrs.evolve(step.windowing, window_fn=plain)
                less = attrs.evolve(step, windowing=windowing)
                yield attrs.evolve(run, steps=(*run.steps[:n], less, *run.steps[n + 1 :]))


def _rounded(event: ScriptEvent) -> ScriptEvent:
    """Return an event whose times are whole seconds."""
    kind, what = event
    if kind == "elements":
        return kind, tuple((key, value, _whole(at), diff) for key, value, at, diff in what)
    return kind, _whole(what)


def _whole(micros: int) -> int:
    return micros if micros == MAX_MICROS else round(micros / SECOND) * SECOND


def drawn_runs(cases: int, random_seed: int) -> list[Run]:
    """Draw runs, always the same for a seed; more are drawn than needed, as Hypothesis repeats itself."""
    ahead = max(DRAWN * cases, AT_LEAST)
    runs = [run for run in drawn(beam_runs(), ahead, random_seed) if rows_of(run.script)]
    Random(random_seed).shuffle(runs)
    return runs[:cases]
