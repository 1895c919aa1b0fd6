"""Strategies for chains of groupings and for whole pipelines, each with its input."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs import Run, inherited, inheriting, is_big, is_odd
from headrace.sdk.testing.steps import KINDS, Beside, Kind, Step
from headrace.sdk.testing.strategies.arriving import REACH, Scale, scripts
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

_MOSTLY_RETRACTING = (AccumulationMode.RETRACTING, AccumulationMode.RETRACTING, *AccumulationMode)


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
    return Run(script, tuple(chain))


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
    modes = [step.windowing.accumulation_mode for step in before]
    changing = retractions or AccumulationMode.RETRACTING in modes
    assigns = draw(st.booleans())
    if assigns:
        # Panes of the global window are at the end of time, which calendar windows do not support.
        dated = isinstance(inherited_windowing.window_fn, CalendarWindows)
        others = st.one_of(aligned(), merging(), *([calendars()] if dated else []))
        where = attrs.evolve(draw(others), scale=scale)
        least = max(step.windowing.allowed_lateness for step in before) if changing else 0
        windowing = draw(windowings(where, least_lateness=least, safe=safe))
    else:
        windowing = inheriting(inherited_windowing)
    kind = draw(_kinds(windowing, KINDS, changing))
    return Step(windowing, kind, assigns, one_key=draw(st.booleans()))


@st.composite
def pipelines(
    draw: st.DrawFn,
    windows: st.SearchStrategy[Where] | None = None,
    modes: Sequence[AccumulationMode] = tuple(AccumulationMode),
    safe: bool = True,
) -> Run:
    """Draw whole pipelines: one to three groupings, filters, and a flattened or joined collection.

    The other collection comes from a second source, or from a branch that groups the same elements in another
    way.

    A drawn pipeline is a :class:`Run`; a failing test shows it as a program that can be pasted and run.

    Args:
        draw: given by Hypothesis.
        windows: the window functions of the first grouping; None for all.
        modes: its accumulation modes.
        safe: whether to omit triggers that lose data.

    >>> from hypothesis import find
    >>> run = find(pipelines(), lambda run: run.has_other and len(run.steps) > 1)
    >>> any(step.beside for step in run.steps)
    True
    """
    where = draw(wheres() if windows is None else windows)
    run = draw(runs(draw(st.integers(1, 3)), st.just(where), modes, to_infinity=True, safe=safe))
    run = attrs.evolve(run, steps=tuple(draw(filtered(step)) for step in run.steps))
    beside: Beside | None = draw(st.sampled_from((None, None, "flatten", "join")))
    if beside is None:
        return run
    n_th = draw(st.sampled_from([n for n, step in enumerate(run.steps) if step.assigns]))
    branch = draw(st.just(()) | _branches(run.steps[n_th], where.scale, safe))
    other = () if branch else draw(scripts(where.scale, to_infinity=True))
    return Run(run.script, _with_beside(run.steps, n_th, beside, branch), other)


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
    chain = draw(_chains(draw(st.integers(1, 2)), where, _MOSTLY_RETRACTING, safe=safe))
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


def retracts(step: Step) -> bool:
    """Return whether a grouping is in RETRACTING mode."""
    return step.windowing.accumulation_mode is AccumulationMode.RETRACTING
