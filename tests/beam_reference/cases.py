"""Random cases in which the two models agree, and what is left of a case where they do not.

Beam's Python and Headrace mean the same by a trigger, but for what docs/reference/differences.md says. So
triggers are drawn from those whose meaning is shared (:func:`triggers`), and elements are left out
at moments where the models part (:func:`undisputed`). What remains different is the same in every
case, and is translated in `agreement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from hypothesis import strategies as st

from headrace.triggers import (
    AccumulationMode,
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    DefaultTrigger,
    Never,
    OrFinally,
    Repeatedly,
    Trigger,
    WindowingStrategy,
)
from headrace.windowing.sessions import Sessions
from headrace.windowing.time import MAX_MICROS, MIN_MICROS
from tests.beam_reference.kit import SECOND, Event, Row, Run, Step, Where, scripts
from tests.oracle import translate
from tests.oracle.story import Element, Window

MODES = (AccumulationMode.DISCARDING, AccumulationMode.ACCUMULATING)
WATERMARK = (DefaultTrigger, AfterWatermark)


def sessions() -> st.SearchStrategy[Where]:
    """Sessions with one gap; Beam's Python has no others, and no windows that shrink."""
    return st.builds(Sessions, st.integers(1, 10)).map(Where)


# Triggers


COUNTS = st.builds(AfterCount, st.integers(1, 4))


@cache
def data_triggers(depth: int = 2) -> st.SearchStrategy[Trigger]:
    """Triggers that look at elements and the watermark."""
    return _data_triggers(depth).filter(means_the_same)


def _data_triggers(depth: int) -> st.SearchStrategy[Trigger]:
    leaves = st.one_of(_once(0), st.sampled_from([DefaultTrigger(), Always(), Never()]))
    if not depth:
        return leaves
    part = _data_triggers(depth - 1)
    maybe = st.none() | part
    return st.one_of(
        leaves,
        _once(depth),
        st.builds(AfterWatermark, early=maybe, late=maybe),
        st.builds(Repeatedly, part),
        st.builds(AfterEach, part, part),
    )


def _once(depth: int) -> st.SearchStrategy[Trigger]:
    """Triggers that are finished when they have fired: what AfterAny and AfterAll are made for."""
    leaves = COUNTS | st.just(AfterWatermark())
    if not depth:
        return leaves
    part = _once(depth - 1)
    return st.one_of(
        leaves,
        st.builds(AfterAny, part, part),
        st.builds(AfterAll, part, part),
        st.builds(OrFinally, part, leaves),
    )


@cache
def timed_triggers() -> st.SearchStrategy[Trigger]:
    """Triggers some part of which looks at the clock."""
    timed, other = _timed(2), st.none() | COUNTS | COUNTS.map(Repeatedly)
    late = st.builds(AfterWatermark, early=other, late=timed)
    early = st.builds(AfterWatermark, early=timed, late=other)
    return st.one_of(timed, late, late.map(Repeatedly), early).filter(means_the_same)


def _timed(depth: int) -> st.SearchStrategy[Trigger]:
    leaves = st.builds(AfterProcessingTime, st.integers(0, 15))
    if not depth:
        return leaves
    part = _timed(depth - 1)
    return st.one_of(
        leaves,
        st.builds(Repeatedly, part),
        st.builds(AfterEach, part, part),
        st.builds(AfterEach, part, COUNTS),
        st.builds(AfterEach, COUNTS, part),
    )


def means_the_same(trigger: Trigger) -> bool:
    """Whether Beam takes a trigger for what it is taken for here.

    The sections of docs/reference/differences.md: "Several watermark triggers", "A watermark trigger in
    a sequence", "Timers of early firings".
    """
    parts = list(within(trigger))
    turns = [turn for part in parts if isinstance(part, AfterEach) for turn in part.triggers]
    early = [part for part in parts if isinstance(part, AfterWatermark) and is_timed(part.early)]
    return (
        sum(isinstance(part, WATERMARK) for part in parts) <= 1
        and not any(map(watches, turns))
        and all(part is trigger and not is_timed(part.late) for part in early)
    )


def is_timed(trigger: Trigger | None) -> bool:
    """Whether some part of a trigger looks at the clock."""
    return trigger is not None and any(
        isinstance(part, AfterProcessingTime) for part in within(trigger)
    )


def watches(trigger: Trigger) -> bool:
    """Whether some part of a trigger watches the watermark."""
    return any(isinstance(part, WATERMARK) for part in within(trigger))


def within(trigger: Trigger) -> Iterator[Trigger]:
    """A trigger, and all its parts."""
    yield trigger
    for part in trigger.children:
        yield from within(part)


# Cases


@st.composite
def cases(
    draw: st.DrawFn,
    windows: st.SearchStrategy[Where],
    triggers: st.SearchStrategy[Trigger],
    in_pipeline: bool = False,
) -> Run:
    """A grouping into lists, and a script without what the two models see differently.

    Args:
        windows: window functions.
        triggers: triggers.
        in_pipeline: whether a pipeline of Beam's will run it. Such a script ends at the end of time, no
            window expires before that, and times are whole milliseconds.
    """
    where = draw(windows)
    windowing = WindowingStrategy(
        window_fn=where.window_fn,
        trigger=draw(triggers),
        accumulation_mode=draw(st.sampled_from(MODES)),
        allowed_lateness=draw(st.sampled_from([10_000] if in_pipeline else [0, 3, 12, 10_000]))
        * SECOND,
    )
    script = draw(scripts(where.scale, to_infinity=True if in_pipeline else None))
    script = for_pipeline(script, windowing) if in_pipeline else script
    return Run(undisputed(script, windowing), (Step(windowing, "list"),))


def for_pipeline(script: Sequence[Event], windowing: WindowingStrategy) -> Iterator[Event]:
    """A script that Beam's runner can play to its end.

    Its TestStream knows no times below milliseconds; it stops at an element that lies in no window; and
    it never stops as long as a timer waits for the clock.
    """
    windows, now = assigner(windowing), 0
    *before, end = map(in_milliseconds, script)
    for kind, what in before:
        now = what if kind == "clock" else now
        yield kind, tuple(filter(windows, what)) if kind == "elements" else what
    yield "clock", now + 1_000 * SECOND
    yield end


def in_milliseconds(event: Event) -> Event:
    """An event whose odd microseconds are milliseconds."""
    kind, what = event
    if kind == "elements":
        return kind, tuple((key, value, _coarse(at), diff) for key, value, at, diff in what)
    return kind, _coarse(what)


def _coarse(micros: int) -> int:
    if micros == MAX_MICROS:
        return micros
    seconds = round(micros / SECOND)
    return seconds * SECOND + (micros - seconds * SECOND) * 1000


def undisputed(script: Iterable[Event], windowing: WindowingStrategy) -> tuple[Event, ...]:
    """A script without the elements whose fate the two models see differently."""
    disputed = _disputed_in_sessions if has_sessions(windowing) else _disputed_in_windows
    watermark, left = MIN_MICROS, []
    for kind, what in script:
        watermark = what if kind == "watermark" else watermark
        if kind == "elements":
            what = tuple(row for row in what if not disputed(row, watermark, windowing))
        if what != ():
            left.append((kind, what))
    return tuple(left)


def has_sessions(windowing: WindowingStrategy) -> bool:
    return isinstance(windowing.window_fn, Sessions)


def _disputed_in_windows(row: Row, watermark: int, windowing: WindowingStrategy) -> bool:
    """Whether a window of an element expires at this very watermark."""
    windows = assigner(windowing)(row)
    return any(end + windowing.allowed_lateness == watermark for _, end in windows)


def _disputed_in_sessions(row: Row, watermark: int, windowing: WindowingStrategy) -> bool:
    """Whether an element may touch a session that has expired or that has seen its end.

    An expired session lives on in Beam. One whose watermark trigger has fired gives Beam's merged
    window its state, and ours begins anew.
    """
    allowed = 0 if watches(windowing.trigger) else windowing.allowed_lateness
    return row[2] < watermark - allowed


def assigner(windowing: WindowingStrategy) -> Callable[[Row], list[Window]]:
    """The windows of a row, as the oracle has them."""
    window_fn = translate.window_fn(windowing.window_fn)
    return lambda row: window_fn.assign(Element(*row), row[2])
