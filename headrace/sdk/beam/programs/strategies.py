"""Windowing strategies of Beam as ours: triggers, accumulation modes and timestamp combiners by tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from apache_beam.transforms import trigger as beam_triggers
from apache_beam.transforms.window import TimestampCombiner as BeamCombiner
from apache_beam.utils.timestamp import Duration as BeamDuration

from headrace.errors import UnsupportedError
from headrace.sdk.beam.programs.retractions import RETRACTING_IN_BEAM
from headrace.sdk.beam.programs.window_fns import window_fn_of
from headrace.triggers.clock_triggers import AfterProcessingTime
from headrace.triggers.composite_triggers import (
    AfterAll,
    AfterAny,
    AfterEach,
    OrFinally,
    Repeatedly,
)
from headrace.triggers.data_triggers import AfterCount, Always, Never
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import AfterWatermark, DefaultTrigger
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.timestamp_combiner import TimestampCombiner


def trigger_of(trigger: Any) -> Trigger:
    """Return a trigger of Beam as ours.

    Raises:
        UnsupportedError: it is of a class that a program wrote.
    """
    make = _TRIGGERS.get(type(trigger))
    if make is None:
        raise UnsupportedError(
            f"the trigger {trigger!r} is of a class that Headrace does not know",
            remedy="compose Beam's own triggers",
        )
    return make(trigger)


def _parts(trigger: Any) -> list[Trigger]:
    return [trigger_of(part) for part in trigger.triggers]


def _part(trigger: Any) -> Trigger | None:
    return None if trigger is None else trigger_of(trigger)


def _at_once() -> Trigger:
    """Return what follows a trigger of processing time at a later grouping."""
    return AfterProcessingTime(0).get_continuation_trigger()


_TRIGGERS: Final[dict[type, Callable[[Any], Trigger]]] = {
    beam_triggers.DefaultTrigger: lambda _: DefaultTrigger(),
    beam_triggers.AfterWatermark: lambda t: AfterWatermark(_part(t.early), _part(t.late)),
    beam_triggers.AfterProcessingTime: lambda t: AfterProcessingTime(t.delay),
    beam_triggers._AfterSynchronizedProcessingTime: lambda _: _at_once(),
    beam_triggers.AfterCount: lambda t: AfterCount(t.count),
    beam_triggers.Repeatedly: lambda t: Repeatedly(trigger_of(t.underlying)),
    beam_triggers.AfterAny: lambda t: AfterAny(*_parts(t)),
    beam_triggers.AfterAll: lambda t: AfterAll(*_parts(t)),
    beam_triggers.AfterEach: lambda t: AfterEach(*_parts(t)),
    beam_triggers.OrFinally: lambda t: OrFinally(*_parts(t)),
    beam_triggers.Always: lambda _: Always(),
    beam_triggers._Never: lambda _: Never(),
}

_MODES: Final = {
    RETRACTING_IN_BEAM: AccumulationMode.RETRACTING,
    beam_triggers.AccumulationMode.DISCARDING: AccumulationMode.DISCARDING,
    beam_triggers.AccumulationMode.ACCUMULATING: AccumulationMode.ACCUMULATING,
}

_COMBINERS: Final = {
    BeamCombiner.OUTPUT_AT_EOW: TimestampCombiner.OUTPUT_AT_EOW,
    BeamCombiner.OUTPUT_AT_EARLIEST: TimestampCombiner.OUTPUT_AT_EARLIEST,
    BeamCombiner.OUTPUT_AT_LATEST: TimestampCombiner.OUTPUT_AT_LATEST,
}


def strategy_of(windowing: Any) -> WindowingStrategy:
    """Return the windowing of a collection of Beam as a windowing strategy.

    Raises:
        UnsupportedError: a part of it has no equivalent.
    """
    return WindowingStrategy(
        window_fn=window_fn_of(windowing.windowfn),
        trigger=trigger_of(windowing.triggerfn),
        accumulation_mode=_MODES[windowing.accumulation_mode],
        allowed_lateness=min(BeamDuration.of(windowing.allowed_lateness).micros, MAX_MICROS),
        timestamp_combiner=_combiner_of(windowing.timestamp_combiner),
    )


def _combiner_of(combiner: Any) -> TimestampCombiner:
    found = _COMBINERS.get(combiner)
    if found is None:
        raise UnsupportedError(
            f"the timestamp combiner {combiner!r} has no equivalent",
            remedy="use OUTPUT_AT_EOW, OUTPUT_AT_EARLIEST or OUTPUT_AT_LATEST",
        )
    return found
