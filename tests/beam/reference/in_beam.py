"""Converts window functions, triggers and windowing strategies to Beam."""

from __future__ import annotations

import warnings
from typing import Any

from headrace.triggers import AccumulationMode, Trigger, WindowingStrategy
from headrace.windowing.sessions import Sessions
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from apache_beam.transforms import trigger as beam_trigger, window as beam_window
    from apache_beam.transforms.core import Windowing
    from apache_beam.transforms.trigger import _Never
    from apache_beam.utils.timestamp import Duration, Timestamp

NAMES = {**vars(beam_trigger), "Never": _Never}


def trigger(of: Trigger) -> Any:
    """The same trigger, made of Beam's triggers."""
    return eval(repr(of), dict(NAMES))


def window_fn(of: WindowFn) -> Any:
    """The same window function, if Beam's Python has it."""
    return WINDOW_FNS[type(of)](of)


WINDOW_FNS: dict[type[WindowFn], Any] = {
    GlobalWindows: lambda of: beam_window.GlobalWindows(),
    FixedWindows: lambda of: beam_window.FixedWindows(
        duration(of.size.micros), instant(of.offset.micros)
    ),
    SlidingWindows: lambda of: beam_window.SlidingWindows(
        duration(of.size.micros), duration(of.period.micros), instant(of.offset.micros)
    ),
    Sessions: lambda of: beam_window.Sessions(duration(of.gap_size.micros)),
}


def windowing(of: WindowingStrategy) -> Any:
    """The same strategy; Beam has no on-time and closing behaviours."""
    return Windowing(
        window_fn(of.window_fn),
        trigger(of.trigger),
        mode(of.accumulation_mode),
        getattr(beam_window.TimestampCombiner, of.timestamp_combiner.name),
        allowed_lateness=duration(of.allowed_lateness),
    )


def mode(of: AccumulationMode) -> Any:
    """The same accumulation mode; Beam has no RETRACTING."""
    return getattr(beam_trigger.AccumulationMode, of.name)


def duration(micros: int) -> Any:
    return Duration(micros=micros)


def instant(micros: int) -> Any:
    return Timestamp(micros=micros)
