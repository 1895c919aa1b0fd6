"""Runs that certain laws need, with properties that random pipelines seldom have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import attrs

from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.batch_oracle import shrinks
from headrace.sdk.testing.runs.run import Run, inherited, is_big, is_odd
from headrace.sdk.testing.runs.steps import (
    KINDS,
    Kind,
    Step,
    emits_panes,
    mode_of,
    output_windowing,
    retracts,
)
from headrace.sdk.testing.strategies.arriving import scripts
from headrace.sdk.testing.strategies.pipelines import (
    MOSTLY_RETRACTING,
    edges,
    filtered,
    merges,
    pipelines,
    repeated,
    runs,
    with_side_input,
    with_state,
)
from headrace.sdk.testing.strategies.repeating import allowed_pauses, with_pauses
from headrace.sdk.testing.strategies.windowing import Where, aligned, growing, windowings
from headrace.sdk.testing.streams.script import ScriptEvent, ScriptRow, punctual
from headrace.triggers.clock_triggers import AfterProcessingTime
from headrace.triggers.composite_triggers import AfterAll, AfterAny, AfterEach, Repeatedly
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import AfterWatermark
from headrace.windowing.sessions import Sessions
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import HOUR, SECOND
from headrace.windowing.windows import FixedWindows, GlobalWindows

SLOW = (
    Repeatedly(AfterCount(5)),
    Repeatedly(AfterProcessingTime(15)),
    Repeatedly(AfterAll(AfterWatermark(), AfterCount(3))),
)
"""Triggers that delay panes beyond the end of their window."""

UNLIMITED = 10_000 * HOUR
"""An allowed lateness that no element exceeds."""

EAGER = (
    Repeatedly(AfterCount(1)),
    Repeatedly(AfterCount(2)),
    AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
    AfterWatermark(early=AfterProcessingTime(1), late=AfterCount(1)),
)
"""Triggers with which sessions have often fired before they merge."""

CLOSING = (
    AfterCount(1),
    AfterCount(2),
    AfterWatermark(early=AfterCount(1)),
    AfterAny(AfterCount(2), AfterProcessingTime(1)),
)
"""Triggers that finish, after which a window accepts no more elements."""

REOPENING = (
    AfterAll(AfterCount(1), AfterWatermark()),
    AfterEach(AfterCount(1), AfterWatermark()),
    AfterWatermark(late=AfterCount(2)),
)
"""Triggers that finish, but not in a window that has merged with one in which they have not finished."""


@st.composite
def merging_after_firing(
    draw: st.DrawFn, retractions: bool = False, to_infinity: bool | None = None
) -> Run:
    """Draw runs of one key whose sessions have often fired before they merge."""
    where = Where(Sessions(draw(st.integers(2, 5))))
    windowing = draw(windowings(where, [AccumulationMode.RETRACTING], least_lateness=12 * SECOND))
    windowing = attrs.evolve(windowing, trigger=draw(st.sampled_from(EAGER)))
    script = draw(scripts(keys="a", retractions=retractions, to_infinity=to_infinity))
    return Run(script, (Step(windowing, draw(st.sampled_from(KINDS))),))


@st.composite
def counting(draw: st.DrawFn) -> Run:
    """Draw runs of one key with a list of values and a count trigger, most of them with sessions."""
    merges = draw(st.sampled_from([False, True, True, True]))
    where = Where(Sessions(draw(st.integers(3, 6)))) if merges else draw(aligned())
    trigger = Repeatedly(AfterCount(draw(st.sampled_from([1, 3, 3, 4, 5]))))
    windowing = WindowingStrategy(where.window_fn, trigger, allowed_lateness=UNLIMITED)
    one_by_one = st.lists(st.integers(0, 20), min_size=5, max_size=10, unique=True).map(
        lambda seconds: _one_by_one([(n % 10, second) for n, second in enumerate(seconds)])
    )
    in_bursts = scripts(keys="a", to_infinity=True)
    script = draw(draw(st.sampled_from([in_bursts, one_by_one, one_by_one])))
    return Run(script, (Step(windowing, "list"),))


def _one_by_one(numbers: Sequence[tuple[int, int]]) -> tuple[ScriptEvent, ...]:
    """Return a script in which values arrive one by one at their times in seconds, then the end of time."""
    rows = [("a", value, second * SECOND, 1) for value, second in numbers]
    return (*(("elements", (row,)) for row in rows), ("watermark", MAX_MICROS))


@st.composite
def splitting(draw: st.DrawFn) -> Run:
    """Draw runs of one key in which merged windows are often split.

    The element that joined them is retracted: a pane of the first grouping gets another timestamp, or no
    longer passes a filter.
    """
    where = draw(st.one_of(aligned(), growing(), growing()))
    kinds = st.sampled_from(KINDS)
    steps = [Step(draw(_eager(where)), draw(kinds))]
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        steps.append(draw(_split_steps(steps[-1], kinds)))
    script = draw(scripts(keys=draw(st.sampled_from(["a", "a", "ab"])), to_infinity=True))
    return Run(script, tuple(steps))


@st.composite
def _split_steps(draw: st.DrawFn, before: Step, kinds: st.SearchStrategy[Kind]) -> Step:
    """Draw a grouping whose merged windows are often split."""
    assigns = not merges(before) or draw(st.booleans())
    least = before.windowing.allowed_lateness
    windowing = draw(_eager(draw(growing()), least)) if assigns else output_windowing(before)
    step = Step(windowing, draw(kinds), assigns, one_key=draw(st.booleans()))
    return draw(filtered(step))


@st.composite
def _eager(draw: st.DrawFn, where: Where, least_lateness: int = 0) -> WindowingStrategy:
    """Draw retracting strategies; most of them fire often."""
    windowing = draw(windowings(where, [AccumulationMode.RETRACTING], least_lateness))
    trigger: Trigger | None = draw(st.sampled_from([*EAGER, Repeatedly(AfterCount(3)), None]))
    return windowing if trigger is None else attrs.evolve(windowing, trigger=trigger)


@st.composite
def expiring(draw: st.DrawFn) -> Run:
    """Draw runs of one key in which elements that are not late often reach expired windows."""
    where = draw(growing())
    lateness = draw(st.sampled_from([0, 1, 3])) * SECOND
    windowing = attrs.evolve(draw(windowings(where, safe=True)), allowed_lateness=lateness)
    windowing = repeated(windowing, WindowingStrategy())
    step = Step(windowing, draw(st.sampled_from(KINDS)))
    script = draw(scripts(keys="a", to_infinity=True, edges=edges(step, where.scale)))
    return Run(script, (step,))


@st.composite
def unsafe(draw: st.DrawFn) -> Run:
    """Draw runs with merging windows whose triggers may lose data; most of them finish early."""
    run = draw(runs(draw(st.sampled_from([1, 1, 2])), growing(), to_infinity=True, safe=False))
    first, *others = run.steps
    trigger: Trigger | None = draw(st.sampled_from([None, *CLOSING]))
    if trigger is not None:
        windowing = attrs.evolve(first.windowing, trigger=trigger)
        first = attrs.evolve(first, windowing=windowing)
    return attrs.evolve(run, steps=inherited((first, *others)))


@st.composite
def closing_over_changes(draw: st.DrawFn, retractions: bool = False) -> Run:
    """Draw runs with retractions into windows whose triggers finish, so that these drop values.

    A value that was dropped is retracted later, when its window may have merged with one that has not
    finished. Some retractions come without a replacement, which does not pass a filter.

    Args:
        draw: given by Hypothesis.
        retractions: whether the script has the retractions; otherwise a grouping makes them.
    """
    lateness = draw(st.sampled_from([UNLIMITED, UNLIMITED, 12 * SECOND]))
    sessions = st.builds(Sessions, st.integers(2, 5)).map(Where)
    where = draw(st.one_of(sessions, sessions, sessions, growing(), growing(), aligned()))
    windowing = attrs.evolve(
        draw(windowings(where, MOSTLY_RETRACTING)),
        trigger=draw(st.sampled_from([AfterCount(1), AfterCount(1), *CLOSING, *REOPENING])),
        allowed_lateness=lateness,
    )
    discards = windowing.accumulation_mode is AccumulationMode.DISCARDING
    kinds = [kind for kind in KINDS if not (discards and kind in ("largest", "last"))]
    step = Step(windowing, draw(st.sampled_from(kinds)), one_key=draw(st.booleans()))
    if retractions:
        return Run(draw(_taken_back(draw(scripts(to_infinity=True)))), (step,))
    first = _updating(lateness, draw(st.sampled_from(["sum", "largest", *KINDS])))
    only = draw(st.sampled_from([None, is_odd, is_big]))
    script = draw(st.one_of(_updates(), _updates(), scripts(keys="a", to_infinity=True)))
    return Run(script, (first, attrs.evolve(step, only=only)))


def _updating(lateness: int, kind: Kind) -> Step:
    """Return a grouping with small windows that emits a pane for each arrival."""
    windowing = WindowingStrategy(
        FixedWindows(1),
        Repeatedly(AfterCount(1)),
        AccumulationMode.RETRACTING,
        allowed_lateness=lateness,
    )
    return Step(windowing, kind)


@cache
def _updates() -> st.SearchStrategy[tuple[ScriptEvent, ...]]:
    """Draw scripts of one key in which elements arrive one by one, the first in a window of its own."""
    first = st.tuples(st.integers(0, 9), st.just(4))
    others = st.tuples(st.integers(0, 9), st.sampled_from([1, 2, 3, 5, 6, 9]))
    later = st.lists(others, min_size=4, max_size=9)
    return st.builds(lambda one, some: _one_by_one([one, *some]), first, later)


@st.composite
def _taken_back(draw: st.DrawFn, script: Sequence[ScriptEvent]) -> tuple[ScriptEvent, ...]:
    """Draw a script in which some rows are retracted later, alone or together with other rows."""
    found: list[ScriptEvent] = []
    rows: list[ScriptRow] = []
    for event in script:
        back = [(*row[:3], -1) for row in rows if draw(st.sampled_from([False, False, True]))]
        rows = [row for row in rows if (*row[:3], -1) not in back]
        kind, what = event
        if back and (kind != "elements" or draw(st.booleans())):
            found.append(("elements", tuple(back)))
        elif back:
            event = kind, (*what, *back)
        rows += what if kind == "elements" else ()
        found.append(event)
    return tuple(found)


def reaching_through(steps: int = 3) -> st.SearchStrategy[Run]:
    """Draw runs of at most ``steps`` steps in which retractions reach the end of the chain.

    Their final result depends only on the input (see :func:`order_free`).
    """
    lengths = st.integers(1, steps)
    retracting = lengths.flatmap(
        lambda n: runs(n, modes=[AccumulationMode.RETRACTING], to_infinity=True)
    )
    return st.one_of(retracting, splitting()).map(waiting_for_all)


def waiting_for_all(run: Run) -> Run:
    """Return a run whose final result depends only on the input, as in :func:`order_free`."""
    *fronts, last = map(_waits_for_all, run.steps)
    if (
        not fronts
        or last.beside == "join"
        or last.kind not in ("sum", "list", "state")
        or merges(last)
    ):
        last = _in_retracting_mode(last)
    steps = allowed_pauses(inherited([*map(_in_retracting_mode, fronts), last]))
    other = punctual(run.other) if any(step.beside == "side" for step in steps) else run.other
    return attrs.evolve(run, steps=steps, other=other)


def _waits_for_all(step: Step) -> Step:
    if step.beside == "side" and step.branch:  # its panes can be late
        step = attrs.evolve(step, beside=None, branch=(), side_windows=None)
    windowing = attrs.evolve(step.windowing, allowed_lateness=UNLIMITED)
    branch = tuple(_in_retracting_mode(_waits_for_all(aside)) for aside in step.branch)
    if windowing.trigger.may_finish(windowing):
        windowing = attrs.evolve(windowing, trigger=Repeatedly(windowing.trigger))
    return attrs.evolve(step, windowing=windowing, branch=inherited(branch))


def _in_retracting_mode(step: Step) -> Step:
    windowing = attrs.evolve(step.windowing, accumulation_mode=AccumulationMode.RETRACTING)
    return attrs.evolve(step, windowing=windowing)


def order_free(run: Run) -> bool:
    """Return whether the final result of a run depends only on the input, not on the order of arrival.

    Nothing is dropped. The first grouping retracts, and so does each grouping that precedes another one,
    which would count accumulating panes twice. The last grouping may discard or accumulate if its windows
    do not merge, because panes of windows that are split are not retracted then. A side input fires once, and
    none of its elements is late.
    """
    *fronts, last = run.steps
    branches = [aside for step in run.steps for aside in step.branch]
    return (
        all(map(_replaces, (run.steps[0], *fronts, *branches)))
        and (_replaces(last) or not (last.beside == "join" or merges(last)))
        and all(map(_accepts_everything, run.groupings))
        and all(_has_final_side(run, step) for step in run.steps)
    )


def _replaces(step: Step) -> bool:
    """Return whether the outputs of a step that stand are its result."""
    return mode_of(step) is AccumulationMode.RETRACTING


def _accepts_everything(step: Step) -> bool:
    return step.windowing.allowed_lateness >= UNLIMITED and not _may_close(step)


def _may_close(step: Step) -> bool:
    """Return whether a window may refuse elements before it expires."""
    return emits_panes(step) and step.windowing.trigger.may_finish(step.windowing)


def _has_final_side(run: Run, step: Step) -> bool:
    return step.beside != "side" or (not step.branch and punctual(run.other) == run.other)


@st.composite
def in_time(draw: st.DrawFn) -> Run:
    """Draw runs in which no element is late and nothing may be dropped, however long panes are delayed.

    Only the last grouping may retract, because retractions could be late; and there are no empty panes,
    which do not hold the watermark.
    """
    modes = [AccumulationMode.DISCARDING, AccumulationMode.ACCUMULATING]
    run = draw(runs(draw(st.integers(2, 3)), modes=modes, to_infinity=True, lateness=0))
    return attrs.evolve(run, steps=tuple(map(_without_empty_panes, run.steps)))


@st.composite
def waiting(draw: st.DrawFn) -> Run:
    """Draw runs like :func:`in_time`, with panes that are delayed beyond the end of small windows."""
    small = st.one_of(
        st.builds(FixedWindows, st.integers(1, 5)), st.builds(Sessions, st.integers(1, 4))
    )
    first = WindowingStrategy(
        draw(small), draw(st.sampled_from(SLOW)), allowed_lateness=12 * SECOND
    )
    kinds = st.sampled_from(KINDS)
    steps = Step(first, draw(kinds)), Step(WindowingStrategy(draw(small)), draw(kinds))
    return Run(draw(scripts(to_infinity=True, lateness=0)), tuple(map(_without_empty_panes, steps)))


@st.composite
def with_default_triggers(draw: st.DrawFn) -> Run:
    """Draw runs whose groupings have the default trigger, with late elements.

    The engine keeps such windows without the state of a trigger until a second pane is possible.
    """
    small = st.one_of(
        st.builds(FixedWindows, st.integers(1, 5)), st.builds(Sessions, st.integers(2, 5))
    )
    windowing = st.builds(
        WindowingStrategy,
        small,
        accumulation_mode=st.sampled_from(AccumulationMode),
        allowed_lateness=st.just(draw(st.sampled_from([3, 6, 12])) * SECOND),
    )
    kind = st.sampled_from(["sum", "list"])
    step = st.builds(Step, windowing, kind, one_key=st.booleans())
    steps = st.lists(step, min_size=1, max_size=2)
    return Run(draw(scripts(to_infinity=True)), tuple(draw(steps)))


def _without_empty_panes(step: Step) -> Step:
    windowing = attrs.evolve(
        step.windowing,
        on_time=OnTimeBehavior.FIRE_IF_NON_EMPTY,
        closing=ClosingBehavior.FIRE_IF_NON_EMPTY,
    )
    return attrs.evolve(step, windowing=windowing)


def drops_nothing(run: Run) -> bool:
    """Return whether nothing may be dropped in a run, as in runs of :func:`in_time`."""
    *others, _ = run.steps
    return (
        not any(s.only or s.beside in ("flatten", "join") or s.branch for s in run.steps)
        and punctual(run.script) == run.script
        and not any(map(shrinks, run.steps))
        and not any(map(_may_close, run.steps))
        and all(s == _without_empty_panes(s) for s in others if emits_panes(s))
        and not any(map(retracts, others))
    )


@st.composite
def stateful(draw: st.DrawFn) -> Run:
    """Draw runs with stateful DoFns, most of them in front of another step.

    In some no element is late, and the allowed lateness delays an output beyond the end of its window and of
    the next ones. So they show whether a timer holds the watermark at the timestamp of its output.
    """
    if draw(st.booleans()):
        small = st.builds(FixedWindows, st.integers(1, 3))
        delayed = Step(WindowingStrategy(draw(small), allowed_lateness=12 * SECOND), "state")
        then = Step(WindowingStrategy(draw(small)), draw(st.sampled_from([*KINDS, "state"])))
        return Run(draw(scripts(to_infinity=True, lateness=0)), (delayed, then))
    windows = aligned().map(_small)
    run = draw(runs(draw(st.integers(1, 3)), windows, to_infinity=True))
    first, *others = run.steps
    steps = *draw(with_state([first], [True])), *others
    run = attrs.evolve(run, steps=draw(with_state(steps, [False, True])))
    return waiting_for_all(run) if draw(st.sampled_from([False, False, True])) else run


def _small(where: Where) -> Where:
    """Return small windows in place of the global one."""
    return Where(FixedWindows(3)) if where.window_fn == GlobalWindows() else where


@st.composite
def beside_side_inputs(draw: st.DrawFn) -> Run:
    """Draw runs with a side input from the second source, whose elements are never late.

    In some the result depends only on the input (see :func:`order_free`). In others no element is late, and
    windows are small, so that a missing hold of elements that wait shows.
    """
    in_time = draw(st.booleans())
    small = st.builds(FixedWindows, st.integers(1, 5)).map(Where)
    windows = small if in_time else st.one_of(aligned(), growing())
    lateness = 0 if in_time else None
    run = draw(runs(draw(st.integers(1, 2)), windows, to_infinity=True, lateness=lateness))
    n_th = draw(st.integers(0, len(run.steps) - 1))
    other = draw(scripts(to_infinity=True, lateness=0))
    run = attrs.evolve(run, steps=draw(with_side_input(run.steps, n_th)), other=other)
    if not in_time:
        return waiting_for_all(run)
    return attrs.evolve(run, steps=inherited(map(_without_lateness, run.steps)))


@st.composite
def state_beside_side_inputs(draw: st.DrawFn) -> Run:
    """Draw runs with a stateful DoFn that has a side input, whose elements are never late.

    As in :func:`beside_side_inputs`, the result of some depends only on the input, and in others no element
    is late. In some the side input starts late, so that many elements wait.
    """
    in_time = draw(st.booleans())
    small = st.builds(FixedWindows, st.integers(1, 5)).map(Where)
    windows = small if in_time else aligned().map(_small)
    lateness = 0 if in_time else None
    run = draw(runs(draw(st.integers(1, 2)), windows, to_infinity=True, lateness=lateness))
    first = draw(with_state(run.steps[:1], [True]))
    steps = draw(with_side_input(inherited((*first, *run.steps[1:])), 0))
    pause: tuple[ScriptEvent, ...] = (("elements", ()),) * draw(st.sampled_from([0, 5, 10]))
    other = *pause, *draw(scripts(to_infinity=True, lateness=0))
    run = attrs.evolve(run, steps=steps, other=other)
    if not in_time:
        return waiting_for_all(run)
    return attrs.evolve(run, steps=inherited(map(_without_lateness, run.steps)))


def _without_lateness(step: Step) -> Step:
    return attrs.evolve(step, windowing=attrs.evolve(step.windowing, allowed_lateness=0))


@st.composite
def splittable(draw: st.DrawFn) -> Run:
    """Draw runs with splittable DoFns; in half of them the final result depends only on the input."""
    if draw(st.booleans()):
        return draw(with_pauses(draw(in_time()), [True]))
    run = draw(pipelines(splittable=False))
    return draw(with_pauses(waiting_for_all(run), [True]))


def _merged() -> st.SearchStrategy[Run]:
    return merging_after_firing(to_infinity=True)


KINDS_OF_RUNS: Final[dict[str, Callable[[], st.SearchStrategy[Run]]]] = {
    "pipelines": pipelines,
    "pipelines, never late": lambda: pipelines().map(waiting_for_all),
    "retracting": lambda: runs(2, modes=[AccumulationMode.RETRACTING], to_infinity=True),
    "splitting": splitting,
    "expiring": expiring,
    "unsafe": unsafe,
    "closing over changes": closing_over_changes,
    "merged": _merged,
    "merged, never late": lambda: _merged().map(waiting_for_all),
    "counting": counting,
    "reaching through": reaching_through,
    "in time": in_time,
    "waiting": waiting,
    "stateful": stateful,
    "side inputs": beside_side_inputs,
    "stateful, side inputs": state_beside_side_inputs,
    "default triggers": with_default_triggers,
    "splittable": splittable,
}
"""The runs on which a runner is checked: whole pipelines, and runs that certain laws need."""

OFTEN: Final = (
    *(
        "pipelines",
        "closing over changes",
        "splitting",
        "splitting",
        "expiring",
        "waiting",
        "stateful",
        "side inputs",
    ),
    *["closing over changes"] * 2,
    *["counting"] * 3,
    *["default triggers"] * 4,
    "splittable",
)
"""Kinds that are drawn more often than others: once more for each entry."""


@cache
def each_kind() -> tuple[st.SearchStrategy[Run], ...]:
    """Return strategies of all kinds, some of them repeated; each gets the same number of cases."""
    names = sorted([*KINDS_OF_RUNS, *OFTEN], key=[*KINDS_OF_RUNS].index)
    return tuple(KINDS_OF_RUNS[name]() for name in names)
