"""check_trigger passes what is sound, and says of the rest which law it breaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, example, given, settings

from headrace.testing.laws import LawBroken, check_trigger
from headrace.testing.strategies import triggers
from headrace.triggers import (
    AfterBytes,
    AfterCount,
    AfterEach,
    AfterElement,
    AfterProcessingTime,
    AfterWatermark,
    AtPeriod,
    DefaultTrigger,
    Repeatedly,
    Trigger,
)
from headrace.triggers.trigger import ASLEEP, FINISHED, Arrived, Clock, Wake, Windowing


class SaysItWaits(AfterCount):
    @property
    def fires_only_at_end(self) -> bool:
        return True


class MissesTheEnd(SaysItWaits):
    def should_fire(self, state: Any, last: int, clock: Clock) -> bool:
        return clock.watermark > last and super().should_fire(state, last, clock)


class SaysItMayFinish(DefaultTrigger):
    def may_finish(self, windowing: Windowing) -> bool:
        return True


class SaysItFiresOnce(DefaultTrigger):
    def may_repeat(self, windowing: Windowing) -> bool:
        return False


class SaysItGoesOn(AfterCount):
    def may_finish(self, windowing: Windowing) -> bool:
        return False


class SaysCountsAreEnough(AfterElement):
    @property
    def needs_only_counts(self) -> bool:
        return True


class DoesNotAskForSizes(AfterBytes):
    wants_size = False


class Oversleeps(AfterProcessingTime):
    def wake(self, state: Any, last: int, clock: Clock) -> Wake:
        return ASLEEP


class WakesInThePast(DefaultTrigger):
    def wake(self, state: Any, last: int, clock: Clock) -> Wake:
        return Wake(last + 1)


class KeepsTheFirst(AfterCount):
    def on_merge(self, states: Sequence[Any], last: int, clock: Clock) -> Any:
        return states[0]


class Forgets(AfterCount):
    def on_merge(self, states: Sequence[Any], last: int, clock: Clock) -> Any:
        return 0


class Lists(AfterCount):
    def on_elements(self, state: Any, arrived: Arrived, now: int) -> Any:
        return [arrived.count]

    def should_fire(self, state: Any, last: int, clock: Clock) -> bool:
        return False


class FiresOn(AfterCount):
    def should_fire(self, state: Any, last: int, clock: Clock) -> bool:
        return bool(state == FINISHED or state >= self.count)


@attrs.frozen
class HidesItsPart(Repeatedly):
    @property
    def children(self) -> tuple[Trigger, ...]:
        return ()


def is_long(value: Any) -> bool:
    return len(value) > 3


SPOILT = {
    SaysItWaits(3): "fires_only_at_end does not fire before the end",
    MissesTheEnd(3): "fires_only_at_end fires at the end of its window",
    SaysItMayFinish(): "that may finish does so when it fires",
    SaysItFiresOnce(): "whose may_repeat is False fires once",
    SaysItGoesOn(1): "whose may_finish is False does not finish",
    SaysCountsAreEnough(is_long): "does not read facts that it does not ask for",
    DoesNotAskForSizes(20): "does not read facts that it does not ask for",
    HidesItsPart(AfterBytes(20)): "does not read facts that it does not ask for",
    Oversleeps(3): "becomes ready was woken",
    WakesInThePast(): "wake-ups are later than the current times",
    KeepsTheFirst(9): "merging does not depend on the order",
    Forgets(9): "merges with no other keeps its state",
    Lists(1): "a state is plain data",
    FiresOn(1): "a finished trigger never fires",
}


@pytest.mark.slow
@pytest.mark.parametrize("trigger", SPOILT, ids=lambda trigger: type(trigger).__name__)
def test_a_law_that_is_broken_is_named(trigger: Trigger) -> None:
    with pytest.raises(LawBroken, match=SPOILT[trigger]) as raised:
        check_trigger(trigger)
    assert repr(trigger) in raised.value.given
    assert "what to do: " in str(raised.value)


@settings(max_examples=15, suppress_health_check=[HealthCheck.nested_given], deadline=None)
@given(triggers(safe=False))
@example(AfterEach(AtPeriod(4), AfterWatermark(AfterCount(2), AfterProcessingTime(3))))
def test_the_triggers_that_are_drawn_are_sound(trigger: Trigger) -> None:
    check_trigger(trigger, cases=10)
