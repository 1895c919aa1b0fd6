"""Groupings in a row, and whole pipelines, each with what arrives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from headrace.sdk.testing.batch_oracle import shrinks
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
from headrace.sdk.testing.strategies.arriving import HOUR, REACH, Scale, scripts
from headrace.sdk.testing.strategies.windowing import (
    Where,
    aligned,
    calendars,
    growing,
    merging,
    wheres,
    windowings,
)
from headrace.triggers.clock_triggers import AfterProcessingTime
from headrace.triggers.composite_triggers import AfterAll, AfterAny, Repeatedly
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import AfterWatermark
from headrace.windowing.calendar import CalendarWindows
from headrace.windowing.sessions import Sessions
from headrace.windowing.time import MAX_MICROS
from headrace.windowing.windows import FixedWindows

SLOW = (
    Repeatedly(AfterCount(5)),
    Repeatedly(AfterProcessingTime(15)),
    Repeatedly(AfterAll(AfterWatermark(), AfterCount(3))),
)
"""Triggers by which panes wait beyond the end of their window."""

_MOSTLY_RETRACTING = (AccumulationMode.RETRACTING, AccumulationMode.RETRACTING, *AccumulationMode)

FOREVER = 10_000 * HOUR
"""So late nothing is."""

EAGER = (
    Repeatedly(AfterCount(1)),
    Repeatedly(AfterCount(2)),
    AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
    AfterWatermark(early=AfterProcessingTime(1), late=AfterCount(1)),
)
"""Triggers by which sessions have often fired by the time that they become one."""


CLOSING = (
    AfterCount(1),
    AfterCount(2),
    AfterWatermark(early=AfterCount(1)),
    AfterAny(AfterCount(2), AfterProcessingTime(1)),
)
"""Triggers after which a window is closed, and takes nothing more."""


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
    chain = draw(_chains(steps, where, modes, kinds, retractions, safe))
    edges = _edges(chain[0], where.scale) if lateness is None else ()
    script = draw(scripts(where.scale, "ab", retractions, to_infinity, lateness, edges))
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
    """Draw N groupings in a row."""
    windowing = draw(windowings(where, modes, safe=safe))
    chain = [Step(windowing, draw(_kinds(windowing, kinds, changing=retractions)))]
    for _ in range(steps - 1):
        chain.append(draw(_next_steps(chain, where.scale, retractions, safe)))
    return chain


def _edges(step: Step, scale: Scale) -> tuple[int, ...]:
    """Return how far behind the watermark elements are late, or reach no window that has expired."""
    lateness, reach = step.windowing.allowed_lateness, step.windowing.reach
    return (lateness, lateness + reach) if lateness <= 2 * REACH * scale.unit else ()


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
    """Draw whole pipelines: one to three groupings, filters, another collection that is flattened or joined.

    That is a second source, or a branch: the same elements, grouped in another way.

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
    run = attrs.evolve(run, steps=tuple(draw(_filtered(step)) for step in run.steps))
    beside: Beside | None = draw(st.sampled_from((None, None, "flatten", "join")))
    if beside is None:
        return run
    place = draw(st.sampled_from([n for n, step in enumerate(run.steps) if step.assigns]))
    branch = draw(st.just(()) | _branches(run.steps[place], where.scale, safe))
    other = () if branch else draw(scripts(where.scale, to_infinity=True))
    return Run(run.script, _with_beside(run.steps, place, beside, branch), other)


def _filtered(step: Step) -> st.SearchStrategy[Step]:
    """Draw which values come to a step."""
    return st.sampled_from([None, None, is_odd, is_big]).map(
        lambda only: attrs.evolve(step, only=only)
    )


@st.composite
def _branches(draw: st.DrawFn, into: Step, scale: Scale, safe: bool) -> tuple[Step, ...]:
    """Draw another way to a step for the elements of its source: a grouping or two."""
    # The panes of a global window lie at the end of time, too far for a calendar.
    dated = isinstance(into.windowing.window_fn, CalendarWindows)
    where = attrs.evolve(
        draw(calendars() if dated else st.one_of(aligned(), merging())), scale=scale
    )
    chain = draw(_chains(draw(st.integers(1, 2)), where, _MOSTLY_RETRACTING, safe=safe))
    return tuple(draw(_filtered(step)) for step in chain)


def _with_beside(
    steps: Sequence[Step], place: int, beside: Beside, branch: tuple[Step, ...]
) -> tuple[Step, ...]:
    """Let another collection come into a step; what stands from there on can take its retractions."""
    found = [*steps]
    found[place] = attrs.evolve(found[place], beside=beside, branch=branch)
    if any(map(_retracts, branch)):
        least = max(step.windowing.allowed_lateness for step in branch)
        for n in range(place, len(found)):
            found[n] = _taking_back(found[n], least)
            least = found[n].windowing.allowed_lateness
    return inherited(found)


def _taking_back(step: Step, least: int) -> Step:
    """Return the step as one that takes retractions which come so late."""
    lateness = max(step.windowing.allowed_lateness, least)
    windowing = _repeated(attrs.evolve(step.windowing, allowed_lateness=lateness), step.windowing)
    discards = windowing.accumulation_mode is AccumulationMode.DISCARDING
    kind = "sum" if discards and step.kind == "largest" else step.kind
    return attrs.evolve(step, windowing=windowing, kind=kind)


def _repeated(windowing: WindowingStrategy, before: WindowingStrategy) -> WindowingStrategy:
    """Return a strategy whose trigger loses no data, unless it has lost some before."""
    trigger = windowing.trigger
    if trigger.may_finish(windowing) and not trigger.may_finish(before):
        trigger = Repeatedly(trigger)
    return attrs.evolve(windowing, trigger=trigger)


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


@st.composite
def splitting(draw: st.DrawFn) -> Run:
    """Draw runs of one key in which windows that have merged often come apart.

    What joined them is taken back: a pane of the first grouping comes back with another timestamp, or is no
    longer let through.
    """
    where = draw(st.one_of(aligned(), growing(), growing()))
    kinds = st.sampled_from(KINDS)
    steps = [Step(draw(_eager(where)), draw(kinds))]
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        steps.append(draw(_coming_apart(steps[-1].windowing, kinds)))
    script = draw(scripts(keys=draw(st.sampled_from(["a", "a", "ab"])), to_infinity=True))
    return Run(script, tuple(steps))


@st.composite
def _coming_apart(draw: st.DrawFn, said: WindowingStrategy, kinds: st.SearchStrategy[Kind]) -> Step:
    assigns = not said.window_fn.is_merging() or draw(st.booleans())
    windowing = (
        draw(_eager(draw(growing()), said.allowed_lateness)) if assigns else inheriting(said)
    )
    step = Step(windowing, draw(kinds), assigns, one_key=draw(st.booleans()))
    return draw(_filtered(step))


@st.composite
def _eager(draw: st.DrawFn, where: Where, least_lateness: int = 0) -> WindowingStrategy:
    """Draw strategies that retract, most of which fire often."""
    windowing = draw(windowings(where, [AccumulationMode.RETRACTING], least_lateness))
    trigger: Trigger | None = draw(st.sampled_from([*EAGER, Repeatedly(AfterCount(3)), None]))
    return windowing if trigger is None else attrs.evolve(windowing, trigger=trigger)


@st.composite
def expiring(draw: st.DrawFn) -> Run:
    """Draw runs of one key in which elements that are in time often reach windows that have expired."""
    where = draw(growing())
    lateness = draw(st.sampled_from([0, 1, 3])) * SECOND
    windowing = attrs.evolve(draw(windowings(where, safe=True)), allowed_lateness=lateness)
    windowing = _repeated(windowing, WindowingStrategy())
    step = Step(windowing, draw(st.sampled_from(KINDS)))
    script = draw(scripts(keys="a", to_infinity=True, edges=_edges(step, where.scale)))
    return Run(script, (step,))


@st.composite
def unsafe(draw: st.DrawFn) -> Run:
    """Draw runs whose triggers may lose data, in windows that merge, most of which close soon."""
    run = draw(runs(draw(st.sampled_from([1, 1, 2])), growing(), to_infinity=True, safe=False))
    first, *others = run.steps
    trigger: Trigger | None = draw(st.sampled_from([None, *CLOSING]))
    if trigger is not None:
        windowing = attrs.evolve(first.windowing, trigger=trigger)
        first = attrs.evolve(first, windowing=windowing)
    return attrs.evolve(run, steps=inherited((first, *others)))


def reaching_through(steps: int = 3) -> st.SearchStrategy[Run]:
    """Draw runs of so many steps at the most in which retractions reach through to the end.

    Their end result depends on nothing but what came (see :func:`order_free`).
    """
    lengths = st.integers(1, steps)
    retracting = lengths.flatmap(
        lambda n: runs(n, modes=[AccumulationMode.RETRACTING], to_infinity=True)
    )
    return st.one_of(retracting, splitting()).map(waiting_for_all)


def waiting_for_all(run: Run) -> Run:
    """Return a run whose end result depends on nothing but what came, as in :func:`order_free`."""
    *fronts, last = map(_waits_for_all, run.steps)
    if not fronts or last.beside == "join" or last.kind == "largest" or _merges(last):
        last = _in_retracting_mode(last)
    return attrs.evolve(run, steps=inherited([*map(_in_retracting_mode, fronts), last]))


def _waits_for_all(step: Step) -> Step:
    windowing = attrs.evolve(step.windowing, allowed_lateness=FOREVER)
    branch = tuple(_in_retracting_mode(_waits_for_all(aside)) for aside in step.branch)
    if windowing.trigger.may_finish(windowing):
        windowing = attrs.evolve(windowing, trigger=Repeatedly(windowing.trigger))
    return attrs.evolve(step, windowing=windowing, branch=inherited(branch))


def _in_retracting_mode(step: Step) -> Step:
    windowing = attrs.evolve(step.windowing, accumulation_mode=AccumulationMode.RETRACTING)
    return attrs.evolve(step, windowing=windowing)


def order_free(run: Run) -> bool:
    """Tell whether the end result of a run depends on nothing but what came.

    Nothing is dropped. The first grouping retracts, and so does each that another stands behind, which
    would count accumulating panes twice. The last one may discard or accumulate, if its windows do not
    merge: what was said in windows that have come apart since is not taken back then.
    """
    *fronts, last = run.steps
    branches = [aside for step in run.steps for aside in step.branch]
    return (
        all(map(_retracts, (run.steps[0], *fronts, *branches)))
        and (_retracts(last) or not (last.beside == "join" or _merges(last)))
        and all(_loses_nothing(step.windowing) for step in run.groupings)
    )


def _retracts(step: Step) -> bool:
    return step.windowing.accumulation_mode is AccumulationMode.RETRACTING


def _merges(step: Step) -> bool:
    return step.windowing.window_fn.is_merging()


def _loses_nothing(windowing: WindowingStrategy) -> bool:
    return windowing.allowed_lateness >= FOREVER and not windowing.trigger.may_finish(windowing)


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
    "pipelines, never late": lambda: pipelines().map(waiting_for_all),
    "retracting": lambda: runs(2, modes=[AccumulationMode.RETRACTING], to_infinity=True),
    "splitting": splitting,
    "expiring": expiring,
    "unsafe": unsafe,
    "merged": _merged,
    "merged, never late": lambda: _merged().map(waiting_for_all),
    "counting": counting,
    "reaching through": reaching_through,
    "in time": in_time,
    "waiting": waiting,
}
"""What a runner is tried on: whole pipelines, and runs that certain laws see."""

OFTEN: Final = ("pipelines", "splitting", "splitting", "expiring", "waiting", *["counting"] * 3)
"""Kinds that are drawn more often than others: once more for each time that they are named."""


def each_kind() -> list[st.SearchStrategy[Run]]:
    """Return strategies of all kinds, some of them more than once; all are worth as many cases."""
    names = sorted([*KINDS_OF_RUNS, *OFTEN], key=[*KINDS_OF_RUNS].index)
    return [KINDS_OF_RUNS[name]() for name in names]
