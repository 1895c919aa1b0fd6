"""What the laws are tried on: scripts, window functions, triggers, strategies, groupings in a row.

Everything shrinks towards less: fewer events, one key, small numbers, the global window, the
default trigger. Times are whole units of a scale, so that boundaries are met often; a microsecond
beside them is tried too. Strategies are cached, as to build one costs more than to draw from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeAlias

import attrs
from hypothesis import strategies as st

from headrace.triggers import (
    AccumulationMode,
    AfterAll,
    AfterAny,
    AfterBytes,
    AfterCount,
    AfterEach,
    AfterElement,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    AtPeriod,
    ClosingBehavior,
    DefaultTrigger,
    Never,
    OnTimeBehavior,
    OrFinally,
    Repeatedly,
    Trigger,
    WindowingStrategy,
)
from headrace.windowing.calendar import CalendarWindows
from headrace.windowing.sessions import Sessions
from headrace.windowing.time import MAX_MICROS
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows
from tests.validity_windows import ValidityWindows

Row: TypeAlias = tuple[str, int, int, int]
"""Key, value, timestamp in microseconds, diff."""

Event: TypeAlias = tuple[str, Any]
"""("elements", rows), ("watermark", microseconds) or ("clock", microseconds)."""

SECOND = 1_000_000
ROUNDS = 10
REACH = 12
"""So many units lie between an element and the watermark, at the most."""


@attrs.frozen
class Scale:
    """Where event time begins and how long a unit of it is, in microseconds."""

    origin: int = 0
    unit: int = SECOND


SECONDS = Scale()
HOUR = 3_600 * SECOND
SUMMER_TIME_BEGINS = Scale(int(datetime(2013, 3, 10, tzinfo=UTC).timestamp()) * SECOND, HOUR)
"""Hours around the night in which New York's clocks go forward."""


@attrs.frozen
class Where:
    """A window function, and a scale on which elements meet in its windows."""

    window_fn: WindowFn
    scale: Scale = SECONDS


def weight(value: Any) -> int:
    """A number of any value, be it a number, a list of them, or a list of lists."""
    return sum(map(weight, value)) if isinstance(value, list) else value


def is_odd(value: Any) -> bool:
    return weight(value) % 2 == 1


def is_big(value: Any) -> bool:
    return weight(value) >= 5


def patience(pair: tuple[Any, Any]) -> int:
    """The gap of a session, in seconds, that depends on the element."""
    return 1 + weight(pair[1]) % 7


# What arrives


@cache
def rows(scale: Scale, keys: Sequence[str], diffs: Sequence[int]) -> st.SearchStrategy[Row]:
    """Single elements, the timestamp counted from the watermark; small values, some of them equal."""
    beside = st.one_of(st.just(0), st.sampled_from([0, 0, -1, 1]))
    apart = st.builds(lambda n, by: n * scale.unit + by, st.integers(-REACH, REACH), beside)
    return st.tuples(st.sampled_from(keys), st.integers(0, 9), apart, st.sampled_from(diffs))


@st.composite
def scripts(
    draw: st.DrawFn,
    scale: Scale = SECONDS,
    keys: Sequence[str] = "ab",
    retractions: bool = False,
    to_infinity: bool | None = None,
) -> tuple[Event, ...]:
    """Bursts of elements between steps of the watermark and the clock, which never go back.

    Args:
        scale: of timestamps and watermarks; the clock goes by seconds.
        keys: the keys of elements.
        retractions: whether some elements are retractions, of something or of nothing.
        to_infinity: whether the watermark goes to the end of time in the end; None for either.
    """
    diffs = (1, 1, 1, -1) if retractions else (1,)
    bursts = st.lists(rows(scale, keys, diffs), max_size=4)
    rounds = st.lists(st.tuples(bursts, st.integers(0, 8), st.integers(0, 12)), max_size=ROUNDS)
    watermark, clock = scale.origin + draw(st.sampled_from([0, -1])), 0
    events: list[Event] = []
    for burst, by_watermark, by_clock in draw(rounds):
        elements = tuple((key, v, watermark + apart, diff) for key, v, apart, diff in burst)
        watermark += by_watermark * scale.unit
        clock += by_clock * SECOND
        events += [("clock", clock)] * bool(by_clock)
        events += [("elements", elements)] * bool(elements)
        events += [("watermark", watermark)] * bool(by_watermark)
    if draw(st.sampled_from([True, False, True])) if to_infinity is None else to_infinity:
        events.append(("watermark", MAX_MICROS))
    return tuple(events)


# Where, when and how


@cache
def aligned() -> st.SearchStrategy[Where]:
    """Windows that are the same for all keys."""
    sizes = st.integers(1, 20)
    return st.one_of(
        st.just(Where(GlobalWindows())),
        st.builds(FixedWindows, sizes, st.integers(0, 5)).map(Where),
        st.builds(SlidingWindows, sizes, st.integers(4, 12), st.integers(0, 3)).map(Where),
    )


@cache
def calendars() -> st.SearchStrategy[Where]:
    """Days and months in a zone or two."""
    zones, start = st.sampled_from(["UTC", "America/New_York"]), st.just("2013-03-01")
    window_fns = st.one_of(
        st.builds(CalendarWindows.days, st.integers(1, 2), zones, start),
        st.builds(CalendarWindows.months, st.just(1), zones, start),
    )
    return st.builds(Where, window_fns, st.just(SUMMER_TIME_BEGINS))


@cache
def merging() -> st.SearchStrategy[Where]:
    """Windows that merge: sessions, with one gap or one for each element, and ones that shrink."""
    return st.one_of(
        st.builds(Sessions, st.integers(1, 10)).map(Where),
        st.just(Where(Sessions(patience))),
        st.just(Where(ValidityWindows())),
    )


def wheres() -> st.SearchStrategy[Where]:
    """All window functions."""
    return st.one_of(aligned(), merging(), calendars())


@cache
def leaves() -> st.SearchStrategy[Trigger]:
    """Triggers that are not made of others."""
    return st.one_of(
        st.just(DefaultTrigger()),
        st.builds(AfterCount, st.integers(1, 4)),
        st.just(AfterWatermark()),
        st.builds(AfterProcessingTime, st.integers(0, 15)),
        st.builds(AtPeriod, st.integers(1, 12), st.integers(0, 5)),
        st.builds(AfterElement, st.sampled_from([is_odd, is_big])),
        st.builds(AfterBytes, st.integers(1, 30)),
        st.just(Always()),
        st.just(Never()),
    )


@cache
def triggers(depth: int = 2) -> st.SearchStrategy[Trigger]:
    """All triggers down to a depth, some of which lose data."""
    if not depth:
        return leaves()
    part = triggers(depth - 1)
    maybe = st.none() | part
    return st.one_of(
        leaves(),
        st.builds(AfterWatermark, early=maybe, late=maybe),
        st.builds(AfterWatermark, early=part, late=part),
        st.builds(Repeatedly, part),
        st.builds(AfterAny, part, part),
        st.builds(AfterAll, part, part),
        st.builds(AfterEach, part, part),
        st.builds(OrFinally, part, leaves()),
    )


@cache
def safe_triggers(lateness: int, depth: int = 2) -> st.SearchStrategy[Trigger]:
    """Triggers that lose nothing with a lateness; one that would is repeated."""
    allowed = WindowingStrategy(allowed_lateness=lateness)
    return triggers(depth).map(lambda t: Repeatedly(t) if t.may_finish(allowed) else t)


@st.composite
def windowings(
    draw: st.DrawFn,
    where: Where,
    modes: Sequence[AccumulationMode] = tuple(AccumulationMode),
    least_lateness: int = 0,
    safe: bool = True,
) -> WindowingStrategy:
    """Windowing strategies over a window function."""
    lateness = least_lateness + draw(st.sampled_from([0, 3, 12, 10_000])) * where.scale.unit
    return WindowingStrategy(
        window_fn=where.window_fn,
        trigger=draw(safe_triggers(lateness) if safe else triggers()),
        accumulation_mode=draw(st.sampled_from(modes)),
        allowed_lateness=lateness,
        timestamp_combiner=draw(st.sampled_from(TimestampCombiner)),
        on_time=draw(st.sampled_from(OnTimeBehavior)),
        closing=draw(
            st.sampled_from([ClosingBehavior.FIRE_IF_NON_EMPTY, ClosingBehavior.FIRE_ALWAYS])
        ),
    )


# Groupings

KINDS = ("sum", "list", "largest")
"""A sum, which can subtract; a list; a combination that has to keep what it combined."""


@attrs.frozen
class Step:
    """A grouping of a chain.

    Attributes:
        windowing: where, when and how.
        kind: one of KINDS.
        assigns: whether elements get new windows before it, or keep those of their panes.
        one_key: whether all keys become one before it.
    """

    windowing: WindowingStrategy
    kind: str
    assigns: bool = True
    one_key: bool = False


@attrs.frozen
class Run:
    """A script, and the groupings in a row that it is played against."""

    script: tuple[Event, ...]
    steps: tuple[Step, ...]


@st.composite
def runs(
    draw: st.DrawFn,
    steps: int = 1,
    windows: st.SearchStrategy[Where] | None = None,
    modes: Sequence[AccumulationMode] = tuple(AccumulationMode),
    kinds: Sequence[str] = KINDS,
    retractions: bool = False,
    to_infinity: bool | None = None,
    safe: bool = True,
) -> Run:
    """Scripts with groupings; ``modes`` and ``kinds`` are those of the first.

    Args:
        steps: how many groupings.
        windows: the window functions of the first grouping; all, if None.
        modes: its accumulation modes.
        kinds: what it may make.
        retractions: whether the script holds retractions.
        to_infinity: whether the script ends at the end of time; None for either.
        safe: whether triggers that lose data are left out.
    """
    where = draw(wheres() if windows is None else windows)
    windowing = draw(windowings(where, modes, safe=safe))
    chain = [Step(windowing, draw(_kinds(windowing, kinds, changing=retractions)))]
    for _ in range(steps - 1):
        chain.append(draw(_next_steps(chain[-1], where.scale, retractions, safe)))
    script = draw(scripts(where.scale, retractions=retractions, to_infinity=to_infinity))
    return Run(script, tuple(chain))


def _kinds(
    windowing: WindowingStrategy, kinds: Sequence[str], changing: bool
) -> st.SearchStrategy[str]:
    """What cannot subtract cannot say what a change alone comes to."""
    discards = windowing.accumulation_mode is AccumulationMode.DISCARDING
    return st.sampled_from([k for k in kinds if not (changing and discards and k == "largest")])


@st.composite
def _next_steps(draw: st.DrawFn, before: Step, scale: Scale, retractions: bool, safe: bool) -> Step:
    """A grouping of what another one says; it waits for late retractions as long as that one."""
    said = before.windowing
    changing = retractions or said.accumulation_mode is AccumulationMode.RETRACTING
    assigns = draw(st.booleans())
    if assigns:
        # The panes of a global window lie at the end of time, too far for a calendar.
        dated = isinstance(said.window_fn, CalendarWindows)
        others = st.one_of(aligned(), merging(), *([calendars()] if dated else []))
        where = attrs.evolve(draw(others), scale=scale)
        least = said.allowed_lateness if changing else 0
        windowing = draw(windowings(where, least_lateness=least, safe=safe))
    else:
        trigger = said.trigger.get_continuation_trigger()
        windowing = attrs.evolve(said, trigger=trigger)
    kind = draw(_kinds(windowing, KINDS, changing))
    return Step(windowing, kind, assigns, one_key=draw(st.booleans()))
