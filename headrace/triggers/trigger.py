"""WHEN: what a trigger is, and what it gets to know.

A trigger is frozen data, an expression. Its state machine is a set of pure functions of a *state*, a
small plain value (None, an int, a str, or a tuple of those) that can be serialised. A trigger sees how
many elements arrived and what time it is; it never sees a value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

TriggerState: TypeAlias = Any
"""Plain data: None, bool, int, str or tuples of them."""

NEVER: Final = 1 << 63
"""A moment that does not come: later than every timestamp."""


class Clock(NamedTuple):
    """What time it is, in microseconds.

    Attributes:
        watermark: the input watermark of the grouping (event time).
        now: processing time.
    """

    watermark: int
    now: int


class Arrived(NamedTuple):
    """What a trigger gets to know of the elements that arrived together in one window.

    Attributes:
        count: how many.
        size: their encoded size in bytes; 0 unless the trigger asks (:attr:`Trigger.wants_size`).
        marks: the predicates of the trigger expression that one of them fulfils.
    """

    count: int
    size: int = 0
    marks: frozenset[Any] = frozenset()


class Wake(NamedTuple):
    """The next moments at which a trigger wants to be looked at, in microseconds; NEVER for none."""

    watermark: int = NEVER
    now: int = NEVER


ASLEEP: Final = Wake()


class Trigger:
    """Base of all triggers: an expression, and the functions of its state machine.

    In every method ``last`` is the last instant of the window, in microseconds.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def start(self) -> TriggerState:
        """The state of a window that has seen nothing."""

    @abstractmethod
    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        """Take note of elements that arrived together."""

    @abstractmethod
    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        """Merge the states of windows into that of the merged window, whose last instant is given."""

    @abstractmethod
    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        """Tell whether the window should fire now."""

    @abstractmethod
    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        """Return the state after a firing; only called where :meth:`should_fire` says yes."""

    @abstractmethod
    def finished(self, state: TriggerState) -> bool:
        """Tell whether the trigger will never fire again."""

    @abstractmethod
    def wake(self, state: TriggerState, last: int) -> Wake:
        """Return the next moments at which :meth:`should_fire` may turn true without new elements."""
