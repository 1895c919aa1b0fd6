"""Strategies for chains of groupings and for whole pipelines, each with its input."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.run import Run, inherited, is_big, is_odd
from headrace.sdk.testing.runs.steps import (
    KINDS,
    Beside,
    Kind,
    Step,
    output_windowing,
    retracts,
)
from headrace.sdk.testing.strategies.arriving import REACH, Scale, scripts
from headrace.sdk.testing.strategies.repeating import with_pauses
from headrace.sdk.testing.strategies.windowing import (
    Where,
    aligned,
    calendars,
    merging,
    wheres,
    windowings,
)
from headrace.triggers.composite_triggers import Repeatedly
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.calendar import CalendarWindows
from headrace.windowing.time.units import SECOND
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import GlobalWindows

MOSTLY_RETRACTING = (AccumulationMode.RETRACTING, AccumulationMode.RETRACTING, *AccumulationMode)
"""Accumulation modes; one is drawn more often."""


@st.composite
def runs(
    draw: st.DrawFn,
    steps: int = 1,
    windows: st.SearchStrategy[Where] | None = None,
    modes: Sequence[AccumulationMode] = tuple(AccumulationMode),
    kinds: Sequence[Kind] = KINDS,
    retractions: bool = False,
    to_infinity: bool | None = None,
    safe: bool = True,
    lateness: int | None = None,
) -> Run:
    """Draw scripts with a chain of groupings; ``modes`` and ``kinds`` apply to the first grouping.

    Args:
        draw: given by Hypothesis.
        steps: number of groupings.
        windows: the window functions of the first grouping; None for all.
        modes: its accumulation modes.
        kinds: its kinds of results.
        retractions: whether the script has retractions.
        to_infinity: whether the script ends at the end of time; None for random.
        safe: whether to omit triggers that lose data.
        lateness: how far an element may lie behind the watermark, in microseconds; None for some units.
    """
    where = draw(wheres() if windows is None else windows)
    chain = draw(_chains(steps, where, modes, kinds, retractions, safe))
    near = edges(chain[0], where.scale) if lateness is None else ()
    script = draw(scripts(where.scale, "ab", retractions, to_infinity, lateness, near))
    return Run(script, tuple(draw(stamped(step, where.scale)) for step in chain))


@st.composite
def _chains(
    draw: st.DrawFn,
    steps: int,
    where: Where,
    modes: Sequence[AccumulationMode] = tuple(AccumulationMode),
    kinds: Sequence[Kind] = KINDS,
    retractions: bool = False,
    safe: bool = True,
) -> list[Step]:
    """Draw a chain of N groupings."""
    windowing = draw(windowings(where, modes, safe=safe))
    chain = [Step(windowing, draw(_kinds(windowing, kinds, changing=retractions)))]
    for _ in range(steps - 1):
        chain.append(draw(_next_steps(chain, where.scale, retractions, safe)))
    return chain


def edges(step: Step, scale: Scale) -> tuple[int, ...]:
    """Return the distances behind the watermark at which elements become late, or join no live window."""
    lateness, reach = step.windowing.allowed_lateness, step.windowing.reach
    return (lateness, lateness + reach) if lateness <= 2 * REACH * scale.unit else ()


def _kinds(
    windowing: WindowingStrategy, kinds: Sequence[Kind], changing: bool
) -> st.SearchStrategy[Kind]:
    """Draw a kind of result; one that cannot subtract has no result for changes alone."""
    discards = windowing.accumulation_mode is AccumulationMode.DISCARDING
    return st.sampled_from([k for k in kinds if not (changing and discards and k == "largest")])


@st.composite
def _next_steps(
    draw: st.DrawFn, before: Sequence[Step], scale: Scale, retractions: bool, safe: bool
) -> Step:
    """Draw a grouping of the output of others, with at least the same lateness for late retractions."""
    inherited_windowing = before[-1].windowing
    changing = retractions or any(map(retracts, before))
    assigns = draw(st.booleans())
    if assigns:
        # Panes of the global window are at the end of time, which calendar windows do not support.
        dated = isinstance(inherited_windowing.window_fn, CalendarWindows)
        others = st.one_of(aligned(), merging(), *([calendars()] if dated else []))
        where = attrs.evolve(draw(others), scale=scale)
        least = max(step.windowing.allowed_lateness for step in before) if changing else 0
        windowing = draw(windowings(where, least_lateness=least, safe=safe))
    else:
        windowing = output_windowing(before[-1])
    kind = draw(_kinds(windowing, KINDS, changing))
    return Step(windowing, kind, assigns, one_key=draw(st.booleans()))


@st.composite
def pipelines(
    draw: st.DrawFn,
    windows: st.SearchStrategy[Where] | None = None,
    modes: Sequence[AccumulationMode] = tuple(AccumulationMode),
    safe: bool = True,
    stateful: bool = True,
    side_inputs: bool = True,
    splittable: bool = True,
) -> Run:
    """Draw whole pipelines: one to three groupings, filters, and a flattened or joined collection.

    Some groupings are done by a stateful DoFn (:class:`StatefulSum`), and a splittable DoFn
    (:class:`Repeat`) precedes some. The other collection comes from a
    second source, or from a branch that groups the same elements in another way; it can also be a side input.

    A drawn pipeline is a :class:`Run`; a failing test shows it as a program that can be pasted and run.

    Args:
        draw: given by Hypothesis.
        windows: the window functions of the first grouping; None for all.
        modes: its accumulation modes.
        safe: whether to omit triggers that lose data.
        stateful: whether to draw stateful DoFns.
        side_inputs: whether to draw side inputs.
        splittable: whether to draw splittable DoFns.

    >>> from hypothesis import find
    >>> run = find(pipelines(), lambda run: len(run.steps) > 1)
    >>> len(run.steps), run.has_other
    (2, False)
    """
    where = draw(wheres() if windows is None else windows)
    run = draw(runs(draw(st.integers(1, 3)), st.just(where), modes, to_infinity=True, safe=safe))
    run = attrs.evolve(run, steps=tuple(draw(filtered(step)) for step in run.steps))
    if stateful:
        run = attrs.evolve(run, steps=draw(with_state(run.steps, [False, False, False, True])))
    kinds: tuple[Beside | None, ...] = (None, None, "flatten", "join", "side")
    beside = draw(st.sampled_from(kinds if side_inputs else kinds[:-1]))
    if beside is not None:
        run = draw(_beside(run, beside, where, safe))
    return draw(with_pauses(run, [False, False, False, True])) if splittable else run


@st.composite
def _beside(draw: st.DrawFn, run: Run, beside: Beside, where: Where, safe: bool) -> Run:
    """Draw another collection for a step of a run, and the step."""
    n_th = draw(st.sampled_from([n for n, step in enumerate(run.steps) if step.assigns]))
    branch = draw(st.just(()) | _branches(run.steps[n_th], where.scale, safe))
    other = () if branch else draw(scripts(where.scale, to_infinity=True))
    if beside == "side":
        return Run(run.script, draw(with_side_input(run.steps, n_th, branch)), other)
    return Run(run.script, _with_beside(run.steps, n_th, beside, branch), other)


@st.composite
def with_state(draw: st.DrawFn, steps: Sequence[Step], choices: Sequence[bool]) -> tuple[Step, ...]:
    """Draw which groupings of a chain are done by a stateful DoFn; ``choices`` has the probabilities."""
    drawn = [draw(st.sampled_from(choices)) for _ in steps]
    pairs = zip(steps, drawn, strict=True)
    return inherited(_in_state(s) if chosen and not merges(s) else s for s, chosen in pairs)


def _in_state(step: Step) -> Step:
    """Return a step that is done by a stateful DoFn, without what such a DoFn ignores."""
    window_fn, lateness = step.windowing.window_fn, step.windowing.allowed_lateness
    windowing = WindowingStrategy(window_fn, allowed_lateness=lateness)
    return attrs.evolve(step, kind="state", windowing=windowing)


@st.composite
def with_side_input(
    draw: st.DrawFn, steps: Sequence[Step], n_th: int, branch: tuple[Step, ...] = ()
) -> tuple[Step, ...]:
    """Draw the windows of a side input of a step: the step's windows, or others.

    If elements of the main input can be retracted, the branch must not retract (see ``AsList``).
    """
    found = [*steps]
    own = steps[n_th].windowing.window_fn
    others: st.SearchStrategy[WindowFn | None] = aligned().map(lambda where: where.window_fn)
    if own == GlobalWindows():
        others = st.none()
    elif not own.is_merging():
        others = st.none() | others
    if any(map(retracts, steps[:n_th])):
        branch = inherited(map(_without_retractions, branch))
    found[n_th] = attrs.evolve(found[n_th], beside="side", branch=branch, side_windows=draw(others))
    return tuple(found)


def _without_retractions(step: Step) -> Step:
    if not retracts(step):
        return step
    windowing = attrs.evolve(step.windowing, accumulation_mode=AccumulationMode.ACCUMULATING)
    return attrs.evolve(step, windowing=windowing)


def stamped(step: Step, scale: Scale) -> st.SearchStrategy[Step]:
    """Draw how much later the elements of a step get behind its windows; most keep their timestamps."""
    units = st.sampled_from([0, 0, 0, 0, 0, 1, 2, 5])
    return units.map(lambda later: attrs.evolve(step, later=later * scale.unit // SECOND))


def filtered(step: Step) -> st.SearchStrategy[Step]:
    """Draw a filter for the input of a step."""
    return st.sampled_from([None, None, is_odd, is_big]).map(
        lambda only: attrs.evolve(step, only=only)
    )


@st.composite
def _branches(draw: st.DrawFn, into: Step, scale: Scale, safe: bool) -> tuple[Step, ...]:
    """Draw a branch of one or two groupings from the source to a step."""
    # Panes of the global window are at the end of time, which calendar windows do not support.
    dated = isinstance(into.windowing.window_fn, CalendarWindows)
    where = attrs.evolve(
        draw(calendars() if dated else st.one_of(aligned(), merging())), scale=scale
    )
    chain = draw(_chains(draw(st.integers(1, 2)), where, MOSTLY_RETRACTING, safe=safe))
    return tuple(draw(filtered(step)) for step in chain)


def _with_beside(
    steps: Sequence[Step], n_th: int, beside: Beside, branch: tuple[Step, ...]
) -> tuple[Step, ...]:
    """Add another collection to the input of a step, and make the following steps accept its retractions."""
    found = [*steps]
    found[n_th] = attrs.evolve(found[n_th], beside=beside, branch=branch)
    if any(map(retracts, branch)):
        least = max(step.windowing.allowed_lateness for step in branch)
        for n in range(n_th, len(found)):
            found[n] = _accepting_retractions(found[n], least)
            least = found[n].windowing.allowed_lateness
    return inherited(found)


def _accepting_retractions(step: Step, least: int) -> Step:
    """Return a step that accepts retractions with a lateness."""
    lateness = max(step.windowing.allowed_lateness, least)
    windowing = repeated(attrs.evolve(step.windowing, allowed_lateness=lateness), step.windowing)
    discards = windowing.accumulation_mode is AccumulationMode.DISCARDING
    kind = "sum" if discards and step.kind == "largest" else step.kind
    return attrs.evolve(step, windowing=windowing, kind=kind)


def repeated(windowing: WindowingStrategy, before: WindowingStrategy) -> WindowingStrategy:
    """Return a strategy whose trigger loses no data, unless the original trigger did."""
    trigger = windowing.trigger
    if trigger.may_finish(windowing) and not trigger.may_finish(before):
        trigger = Repeatedly(trigger)
    return attrs.evolve(windowing, trigger=trigger)


def merges(step: Step) -> bool:
    """Return whether the windows of a step merge."""
    return step.windowing.window_fn.is_merging()
