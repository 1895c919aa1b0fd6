"""Random cases in which Beam and Headrace agree.

Triggers mean the same in Beam's Python and in Headrace, except for the deliberate differences of
docs/reference/differences.md. So triggers are drawn from those with a shared meaning (:func:`triggers`),
and elements are left out where the models differ (:func:`without_disputed`). Differences that are the same
in every case are translated in `comparison`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial

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
from tests.beam.reference.kit import (
    SECOND,
    Run,
    ScriptEvent,
    ScriptRow,
    Step,
    Where,
    in_milliseconds,
    scripts,
    without,
)
from tests.laws.oracle import translate
from tests.laws.oracle.window_history import Element, Window

MODES = (AccumulationMode.DISCARDING, AccumulationMode.ACCUMULATING)
WATERMARK = (DefaultTrigger, AfterWatermark)


def sessions() -> st.SearchStrategy[Where]:
    """Sessions with a fixed gap; Beam's Python has no others, and no windows that shrink."""
    return st.builds(Sessions, st.integers(1, 10)).map(Where)


# Triggers


COUNTS = st.builds(AfterCount, st.integers(1, 4))


@cache
def data_triggers(depth: int = 2) -> st.SearchStrategy[Trigger]:
    """Triggers that depend on elements and the watermark."""
    return _data_triggers(depth).filter(is_shared)


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
    """Triggers that are finished after they fire, for AfterAny and AfterAll."""
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
    """Triggers that depend on processing time."""
    timed, other = _timed(2), st.none() | COUNTS | COUNTS.map(Repeatedly)
    late = st.builds(AfterWatermark, early=other, late=timed)
    early = st.builds(AfterWatermark, early=timed, late=other)
    return st.one_of(timed, late, late.map(Repeatedly), early).filter(is_shared)


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


def is_shared(trigger: Trigger) -> bool:
    """Whether a trigger means the same in Beam.

    See the sections of docs/reference/differences.md: "Several watermark triggers", "A watermark trigger in a
    sequence", "Timers of early firings".
    """
    parts = list(within(trigger))
    turns = [turn for part in parts if isinstance(part, AfterEach) for turn in part.triggers]
    early = [part for part in parts if isinstance(part, AfterWatermark) and is_timed(part.early)]
    return (
        sum(isinstance(part, WATERMARK) for part in parts) <= 1
        and not any(map(uses_watermark, turns))
        and all(part is trigger and not is_timed(part.late) for part in early)
    )


def is_timed(trigger: Trigger | None) -> bool:
    """Whether some part of a trigger depends on processing time."""
    return trigger is not None and any(
        isinstance(part, AfterProcessingTime) for part in within(trigger)
    )


def uses_watermark(trigger: Trigger) -> bool:
    """Whether some part of a trigger depends on the watermark."""
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
    """A grouping into lists, and a script without elements that the two models treat differently.

    Args:
        windows: window functions.
        triggers: triggers.
        in_pipeline: whether a Beam pipeline will run it. Such a script ends at the end of time, no window
            expires before that, and times are whole milliseconds.
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
    script = tuple(for_pipeline(script, windowing)) if in_pipeline else script
    return Run(without_disputed(script, windowing), (Step(windowing, "list"),))


def for_pipeline(
    script: Sequence[ScriptEvent], windowing: WindowingStrategy
) -> Iterator[ScriptEvent]:
    """A script that Beam's runner can run to its end.

    Its TestStream has a resolution of milliseconds; it stops at an element that is in no window; and it
    does not stop while a processing-time timer is set.
    """
    windows, now = assigner(windowing), 0
    *before, end = in_milliseconds(tuple(script))
    for kind, what in before:
        now = what if kind == "clock" else now
        yield kind, tuple(filter(windows, what)) if kind == "elements" else what
    yield "clock", now + 1_000 * SECOND
    yield end


def without_disputed(
    script: Iterable[ScriptEvent], windowing: WindowingStrategy
) -> tuple[ScriptEvent, ...]:
    """A script without the elements that the two models treat differently."""
    disputed = _disputed_in_sessions if has_sessions(windowing) else _disputed_in_windows
    return without(tuple(script), partial(disputed, windowing=windowing))


def has_sessions(windowing: WindowingStrategy) -> bool:
    return isinstance(windowing.window_fn, Sessions)


def _disputed_in_windows(row: ScriptRow, watermark: int, windowing: WindowingStrategy) -> bool:
    """Whether a window of an element expires at exactly this watermark."""
    windows = assigner(windowing)(row)
    return any(end + windowing.allowed_lateness == watermark for _, end in windows)


def _disputed_in_sessions(row: ScriptRow, watermark: int, windowing: WindowingStrategy) -> bool:
    """Whether an element may merge with a session that has expired or has fired at its end.

    Beam keeps an expired session. If the watermark trigger of a session has fired, Beam's merged window
    gets its state, and ours starts anew.
    """
    allowed = 0 if uses_watermark(windowing.trigger) else windowing.allowed_lateness
    return row[2] < watermark - allowed


def assigner(windowing: WindowingStrategy) -> Callable[[ScriptRow], list[Window]]:
    """The windows of a row, computed by the oracle."""
    window_fn = translate.window_fn(windowing.window_fn)
    return lambda row: window_fn.assign(Element(*row), row[2])
