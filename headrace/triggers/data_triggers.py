"""Triggers that look at what arrives: how many elements, how large, which; and the two extremes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from headrace.errors import PipelineError, shorten
from headrace.triggers.trigger import (
    ASLEEP,
    FINISHED,
    Arrived,
    Clock,
    Predicate,
    Trigger,
    TriggerState,
    Wake,
)

if TYPE_CHECKING:
    from headrace.triggers.strategy import WindowingStrategy


class _DataTrigger(Trigger):
    """A trigger that turns ready through elements alone, never as time goes by."""

    __slots__ = ()

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        return ASLEEP

    def get_continuation_trigger(self) -> Trigger:
        return AfterCount(1)


def _positive(instance: Trigger, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, int) or value < 1:
        name = type(instance).__name__
        raise PipelineError(
            f"{name} waits for {shorten(value)}, which is not a positive integer",
            where=name,
            remedy=f"pass a whole number of at least 1, such as {name}(1)",
        )


@attrs.frozen(repr=False)
class AfterCount(_DataTrigger):
    """Fires once, when at least so many elements have arrived (Beam's name).

    Elements come in bundles, so that more than ``count`` may be there when it fires. In a merge the
    counts add; if it fired in one of the windows, it has fired in the merged one.

    Args:
        count: elements to wait for, at least 1.

    Raises:
        PipelineError: the count is not a positive integer.

    >>> AfterCount(100)
    AfterCount(100)
    """

    count: int = attrs.field(validator=_positive)

    @property
    def start(self) -> TriggerState:
        return 0

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
    """Fires once, when the elements that have arrived are so large together.

    Elements come in bundles, so that they may be larger when it fires. In a merge the sizes add; if
    it fired in one of the windows, it has fired in the merged one.

    Args:
        size: encoded size to wait for, in bytes, at least 1.

    Raises:
        PipelineError: the size is not a positive integer.

    >>> AfterBytes(1_000_000).wants_size
    True
    """

    size: int = attrs.field(validator=_positive)

    @property
    def start(self) -> TriggerState:
        return 0

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return state + arrived.size

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return FINISHED if FINISHED in states else sum(states)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return bool(state != FINISHED and state >= self.size)

    @property
    def wants_size(self) -> bool:
        return True

    def _arguments(self) -> Iterable[str]:
        yield repr(self.size)


def _callable(instance: Trigger, attribute: attrs.Attribute[Any], value: object) -> None:
    if not callable(value):
        raise PipelineError(
            f"AfterElement takes a function of an element, and {shorten(value)} is none",
            where="AfterElement",
            remedy="pass a function that returns true for the elements to wait for",
        )


@attrs.frozen(repr=False)
class AfterElement(_DataTrigger):
    """Fires once, when an element has arrived that fulfils a predicate (punctuation).

    The trigger itself sees no element: the grouping asks the predicate and reports that it held.

    Args:
        predicate: function of an element; deterministic.

    Raises:
        PipelineError: the predicate is not callable.

    >>> AfterElement(str.isupper)
    AfterElement(str.isupper)
    """

    predicate: Predicate = attrs.field(validator=_callable)

    @property
    def start(self) -> TriggerState:
        return False

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
class Always(_DataTrigger):
    """Fires at each arrival of elements, and never finishes (Beam's name).

    >>> Always()
    Always()
    """

    @property
    def start(self) -> TriggerState:
        return False

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return True

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return any(states)

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return state is True

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        return False

    def finished(self, state: TriggerState) -> bool:
        return False

    def get_continuation_trigger(self) -> Trigger:
        return self

    def may_finish(self, windowing: WindowingStrategy) -> bool:
        return False


@attrs.frozen(repr=False)
class Never(_DataTrigger):
    """Never fires; everything goes out when the window expires (Beam's name).

    >>> Never()
    Never()
    """

    @property
    def start(self) -> TriggerState:
        return None

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return None

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return None

    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        return False

    def finished(self, state: TriggerState) -> bool:
        return False

    def get_continuation_trigger(self) -> Trigger:
        return self

    def may_finish(self, windowing: WindowingStrategy) -> bool:
        return False
