"""Triggers that wait for the watermark to pass the end of the window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from headrace.errors import PipelineError
from headrace.triggers.composite_triggers import Repeatedly
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.trigger import (
    ASLEEP,
    FINISHED,
    NEVER,
    Arrived,
    Clock,
    EndlessTrigger,
    Trigger,
    TriggerState,
    Wake,
    Windowing,
    check_is_trigger,
    wake_at,
)


@attrs.frozen(repr=False)
class DefaultTrigger(EndlessTrigger):
    """Fires at the end of the window, and again for late elements (Beam's name).

    The same as ``Repeatedly(AfterWatermark())``, without state.

    >>> DefaultTrigger()
    DefaultTrigger()
    """

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return clock.watermark > last

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        return wake_at((last + 1, NEVER)) if clock.watermark <= last else ASLEEP

    def may_repeat(self, windowing: Windowing) -> bool:
        return windowing.allowed_lateness > 0

    has_on_time = True

    fires_only_at_end = True


def _repeated(trigger: Trigger | None) -> Repeatedly | None:
    """Return a trigger in exactly one Repeatedly, since repeating twice has no effect."""
    while isinstance(trigger, Repeatedly):
        trigger = trigger.underlying
    if trigger is None:
        return None
    check_is_trigger(trigger, "AfterWatermark")
    return Repeatedly(trigger)


_EARLY: Final = False
_LATE: Final = True


@attrs.frozen(repr=False, init=False)
class AfterWatermark(Trigger):
    """Fires when the watermark passes the end of the window (Beam's name).

    With ``early`` and ``late`` it fires before and after that, too. A merged window is in the late phase
    only if all its windows are and it has ended; else it returns to the early phase, since some of its
    elements have not been in an ON_TIME pane.

    Args:
        early: repeated until the end of the window; None for no early panes.
        late: repeated after the end of the window; None to finish at the end of the window.
        percentile: must be None. The paper's percentile watermark is the policy
            :class:`~headrace.Percentile` of a source: then the watermark itself passes the end of the
            window when p percent of the elements have probably arrived, and ``late`` is for the others.

    Raises:
        PipelineError: a part is not a trigger, or there is a percentile.

    >>> from headrace.triggers import AfterCount, AfterProcessingTime
    >>> AfterWatermark(early=AfterProcessingTime(60), late=AfterCount(1))
    AfterWatermark(early=AfterProcessingTime(60), late=AfterCount(1))
    """

    # The state is FINISHED, or the phase and the state of its trigger.

    early: Repeatedly | None = attrs.field(default=None, converter=_repeated)
    late: Repeatedly | None = attrs.field(default=None, converter=_repeated)
    start: TriggerState = attrs.field(init=False, eq=False)
    _late_start: TriggerState = attrs.field(init=False, eq=False)

    def __init__(
        self, early: Trigger | None = None, late: Trigger | None = None, *, percentile: None = None
    ) -> None:
        if percentile is not None:
            raise PipelineError(
                f"AfterWatermark has the percentile {percentile!r}, but a collection has one watermark, and "
                "none for each percentile",
                remedy=f"read the source with watermark=hr.Percentile({percentile!r}), so that the watermark "
                "trails the newest element by that percentile of lateness, and set late=… for the rest",
            )
        self.__attrs_init__(early, late)

    @start.default
    def _start_early(self) -> TriggerState:
        return (_EARLY, self.early.start if self.early else None)

    @_late_start.default
    def _start_late(self) -> TriggerState:
        return (_LATE, self.late.start) if self.late else FINISHED

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        phase, part = state
        trigger = self.late if phase is _LATE else self.early
        if trigger is None:
            return state
        after = trigger.on_elements(part, arrived, now)
        return state if after is part else (phase, after)

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        early = [state[1] for state in states if state != FINISHED and state[0] is _EARLY]
        if not early and clock.watermark > last:
            return self._merge_late([state[1] for state in states], last, clock)
        if not early or self.early is None:
            return self.start
        return (_EARLY, self.early.on_merge(early, last, clock))

    def _merge_late(self, parts: list[TriggerState], last: int, clock: Clock) -> TriggerState:
        if self.late is None:
            return FINISHED
        return (_LATE, self.late.on_merge(parts, last, clock))

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        if state == FINISHED:
            return False
        phase, part = state
        if phase is _LATE:
            return self.late is not None and self.late.should_fire(part, last, clock)
        if clock.watermark > last:
            return True
        return self.early is not None and self.early.should_fire(part, last, clock)

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        phase, part = state
        trigger = self.late if phase is _LATE else self.early
        if trigger is None or (phase is _EARLY and clock.watermark > last):
            return self._late_start
        return (phase, trigger.on_fire(part, last, clock))

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        if state == FINISHED:
            return ASLEEP
        phase, part = state
        trigger = self.late if phase is _LATE else self.early
        wake = trigger.wake(part, last, clock) if trigger else ASLEEP
        if phase is _LATE or clock.watermark > last:
            return wake
        watermark, now = wake
        return wake_at((min(watermark, last + 1), now))

    def get_continuation_trigger(self) -> Trigger:
        return AfterWatermark(
            early=self.early.get_continuation_trigger() if self.early else None,
            late=self.late.get_continuation_trigger() if self.late else None,
        )

    def may_finish(self, windowing: Windowing) -> bool:
        return self.late is None and windowing.allowed_lateness != 0

    def may_repeat(self, windowing: Windowing) -> bool:
        late = self.late is not None and windowing.allowed_lateness > 0
        return self.early is not None or late

    has_on_time = True

    @property
    def fires_only_at_end(self) -> bool:
        return self.early is None

    @property
    def early_count(self) -> int:
        if self.early is None:
            return NEVER
        return self.early.underlying.count if isinstance(self.early.underlying, AfterCount) else 0

    @property
    def children(self) -> tuple[Trigger, ...]:
        return tuple(part for part in (self.early, self.late) if part)

    def _arguments(self) -> Iterable[str]:
        if self.early:
            yield f"early={self.early.underlying!r}"
        if self.late:
            yield f"late={self.late.underlying!r}"
