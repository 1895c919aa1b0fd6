"""Groupings in a row, and whole pipelines, each with what arrives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from headrace.sdk.testing.answers import shrinks
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs import (
    KINDS,
    Beside,
    Kind,
    Run,
    Step,
    inherited,
    inheriting,
    is_big,
    is_odd,
)
from headrace.sdk.testing.script import SECOND, Event, punctual
from headrace.sdk.testing.strategies.arriving import HOUR, Scale, scripts
from headrace.sdk.testing.strategies.windowing import (
    Where,
    aligned,
    calendars,
    merging,
    wheres,
    windowings,
)
from headrace.triggers.clock_triggers import AfterProcessingTime
from headrace.triggers.composite_triggers import AfterAll, Repeatedly
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.watermark_triggers import AfterWatermark
from headrace.windowing.calendar import CalendarWindows
from headrace.windowing.sessions import Sessions
from headrace.windowing.time import MAX_MICROS
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.windows import FixedWindows

SLOW = (
    Repeatedly(AfterCount(5)),
    Repeatedly(AfterProcessingTime(15)),
    Repeatedly(AfterAll(AfterWatermark(), AfterCount(3))),
)
"""Triggers by which panes wait beyond the end of their window."""

FOREVER = 10_000 * HOUR
"""So late nothing is."""

EAGER = (
    Repeatedly(AfterCount(1)),
    Repeatedly(AfterCount(2)),
    AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
    AfterWatermark(early=AfterProcessingTime(1), late=AfterCount(1)),
)
"""Triggers by which sessions have often fired by the time that they become one."""


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
    """Draw scripts with groupings in a row; ``modes`` and ``kinds`` are those of the first.

    Args:
        draw: given by Hypothesis.
        steps: how many groupings.
        windows: the window functions of the first grouping; all, if None.
        modes: its accumulation modes.
        kinds: what it may make.
        retractions: whether the script holds retractions.
        to_infinity: whether the script ends at the end of time; None for either.
        safe: whether triggers that lose data are left out.
        lateness: how far an element may lie behind the watermark, in microseconds; None for some units.
    """
    where = draw(wheres() if windows is None else windows)
    windowing = draw(windowings(where, modes, safe=safe))
    chain = [Step(windowing, draw(_kinds(windowing, kinds, changing=retractions)))]
    for _ in range(steps - 1):
        chain.append(draw(_next_steps(chain, where.scale, retractions, safe)))
    script = draw(
        scripts(
            where.scale, "ab", retractions=retractions, to_infinity=to_infinity, lateness=lateness
        )
    )
    return Run(script, tuple(chain))


def _kinds(
    windowing: WindowingStrategy, kinds: Sequence[Kind], changing: bool
) -> st.SearchStrategy[Kind]:
    """Draw a kind; what cannot subtract cannot say what a change alone comes to."""
    discards = windowing.accumulation_mode is AccumulationMode.DISCARDING
    return st.sampled_from([k for k in kinds if not (changing and discards and k == "largest")])


@st.composite
def _next_steps(
    draw: st.DrawFn, before: Sequence[Step], scale: Scale, retractions: bool, safe: bool
) -> Step:
    """Draw a grouping of what others say; it waits for late retractions as long as these do."""
    said = before[-1].windowing
    modes = [step.windowing.accumulation_mode for step in before]
    changing = retractions or AccumulationMode.RETRACTING in modes
    assigns = draw(st.booleans())
    if assigns:
        # The panes of a global window lie at the end of time, too far for a calendar.
        dated = isinstance(said.window_fn, CalendarWindows)
        others = st.one_of(aligned(), merging(), *([calendars()] if dated else []))
        where = attrs.evolve(draw(others), scale=scale)
        least = max(step.windowing.allowed_lateness for step in before) if changing else 0
        windowing = draw(windowings(where, least_lateness=least, safe=safe))
    else:
        windowing = inheriting(said)
    kind = draw(_kinds(windowing, KINDS, changing))
    return Step(windowing, kind, assigns, one_key=draw(st.booleans()))


@st.composite
def pipelines(
    draw: st.DrawFn,
    windows: st.SearchStrategy[Where] | None = None,
    modes: Sequence[AccumulationMode] = tuple(AccumulationMode),
    safe: bool = True,
) -> Run:
    """Draw whole pipelines: one to three groupings, filters, a second source that is flattened or joined.

    A drawn pipeline is a :class:`Run`; a test that fails shows it as a program that can be pasted and run.

    Args:
        draw: given by Hypothesis.
        windows: the window functions of the first grouping; all, if None.
        modes: its accumulation modes.
        safe: whether triggers that lose data are left out.

    >>> from hypothesis import find
    >>> run = find(pipelines(), lambda run: run.has_other and len(run.steps) > 1)
    >>> any(step.beside for step in run.steps)
    True
    """
    where = draw(wheres() if windows is None else windows)
    run = draw(runs(draw(st.integers(1, 3)), st.just(where), modes, to_infinity=True, safe=safe))
    beside: Beside | None = draw(st.sampled_from((None, None, "flatten", "join")))
    steps = [
        _filtered(step, draw(st.sampled_from([None, None, is_odd, is_big]))) for step in run.steps
    ]
    if beside is not None:
        place = draw(st.sampled_from([n for n, step in enumerate(steps) if step.assigns]))
        steps[place] = attrs.evolve(steps[place], beside=beside)
    other = draw(scripts(where.scale, to_infinity=True)) if beside else ()
    return Run(run.script, tuple(steps), other)


def _filtered(step: Step, only: Any) -> Step:
    return attrs.evolve(step, only=only)


# Runs for certain laws


@st.composite
def reunions(draw: st.DrawFn, retractions: bool = False, to_infinity: bool | None = None) -> Run:
    """Draw runs of one key whose sessions have often fired by the time that they become one."""
    where = Where(Sessions(draw(st.integers(2, 5))))
    windowing = draw(windowings(where, [AccumulationMode.RETRACTING], least_lateness=12 * SECOND))
    windowing = attrs.evolve(windowing, trigger=draw(st.sampled_from(EAGER)))
    script = draw(scripts(keys="a", retractions=retractions, to_infinity=to_infinity))
    return Run(script, (Step(windowing, draw(st.sampled_from(KINDS))),))


@st.composite
def counting(draw: st.DrawFn) -> Run:
    """Draw runs of one key that list what came whenever so many have come, most of them in sessions."""
    merges = draw(st.sampled_from([False, True, True, True]))
    where = Where(Sessions(draw(st.integers(3, 6)))) if merges else draw(aligned())
    trigger = Repeatedly(AfterCount(draw(st.sampled_from([1, 3, 3, 4, 5]))))
    windowing = WindowingStrategy(where.window_fn, trigger, allowed_lateness=FOREVER)
    one_by_one = st.lists(st.integers(0, 20), min_size=5, max_size=10, unique=True).map(_one_by_one)
    in_bursts = scripts(keys="a", to_infinity=True)
    script = draw(draw(st.sampled_from([in_bursts, one_by_one, one_by_one])))
    return Run(script, (Step(windowing, "list"),))


def _one_by_one(seconds: Sequence[int]) -> tuple[Event, ...]:
    """Let elements arrive one after the other, and then the end of time."""
    rows = [("a", n % 10, second * SECOND, 1) for n, second in enumerate(seconds)]
    return (*(("elements", (row,)) for row in rows), ("watermark", MAX_MICROS))


def reaching_through(steps: int = 2) -> st.SearchStrategy[Run]:
    """Draw runs of so many steps at the most in which retractions reach through to the end.

    Their end result depends on nothing but what came (see :func:`order_free`).
    """
    lengths = st.integers(1, steps)
    retracting = lengths.flatmap(
        lambda n: runs(n, modes=[AccumulationMode.RETRACTING], to_infinity=True)
    )
    return retracting.map(_waiting_for_all).filter(order_free)


def _waiting_for_all(run: Run) -> Run:
    return attrs.evolve(run, steps=inherited(map(_waits_for_all, run.steps)))


def _waits_for_all(step: Step) -> Step:
    windowing = attrs.evolve(
        step.windowing,
        allowed_lateness=FOREVER,
        timestamp_combiner=TimestampCombiner.OUTPUT_AT_EOW,
    )
    if windowing.trigger.may_finish(windowing):
        windowing = attrs.evolve(windowing, trigger=Repeatedly(windowing.trigger))
    return attrs.evolve(step, windowing=windowing)


def order_free(run: Run) -> bool:
    """Tell whether the end result of a run depends on nothing but what came.

    Nothing is dropped. The first grouping retracts, and so does each that another stands behind, which
    would count accumulating panes twice. Panes lie at the ends of their windows, as other timestamps tell
    of the order of arrival. The groupings behind the first have no sessions of their own: a session that
    a pane has joined to another stays one when that pane is retracted.
    """
    first, *others = run.steps
    return (
        all(map(_retracts, (first, *run.steps[:-1])))
        and all(step.beside != "join" and _loses_nothing(step.windowing) for step in run.steps)
        and not any(step.assigns and step.windowing.window_fn.is_merging() for step in others)
    )


def _retracts(step: Step) -> bool:
    return step.windowing.accumulation_mode is AccumulationMode.RETRACTING


def _loses_nothing(windowing: WindowingStrategy) -> bool:
    waits = windowing.allowed_lateness >= FOREVER and not windowing.trigger.may_finish(windowing)
    return waits and windowing.timestamp_combiner is TimestampCombiner.OUTPUT_AT_EOW


@st.composite
def in_time(draw: st.DrawFn) -> Run:
    """Draw runs in which no element is late, and in which nothing may be dropped, however long panes wait.

    Of groupings that do not retract, as what one says is not taken back late either; and without empty
    panes, which wait for nobody.
    """
    modes = [AccumulationMode.DISCARDING, AccumulationMode.ACCUMULATING]
    run = draw(runs(draw(st.integers(2, 3)), modes=modes, to_infinity=True, lateness=0))
    return attrs.evolve(run, steps=tuple(map(_quiet, run.steps)))


@st.composite
def waiting(draw: st.DrawFn) -> Run:
    """Draw runs as :func:`in_time` does, with panes that wait beyond the end of their small window."""
    small = st.one_of(
        st.builds(FixedWindows, st.integers(1, 5)), st.builds(Sessions, st.integers(1, 4))
    )
    first = WindowingStrategy(
        draw(small), draw(st.sampled_from(SLOW)), allowed_lateness=12 * SECOND
    )
    kinds = st.sampled_from(KINDS)
    steps = Step(first, draw(kinds)), Step(WindowingStrategy(draw(small)), draw(kinds))
    return Run(draw(scripts(to_infinity=True, lateness=0)), tuple(map(_quiet, steps)))


def _quiet(step: Step) -> Step:
    windowing = attrs.evolve(
        step.windowing,
        on_time=OnTimeBehavior.FIRE_IF_NON_EMPTY,
        closing=ClosingBehavior.FIRE_IF_NON_EMPTY,
    )
    return attrs.evolve(step, windowing=windowing)


def keeps_time(run: Run) -> bool:
    """Tell whether nothing may be dropped in a run, as in those of :func:`in_time`."""
    *others, _ = run.steps
    return (
        run.plain
        and punctual(run.script) == run.script
        and not any(map(shrinks, run.steps))
        and not any(s.windowing.trigger.may_finish(s.windowing) for s in run.steps)
        and all(s == _quiet(s) for s in others)
        and not any(s.windowing.accumulation_mode is AccumulationMode.RETRACTING for s in others)
    )


def _merged() -> st.SearchStrategy[Run]:
    return reunions(to_infinity=True)


KINDS_OF_RUNS: Final[dict[str, Callable[[], st.SearchStrategy[Run]]]] = {
    "pipelines": pipelines,
    "retracting": lambda: runs(2, modes=[AccumulationMode.RETRACTING], to_infinity=True),
    "merged": _merged,
    "merged, never late": lambda: _merged().map(_waiting_for_all),
    "counting": counting,
    "reaching through": reaching_through,
    "in time": in_time,
    "waiting": waiting,
}
"""What a runner is tried on: whole pipelines, and runs that certain laws see."""

OFTEN: Final = ("pipelines", "counting")
"""Kinds that are drawn twice as often as others."""


def of_all_kinds() -> st.SearchStrategy[Run]:
    """Draw runs of all kinds."""
    names = sorted([*KINDS_OF_RUNS, *OFTEN], key=[*KINDS_OF_RUNS].index)
    return st.one_of(*(KINDS_OF_RUNS[name]() for name in names))
