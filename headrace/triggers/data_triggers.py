"""Triggers that depend on the elements that arrive: their number, size or values; Always and Never."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from headrace.errors import PipelineError, shorten
from headrace.triggers.trigger import (
    ASLEEP,
    FINISHED,
    Arrived,
    Clock,
    EndlessTrigger,
    Predicate,
    Trigger,
    TriggerState,
    Wake,
    Windowing,
)


class _DataTrigger(Trigger):
    """A trigger that becomes ready only through elements, never through time."""

    __slots__ = ()

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        return ASLEEP

    def get_continuation_trigger(self) -> Trigger:
        return AfterCount(1)


def _positive(instance: Trigger, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, int) or value < 1:
        name = type(instance).__name__
        raise PipelineError(
            f"{name} needs a positive integer, not {shorten(value)}",
            where=name,
            remedy=f"pass an integer of at least 1, such as {name}(1)",
        )


@attrs.frozen(repr=False)
class AfterCount(_DataTrigger):
    """Fires once, when at least ``count`` elements have arrived (Beam's name).

    Elements arrive in bundles, so more than ``count`` may have arrived when it fires. A merge adds the
    counts; if the trigger has fired in one of the windows, it has fired in the merged one.

    Args:
        count: number of elements to wait for, at least 1.

    Raises:
        PipelineError: the count is not a positive integer.

    >>> AfterCount(100)
    AfterCount(100)
    """

    count: int = attrs.field(validator=_positive)

    start = 0

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return state + arrived.count

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return FINISHED if FINISHED in states else sum(states)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return bool(state != FINISHED and state >= self.count)

    def _arguments(self) -> Iterable[str]:
        yield repr(self.count)


@attrs.frozen(repr=False)
class AfterBytes(_DataTrigger):
    """Fires once, when the elements that have arrived have a total size of at least ``size``.

    Elements arrive in bundles, so they may be larger when it fires. A merge adds the sizes; if the trigger
    has fired in one of the windows, it has fired in the merged one.

    Args:
        size: encoded size to wait for, in bytes, at least 1.

    Raises:
        PipelineError: the size is not a positive integer.

    >>> AfterBytes(1_000_000).wants_size
    True
    """

    size: int = attrs.field(validator=_positive)

    start = 0

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return state + arrived.size

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return FINISHED if FINISHED in states else sum(states)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return bool(state != FINISHED and state >= self.size)

    wants_size = True

    def _arguments(self) -> Iterable[str]:
        yield repr(self.size)


def _callable(instance: Trigger, attribute: attrs.Attribute[Any], value: object) -> None:
    if not callable(value):
        raise PipelineError(
            f"AfterElement needs a function of an element, not {shorten(value)}",
            where="AfterElement",
            remedy="pass a function that returns true for the elements to wait for",
        )


@attrs.frozen(repr=False)
class AfterElement(_DataTrigger):
    """Fires once, when an element has arrived for which a predicate is true (punctuation).

    The predicate is evaluated before the grouping; the trigger itself gets only the result.

    Args:
        predicate: a deterministic function of an element.

    Raises:
        PipelineError: the predicate is not callable.

    >>> AfterElement(str.isupper)
    AfterElement(str.isupper)
    """

    predicate: Predicate = attrs.field(validator=_callable)

    start = False

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return state or self.predicate in arrived.matched_predicates

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return FINISHED if FINISHED in states else any(states)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return state is True

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        return (self.predicate,)

    def _arguments(self) -> Iterable[str]:
        yield getattr(self.predicate, "__qualname__", None) or repr(self.predicate)


@attrs.frozen(repr=False)
class Always(EndlessTrigger):
    """Fires whenever elements arrive, and never finishes (Beam's name).

    >>> Always()
    Always()
    """

    start = False

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return True

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return any(states)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return state is True


@attrs.frozen(repr=False)
class Never(EndlessTrigger):
    """Never fires; all elements are in the last pane, when the window expires (Beam's name).

    >>> Never()
    Never()
    """

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return False

    def may_repeat(self, windowing: Windowing) -> bool:
        return False
