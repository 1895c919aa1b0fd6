"""Composite triggers: triggers made of others. Their state is a tuple of the states of their parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.triggers.trigger import (
    ASLEEP,
    Arrived,
    Clock,
    Trigger,
    TriggerState,
    Wake,
    Windowing,
    check_is_trigger,
    wake_at,
)


def _trigger(instance: Trigger, attribute: attrs.Attribute[Any], value: object) -> None:
    check_is_trigger(value, type(instance).__name__)


def _triggers(
    instance: Trigger, attribute: attrs.Attribute[Any], value: tuple[object, ...]
) -> None:
    parent = type(instance).__name__
    if not value:
        raise PipelineError(
            f"{parent} needs at least one trigger",
            where=parent,
            remedy="pass at least one trigger",
        )
    for part in value:
        check_is_trigger(part, parent)


def _earliest(wakes: Iterable[Wake]) -> Wake:
    earliest, now = ASLEEP
    for other, other_now in wakes:
        if other < earliest:
            earliest = other
        if other_now < now:
            now = other_now
    return wake_at((earliest, now))


@attrs.frozen(repr=False)
class Repeatedly(Trigger):
    """Fires whenever its part does, and restarts the part when that finishes (Beam's name).

    It never finishes.

    Args:
        underlying: the trigger to repeat.

    Raises:
        PipelineError: the part is not a trigger.

    >>> from headrace.triggers import AfterCount
    >>> Repeatedly(AfterCount(100))
    Repeatedly(AfterCount(100))
    """

    underlying: Trigger = attrs.field(validator=_trigger)
    start: TriggerState = attrs.field(init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "start", self.underlying.start)

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return self.underlying.on_elements(state, arrived, now)

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return self._restarted(self.underlying.on_merge(states, last, clock))

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return self.underlying.should_fire(state, last, clock)

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        return self._restarted(self.underlying.on_fire(state, last, clock))

    def finished(self, state: TriggerState) -> bool:
        return False

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        return self.underlying.wake(state, last, clock)

    def get_continuation_trigger(self) -> Trigger:
        return Repeatedly(self.underlying.get_continuation_trigger())

    def may_finish(self, windowing: Windowing) -> bool:
        return False

    @property
    def children(self) -> tuple[Trigger, ...]:
        return (self.underlying,)

    def _restarted(self, state: TriggerState) -> TriggerState:
        return self.start if self.underlying.finished(state) else state


class _Composite(Trigger):
    """A trigger composed of several others, each with its own state."""

    __slots__ = ()

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return tuple(
            [
                part if trigger.finished(part) else trigger.on_elements(part, arrived, now)
                for trigger, part in zip(self.children, state, strict=True)
            ]
        )

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        if self.finished(state):
            return ASLEEP
        parts = zip(self.children, state, strict=True)
        return _earliest([trigger.wake(part, last, clock) for trigger, part in parts])

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        columns = zip(self.children, zip(*states, strict=True), strict=True)
        return tuple([trigger.on_merge(column, last, clock) for trigger, column in columns])

    def may_finish(self, windowing: Windowing) -> bool:
        return any(trigger.may_finish(windowing) for trigger in self.children)

    def _continuations(self) -> list[Trigger]:
        return [trigger.get_continuation_trigger() for trigger in self.children]


@attrs.frozen(init=False, repr=False)
class _AnyNumber(_Composite):
    """A trigger composed of any number of others."""

    triggers: tuple[Trigger, ...] = attrs.field(validator=_triggers)
    start: TriggerState = attrs.field(init=False, eq=False)

    def __init__(self, *triggers: Trigger) -> None:
        self.__attrs_init__(triggers)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "start", self._first_state())

    def _first_state(self) -> TriggerState:
        return tuple([trigger.start for trigger in self.triggers])

    @property
    def children(self) -> tuple[Trigger, ...]:
        return self.triggers


class AfterAny(_AnyNumber):
    """Fires when any of its parts would, and finishes when any of them does (Beam's name).

    When it fires, the parts that are not ready restart, since their elements are in the pane, too.

    Args:
        triggers: the parts, at least one.

    Raises:
        PipelineError: there is no part, or one that is not a trigger.

    >>> from headrace.triggers import AfterCount, AfterProcessingTime
    >>> AfterAny(AfterCount(100), AfterProcessingTime(60))
    AfterAny(AfterCount(100), AfterProcessingTime(60))
    """

    __slots__ = ()

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        ready = False
        for trigger, part in zip(self.triggers, state, strict=True):
            if trigger.finished(part):
                return False
            ready = ready or trigger.should_fire(part, last, clock)
        return ready

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        return tuple(
            [
                trigger.on_fire(part, last, clock)
                if trigger.should_fire(part, last, clock)
                else trigger.start
                for trigger, part in zip(self.triggers, state, strict=True)
            ]
        )

    def finished(self, state: TriggerState) -> bool:
        return any(map(_finished, self.triggers, state))

    def get_continuation_trigger(self) -> Trigger:
        return AfterAny(*self._continuations())


class AfterAll(_AnyNumber):
    """Fires when each part is ready or has finished; finishes when all have finished (Beam's name).

    Args:
        triggers: the parts, at least one.

    Raises:
        PipelineError: there is no part, or one that is not a trigger.

    >>> from headrace.triggers import AfterCount, AfterProcessingTime
    >>> AfterAll(AfterCount(100), AfterProcessingTime(60))
    AfterAll(AfterCount(100), AfterProcessingTime(60))
    """

    __slots__ = ()

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        ready = False
        for trigger, part in zip(self.triggers, state, strict=True):
            if not trigger.finished(part):
                if not trigger.should_fire(part, last, clock):
                    return False
                ready = True
        return ready

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        return tuple(
            [
                part if trigger.finished(part) else trigger.on_fire(part, last, clock)
                for trigger, part in zip(self.triggers, state, strict=True)
            ]
        )

    def finished(self, state: TriggerState) -> bool:
        return all(map(_finished, self.triggers, state))

    def get_continuation_trigger(self) -> Trigger:
        return AfterAll(*self._continuations())

    def may_finish(self, windowing: Windowing) -> bool:
        return all(trigger.may_finish(windowing) for trigger in self.triggers)


class AfterEach(_AnyNumber):
    """Fires as its first part until that finishes, then as the second, and so on (Beam's name).

    The paper's SequenceOf. It finishes with its last part. In a merge the parts merge in order; the first
    one that has not finished is the current one, and those after it restart.

    Args:
        triggers: the parts, at least one.

    Raises:
        PipelineError: there is no part, or one that is not a trigger.

    >>> from headrace.triggers import AfterCount
    >>> AfterEach(AfterCount(1), AfterCount(100))
    AfterEach(AfterCount(1), AfterCount(100))
    """

    # The state has the states of the parts up to the current one, which is the last.

    __slots__ = ()

    def _first_state(self) -> TriggerState:
        return (self.triggers[0].start,)

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        current = self._current(state).on_elements(state[-1], arrived, now)
        return (*state[:-1], current)

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        merged: list[TriggerState] = []
        for number, trigger in enumerate(self.triggers):
            parts = [state[number] if number < len(state) else trigger.start for state in states]
            merged.append(trigger.on_merge(parts, last, clock))
            if not trigger.finished(merged[-1]):
                break
        return tuple(merged)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return self._current(state).should_fire(state[-1], last, clock)

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        trigger = self._current(state)
        fired = (*state[:-1], trigger.on_fire(state[-1], last, clock))
        if trigger.finished(fired[-1]) and len(state) < len(self.triggers):
            return (*fired, self.triggers[len(state)].start)
        return fired

    def finished(self, state: TriggerState) -> bool:
        return len(state) == len(self.triggers) and self.triggers[-1].finished(state[-1])

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        return self._current(state).wake(state[-1], last, clock)

    def get_continuation_trigger(self) -> Trigger:
        return Repeatedly(AfterAny(*self._continuations()))

    def may_finish(self, windowing: Windowing) -> bool:
        return all(trigger.may_finish(windowing) for trigger in self.triggers)

    def _current(self, state: TriggerState) -> Trigger:
        return self.triggers[len(state) - 1]


@attrs.frozen(repr=False)
class OrFinally(_Composite):
    """Fires as its first part, and as its second, with which it finishes (Beam's name).

    The paper's RepeatUntil, in which the first part is repeated. It finishes when either part does. When
    ``until`` fires, the first part restarts; when the first part fires, ``until`` does not restart.

    Args:
        trigger: fires until the other does.
        until: usually a trigger that fires once.

    Raises:
        PipelineError: a part is not a trigger.

    >>> from headrace.triggers import AfterCount, AfterProcessingTime
    >>> OrFinally(Repeatedly(AfterCount(100)), AfterProcessingTime(60))
    OrFinally(Repeatedly(AfterCount(100)), AfterProcessingTime(60))
    """

    trigger: Trigger = attrs.field(validator=_trigger)
    until: Trigger = attrs.field(validator=_trigger)
    start: TriggerState = attrs.field(init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "start", (self.trigger.start, self.until.start))

    @property
    def children(self) -> tuple[Trigger, ...]:
        return (self.trigger, self.until)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        main, until = state
        return not self.finished(state) and (
            self.trigger.should_fire(main, last, clock)
            or self.until.should_fire(until, last, clock)
        )

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        main, until = state
        if self.until.should_fire(until, last, clock):
            return (self.trigger.start, self.until.on_fire(until, last, clock))
        return (self.trigger.on_fire(main, last, clock), until)

    def finished(self, state: TriggerState) -> bool:
        main, until = state
        return self.until.finished(until) or self.trigger.finished(main)

    def get_continuation_trigger(self) -> Trigger:
        return Repeatedly(OrFinally(*self._continuations()))


def _finished(trigger: Trigger, state: TriggerState) -> bool:
    return trigger.finished(state)
