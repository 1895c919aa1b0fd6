"""Converts the engine's windowing strategies to this model.

It only reads fields, by class name; it calls nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.laws.oracle import triggers, windows
from tests.laws.oracle.replay import Strategy

Measure = Callable[[Any], int]


def strategy(of: Any, measure: Measure = len) -> Strategy:
    """A windowing strategy; ``measure`` returns the size of a value in bytes, as the engine does."""
    return Strategy(
        windows=window_fn(of.window_fn),
        trigger=trigger(of.trigger, measure),
        mode=of.accumulation_mode.name,
        lateness=of.allowed_lateness,
        timestamps=of.timestamp_combiner.name.removeprefix("OUTPUT_AT_"),
        on_time=of.on_time.name == "FIRE_ALWAYS",
        closing=of.closing.name == "FIRE_ALWAYS",
    )


def trigger(of: Any, measure: Measure = len) -> triggers.Trigger:
    """A trigger with its parts."""
    name = type(of).__name__
    if name == "AfterBytes":
        return triggers.AfterBytes(of.size, measure)
    if name in LEAVES:
        make, *fields = LEAVES[name]
        return make(*[getattr(of, field) for field in fields])
    make, *fields = COMPOSITES[name]
    return make(*[_parts(getattr(of, field), measure) for field in fields])


def _parts(field: Any, measure: Measure) -> Any:
    if isinstance(field, tuple):
        return tuple(trigger(part, measure) for part in field)
    return field and trigger(field, measure)


def window_fn(of: Any) -> windows.WindowFn:
    """A window function."""
    return WINDOW_FNS[type(of).__name__](of)


def _gap(of: Any) -> int | Measure:
    if callable(of.gap_size):
        return lambda element: round(of.gap_size(element) * 1_000_000)
    return of.gap_size.micros


WINDOW_FNS: dict[str, Callable[[Any], windows.WindowFn]] = {
    "GlobalWindows": lambda of: windows.Global(),
    "FixedWindows": lambda of: windows.fixed(of.size.micros, of.offset.micros),
    "SlidingWindows": lambda of: windows.Sliding(
        of.size.micros, of.period.micros, of.offset.micros
    ),
    "Sessions": lambda of: windows.Sessions(_gap(of), of.max_gap and of.max_gap.micros),
    "CalendarWindows": lambda of: windows.Calendar(
        of.number * (of.unit == "days"), of.number * (of.unit == "months"), of.timezone, of.start
    ),
    "ValidityWindows": lambda of: windows.Validity(),
    "LinkedWindows": lambda of: windows.Linked(of.size.micros, of.near.micros),
}


LEAVES: dict[str, tuple[Any, ...]] = {
    "DefaultTrigger": (triggers.Default,),
    "AfterCount": (triggers.AfterCount, "count"),
    "AfterElement": (triggers.AfterElement, "predicate"),
    "AfterProcessingTime": (triggers.AfterProcessingTime, "delay_micros"),
    "AtPeriod": (triggers.AtPeriod, "period_micros", "offset_micros"),
    "Always": (triggers.Always,),
    "Never": (triggers.Never,),
}

COMPOSITES: dict[str, tuple[Any, ...]] = {
    "AfterWatermark": (triggers.AfterWatermark, "early", "late"),
    "Repeatedly": (triggers.Repeatedly, "underlying"),
    "AfterAny": (triggers.AfterAny, "triggers"),
    "AfterAll": (triggers.AfterAll, "triggers"),
    "AfterEach": (triggers.AfterEach, "triggers"),
    "OrFinally": (triggers.OrFinally, "trigger", "until"),
}
