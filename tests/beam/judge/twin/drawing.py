"""Random programs of the twin, which both Beam and Headrace accept."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import attrs
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from headrace.sdk.beam.judge.runner_cases import (
    AFTER_EPOCH,
    ALLOWED,
    beam_windowings,
    in_milliseconds,
    without,
)
from headrace.sdk.testing.strategies.arriving import scripts
from headrace.sdk.testing.streams.script import Script, ScriptEvent, ended, rows_of
from headrace.triggers import (
    AfterCount,
    AfterWatermark,
    DefaultTrigger,
    Repeatedly,
    WindowingStrategy,
)
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from tests.beam.judge.twin.dofns import KEYS
from tests.beam.judge.twin.language import Actions, Machine, Node, Program, Shape, shapes

MOST: Final = 5
"""Maximum number of nodes."""

HALF: Final = SECOND // 2
"""Watermarks are at half seconds, so no window expires at a watermark: there the models differ."""

LAST_CLOCK: Final = 1_000 * SECOND

# Windows

TRIGGERS: Final = st.one_of(
    st.just(DefaultTrigger()),
    st.just(DefaultTrigger()),
    st.just(DefaultTrigger()),
    st.builds(
        AfterWatermark,
        early=st.none() | st.builds(Repeatedly, st.builds(AfterCount, st.integers(1, 3))),
        late=st.just(Repeatedly(AfterCount(1))),
    ),
)


@st.composite
def windowings(draw: st.DrawFn, merging: bool = True) -> WindowingStrategy:
    """Draw windowing strategies, most of them with the default trigger."""
    drawn = draw(beam_windowings(latenesses=ALLOWED))
    if not merging and drawn.window_fn.is_merging():
        drawn = attrs.evolve(drawn, window_fn=WindowingStrategy().window_fn)
    return attrs.evolve(drawn, trigger=draw(TRIGGERS))


# Scripts


def programs_script(script: Script, windowing: WindowingStrategy) -> Script:
    """Return a script that ends, with watermarks at half seconds, and the clock late enough at the end.

    If windows merge, no element is behind the watermark: the models merge such a session in different ways.
    """
    *before, end = ended(in_milliseconds(script))
    halves = tuple(map(_at_half, before))
    if windowing.window_fn.is_merging():
        halves = without(halves, lambda row, watermark: row[2] < watermark)
    clock = max((what for kind, what in halves if kind == "clock"), default=0)
    return (*halves, ("clock", max(clock + SECOND, LAST_CLOCK)), end)


def _at_half(event: ScriptEvent) -> ScriptEvent:
    kind, what = event
    return (kind, what + HALF) if kind == "watermark" and what != MAX_MICROS else event


# Stateful DoFns

TAGS: Final = st.sampled_from(["", "x"])
CELLS: Final = st.sampled_from(["bag", "counter", "last", "seen"])
TOUCHING: Final = st.one_of(
    st.sampled_from([("add",), ("count",), ("write",), ("note",)]),
    st.builds(lambda which: ("clear", which), CELLS),
)
EMITTING: Final = st.builds(lambda name: ("emit", name), st.sampled_from("ef"))
SETTING: Final = st.builds(lambda tag, delay: ("set", tag, delay), TAGS, st.integers(-1, 8))
AGAIN: Final = st.builds(lambda tag, delay: ("set", tag, delay), TAGS, st.integers(1, 8))
WAITING: Final = st.builds(lambda tag, time: ("wait", tag, time), TAGS, st.integers(0, 60))
UNSETTING: Final = st.builds(lambda tag: ("unset", tag), TAGS)
STOPPING: Final = st.builds(lambda tag: ("stop", tag), TAGS)


def _actions(*kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Actions]:
    some = st.one_of(TOUCHING, TOUCHING, EMITTING, EMITTING, *kinds)
    return st.lists(some, min_size=1, max_size=5).map(tuple)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Draw stateful DoFns; one in four reads the clock."""
    timed = draw(st.sampled_from([False, False, False, True]))
    kinds = [SETTING, SETTING, UNSETTING] + [WAITING, STOPPING] * timed
    fired = _actions(*draw(st.sampled_from([[], [], [AGAIN, UNSETTING]])))
    clocked = _actions().map(lambda some: (*some, ("emit", "c"))) if timed else st.just(())
    return Machine(
        tuple(draw(st.lists(_actions(*kinds), min_size=1, max_size=3))),
        (*draw(fired), ("emit", "t")),
        draw(clocked),
    )


# Nodes

COMBINING: Final = st.sampled_from(["sum", "largest", "statistics", "count", "mean", "top"])
VIEWS: Final = st.sampled_from(["list", "iter", "multimap", "dict", "single"])
DELAYS: Final = st.lists(st.integers(0, 8), max_size=2).map(tuple)


def _takes(kind: str, shape: Shape) -> bool:
    """Return whether a transform of a kind can read a collection."""
    merging = shape.windowing.window_fn.is_merging()
    if kind == "state":
        return shape.on_time and shape.in_order and not merging
    return shape.on_time if kind in ("stamp", "read", "reshuffle") else True


KINDS: Final = (
    "state",
    "group",
    "look",
    "combine",
    "flatten",
    "join",
    "route",
    "state",
    "stamp",
    "read",
    "window",
    "globally",
    "reshuffle",
)


@st.composite
def _nodes(draw: st.DrawFn, known: list[Shape]) -> Node | None:
    kind = draw(st.sampled_from(KINDS))
    able = [n for n, shape in enumerate(known) if _takes(kind, shape)]
    if not able:
        return None
    main = draw(st.sampled_from(able))
    if kind in ("flatten", "join"):
        alike = [n for n in able if known[n].strategy == known[main].strategy]
        return Node(kind, (main, draw(st.sampled_from(alike))))
    if kind == "look":
        return draw(_looks(main, known))
    return Node(kind, (main,), draw(_hows(kind, known[main])))


def _hows(kind: str, shape: Shape) -> st.SearchStrategy[Any]:
    """Draw what a kind needs; windows that merge only of elements that are not behind the watermark."""
    punctual = shape.on_time and shape.windowing.window_fn.is_merging()
    return {
        "state": machines(),
        "combine": COMBINING,
        "globally": COMBINING,
        "stamp": DELAYS,
        "window": windowings(merging=punctual),
    }.get(kind, st.none())


@st.composite
def _looks(draw: st.DrawFn, main: int, known: list[Shape]) -> Node | None:
    view = draw(VIEWS)
    able = [n for n, shape in enumerate(known) if _can_be_seen(shape, view)]
    return Node("look", (main, draw(st.sampled_from(able))), view) if able else None


def _can_be_seen(shape: Shape, view: str) -> bool:
    """Return whether a collection can be a side input; as one value only what has one pane."""
    windowing = shape.windowing
    plain = isinstance(windowing.trigger, DefaultTrigger) and not windowing.allowed_lateness
    several = view in ("list", "iter", "multimap")
    return not windowing.window_fn.is_merging() and (several or (plain and shape.on_time))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draw programs."""
    windowing = draw(windowings())
    late = (5 * SECOND, min(windowing.allowed_lateness, 12 * SECOND))
    script = programs_script(draw(scripts(AFTER_EPOCH, edges=late).filter(rows_of)), windowing)
    program = Program(script, draw(st.sampled_from(list(KEYS))), windowing, ())
    for _ in range(draw(st.integers(1, MOST))):
        node = draw(_nodes(shapes(program)))
        if node is not None:
            program = attrs.evolve(program, nodes=(*program.nodes, node))
    return program


def drawn_programs(cases: int, random_seed: int) -> list[Program]:
    """Draw programs, always the same for a seed; more are drawn than needed, as Hypothesis repeats itself."""
    found: list[Program] = []

    @seed(random_seed)
    @settings(
        max_examples=2 * cases,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def draw(program: Program) -> None:
        found.append(program)

    draw()
    Random(random_seed).shuffle(found)
    return found[:cases]
