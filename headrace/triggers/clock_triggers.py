"""Triggers that wait for processing time: after a delay, or at the boundaries of a period.

Their state is a deadline, in microseconds of processing time; the first element sets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.triggers.trigger import (
    ASLEEP,
    FINISHED,
    NEVER,
    Arrived,
    Clock,
    Trigger,
    TriggerState,
    Wake,
    wake_at,
)
from headrace.windowing.time.timestamps import MICROS_PER_SECOND, duration_micros


class _Deadline(Trigger):
    """A trigger whose state is None, or the processing time at which it fires."""

    __slots__ = ()

    @property
    def start(self) -> TriggerState:
        return None

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        if FINISHED in states:
            return FINISHED
        return min([state for state in states if state is not None], default=None)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return state is not None and state != FINISHED and clock.now >= state

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        if state is None or state == FINISHED or state <= clock.now:
            return ASLEEP
        return wake_at((NEVER, state))

    def get_continuation_trigger(self) -> Trigger:
        return AfterProcessingTime()


def _not_negative(instance: Trigger, attribute: attrs.Attribute[Any], micros: int) -> None:
    if micros < 0:
        raise PipelineError(
            f"a delay of {_seconds(micros)} seconds is negative",
            where=type(instance).__name__,
            remedy="pass a delay of at least 0 seconds",
        )


def _positive(instance: Trigger, attribute: attrs.Attribute[Any], micros: int) -> None:
    if micros <= 0:
        raise PipelineError(
            f"a period of {_seconds(micros)} seconds is not positive",
            where=type(instance).__name__,
            remedy="pass a period of more than 0 seconds",
        )


@attrs.frozen(repr=False)
class AfterProcessingTime(_Deadline):
    """Fires once, at a delay after the first element arrived (Beam's name).

    A merge keeps the earliest deadline; if the trigger has fired in one of the windows, it has fired in the
    merged one.

    Args:
        delay: processing time to wait, as seconds, timedelta or Duration.

    Raises:
        PipelineError: the delay is negative.

    >>> AfterProcessingTime(delay=60)
    AfterProcessingTime(60)
    """

    delay_micros: int = attrs.field(
        default=0, converter=duration_micros, validator=_not_negative, alias="delay"
    )

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return now + self.delay_micros if state is None else state

    def _arguments(self) -> Iterable[str]:
        yield _seconds(self.delay_micros)


@attrs.frozen(repr=False)
class AtPeriod(_Deadline):
    """Fires once, at the first boundary of a period after the first element arrived.

    The paper's AtPeriod. The boundaries are at ``offset + n * period`` since 1970 in processing time,
    so that all keys fire together ("aligned"). An element that arrives exactly at a boundary waits
    for the next one.

    Args:
        period: time between boundaries, as seconds, timedelta or Duration.
        offset: time of one of the boundaries, as seconds, timedelta or Duration.

    Raises:
        PipelineError: the period is not positive.

    >>> AtPeriod(60, offset=15)
    AtPeriod(60, 15)
    """

    period_micros: int = attrs.field(converter=duration_micros, validator=_positive, alias="period")
    offset_micros: int = attrs.field(default=0, converter=duration_micros, alias="offset")

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        if state is not None:
            return state
        return now + self.period_micros - (now - self.offset_micros) % self.period_micros

    def _arguments(self) -> Iterable[str]:
        yield _seconds(self.period_micros)
        if self.offset_micros:
            yield _seconds(self.offset_micros)


def _seconds(micros: int) -> str:
    """Return a duration in seconds as text that evaluates to the same duration."""
    whole, rest = divmod(micros, MICROS_PER_SECOND)
    return repr(micros / MICROS_PER_SECOND if rest else whole)
