"""Strategies for window functions, triggers and windowing strategies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import attrs

from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.linked_windows import LinkedWindows
from headrace.sdk.testing.runs.run import is_big, is_odd, patience
from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.sdk.testing.strategies.arriving import SECONDS, SUMMER_TIME_BEGINS, Scale
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
from headrace.windowing.time.timestamps import DurationTypes, duration_micros
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

LATENESSES: Final = (0, 3, 12, 10_000, 1, 6)
"""Allowed lateness in units of event time; except for the longest, some elements are later."""

ONE_IN: Final = 3
"""In one windowing of this many, only windows, mode, lateness and a usual trigger are drawn."""

USUAL: Final = (
    DefaultTrigger(),
    DefaultTrigger(),
    AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
    AfterWatermark(early=AfterCount(3), late=AfterCount(2)),
)
"""The usual triggers, of which half are the default one; they lose no data."""


@attrs.frozen
class Where:
    """A window function, and a scale of event time at which elements share its windows.

    >>> Where(FixedWindows(3600), Scale(unit=600_000_000)).window_fn
    FixedWindows(size=Duration(3600), offset=Duration(0))
    """

    window_fn: WindowFn
    scale: Scale = SECONDS


@cache
def aligned() -> st.SearchStrategy[Where]:
    """Draw windows that are the same for all keys: global, fixed and sliding windows."""
    sizes = st.integers(1, 20)
    return st.one_of(
        st.just(Where(GlobalWindows())),
        st.builds(FixedWindows, sizes, st.integers(0, 5)).map(Where),
        st.builds(SlidingWindows, sizes, st.integers(4, 12), st.integers(0, 3)).map(Where),
    )


@cache
def calendars() -> st.SearchStrategy[Where]:
    """Draw windows of days and months in two time zones."""
    zones, start = st.sampled_from(["UTC", "America/New_York"]), st.just("2013-03-01")
    window_fns = st.one_of(
        st.builds(CalendarWindows.days, st.integers(1, 2), zones, start),
        st.builds(CalendarWindows.months, st.just(1), zones, start),
    )
    return st.builds(Where, window_fns, st.just(SUMMER_TIME_BEGINS))


@cache
def merging() -> st.SearchStrategy[Where]:
    """Draw windows that merge and grow, and windows that shrink."""
    return st.one_of(growing(), st.just(Where(ValidityWindows())))


@cache
def growing() -> st.SearchStrategy[Where]:
    """Draw windows that merge into larger ones: sessions with a fixed or variable gap, and linked windows."""
    sizes = st.integers(1, 5)
    return st.one_of(
        st.builds(Sessions, st.integers(1, 10)).map(Where),
        st.just(Where(Sessions(patience, max_gap=7))),
        st.builds(LinkedWindows, sizes, sizes).map(Where),
    )


def wheres() -> st.SearchStrategy[Where]:
    """Draw all window functions, each with a suitable scale."""
    return st.one_of(aligned(), merging(), calendars())


def window_fns(merging_ones: bool | None = None) -> st.SearchStrategy[WindowFn]:
    """Draw window functions whose windows last for some seconds, days or months.

    Args:
        merging_ones: True for window functions that merge, False for those that do not; None for all.

    >>> from hypothesis import find
    >>> find(window_fns(merging_ones=True), lambda window_fn: True).is_merging()
    True
    """
    kinds = {None: wheres(), True: merging(), False: st.one_of(aligned(), calendars())}
    return kinds[merging_ones].map(lambda where: where.window_fn)


@cache
def leaves() -> st.SearchStrategy[Trigger]:
    """Draw triggers that are not composed of others."""
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
def any_triggers(depth: int = 2) -> st.SearchStrategy[Trigger]:
    """Draw triggers up to a nesting depth; some of them lose data."""
    if not depth:
        return leaves()
    part = any_triggers(depth - 1)
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
    """Draw triggers that lose no data with a lateness, in microseconds; one that would is repeated."""
    allowed = WindowingStrategy(allowed_lateness=lateness)
    return any_triggers(depth).map(lambda t: Repeatedly(t) if t.may_finish(allowed) else t)


def triggers(
    depth: int = 2, safe: bool = True, lateness: DurationTypes = 0
) -> st.SearchStrategy[Trigger]:
    """Draw trigger expressions.

    Args:
        depth: maximum nesting depth.
        safe: whether to omit triggers that lose data; a pipeline refuses these without
            ``--allow_unsafe_triggers``.
        lateness: the allowed lateness for which triggers must be safe; seconds, timedelta or Duration.

    >>> from hypothesis import find
    >>> len(find(triggers(), lambda trigger: trigger.predicates).predicates)
    1
    """
    return safe_triggers(duration_micros(lateness), depth) if safe else any_triggers(depth)


@st.composite
def windowings(
    draw: st.DrawFn,
    where: Where | WindowFn | None = None,
    modes: Sequence[AccumulationMode] = tuple(AccumulationMode),
    least_lateness: int = 0,
    safe: bool = True,
) -> WindowingStrategy:
    """Draw windowing strategies, as for ``WindowInto``.

    Args:
        draw: given by Hypothesis.
        where: the window function, optionally with its scale; None for any.
        modes: the accumulation modes.
        least_lateness: minimum allowed lateness, in microseconds.
        safe: whether to omit triggers that lose data.

    >>> from hypothesis import find
    >>> find(windowings(FixedWindows(60)), lambda s: s.allowed_lateness).window_fn
    FixedWindows(size=Duration(60), offset=Duration(0))
    """
    if where is None:
        where = draw(wheres())
    if isinstance(where, WindowFn):
        where = Where(where)
    lateness = least_lateness + draw(st.sampled_from(LATENESSES)) * where.scale.unit
    mode = draw(st.sampled_from(modes))
    if draw(st.integers(0, ONE_IN - 1)) == 0:
        return WindowingStrategy(
            window_fn=where.window_fn,
            trigger=draw(st.sampled_from(USUAL)),
            accumulation_mode=mode,
            allowed_lateness=lateness,
        )
    return WindowingStrategy(
        window_fn=where.window_fn,
        trigger=draw(safe_triggers(lateness) if safe else any_triggers()),
        accumulation_mode=mode,
        allowed_lateness=lateness,
        timestamp_combiner=draw(st.sampled_from(TimestampCombiner)),
        on_time=draw(st.sampled_from(OnTimeBehavior)),
        closing=draw(
            st.sampled_from([ClosingBehavior.FIRE_IF_NON_EMPTY, ClosingBehavior.FIRE_ALWAYS])
        ),
    )
