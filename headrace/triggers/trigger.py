"""WHEN: the base class of triggers, and the facts that a trigger uses.

A trigger is a frozen expression. Its state machine is a set of pure functions of a *state*, a small plain
value (None, a bool, an int, a str, or a tuple of those) that can be serialized. A trigger gets the number of
elements that arrived, the watermark and the processing time; it never gets a value.

A trigger is evaluated once for each event: elements that arrived together, a step of the watermark, or a
step of the clock. It fires at most once for each event.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from headrace.errors import PipelineError, shorten
from headrace.triggers.data_loss import DataLossReason

TriggerState: TypeAlias = Any
"""Plain data: None, bool, int, str or tuples of them."""

Predicate: TypeAlias = Callable[[Any], object]

NEVER: Final = 1 << 63
"""A time later than every timestamp."""

FINISHED: Final = "finished"
"""The state of a trigger that will never fire again and remembers nothing else."""


class Clock(NamedTuple):
    """The current times, in microseconds.

    Attributes:
        watermark: the input watermark of the grouping (event time).
        now: processing time.
    """

    watermark: int
    now: int


class Arrived(NamedTuple):
    """The facts about elements that arrived together in one window.

    Attributes:
        count: the number of elements.
        size: their encoded size in bytes; 0 unless the trigger needs it (:attr:`Trigger.wants_size`).
        matched_predicates: the predicates of the trigger that are true for at least one of the elements.
    """

    count: int  # type: ignore[assignment]  # hides tuple.count, which is not needed
    size: int = 0
    matched_predicates: frozenset[Any] = frozenset()


class Wake(NamedTuple):
    """The next times at which a trigger must be evaluated again, in microseconds; NEVER if there is none."""

    watermark: int = NEVER
    now: int = NEVER


class Windowing(Protocol):
    """The facts of a windowing strategy that a trigger uses."""

    @property
    def allowed_lateness(self) -> int:
        """How long a window still takes elements after its end, in microseconds."""


ASLEEP: Final = Wake()

wake_at: Final = partial(tuple.__new__, Wake)
"""Make a :class:`Wake` from a pair of times; several times as fast as the constructor."""


class Trigger:
    """Base of all triggers: an expression, and the functions of its state machine.

    Triggers come from section 2.3 of the Dataflow paper; their names are Beam's where it has them.
    In every method ``last`` is the last instant of the window, in microseconds. ``on_elements`` and
    ``on_fire`` are called only for a trigger that has not finished, the other methods also for a
    finished one. By default a trigger fires once.

    >>> from headrace.triggers import AfterWatermark
    >>> isinstance(AfterWatermark(), Trigger), AfterWatermark().has_on_time
    (True, True)
    """

    __slots__ = ()

    @property
    @abstractmethod
    def start(self) -> TriggerState:
        """The state of a new window."""

    @abstractmethod
    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        """Return the state after elements that arrived together."""

    @abstractmethod
    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        """Return the merged state of windows; ``last`` is the last instant of the merged window."""

    @abstractmethod
    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        """Return whether the window should fire now."""

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        """Return the state after a firing; called only if :meth:`should_fire` returns True."""
        return FINISHED

    def finished(self, state: TriggerState) -> bool:
        """Return whether the trigger will never fire again."""
        return bool(state == FINISHED)

    @abstractmethod
    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        """Return the next times at which :meth:`should_fire` may become true without new elements.

        They are later than the current times, and not later than the first time at which it becomes true.
        """

    @abstractmethod
    def get_continuation_trigger(self) -> Trigger:
        """Return the trigger for a downstream grouping, which fires when panes of this trigger arrive.

        The downstream trigger waits for none of the conditions of this one again, except the watermark.
        """

    def may_finish(self, windowing: Windowing) -> bool:
        """Return whether the trigger may finish while its window still takes elements."""
        return True

    def may_repeat(self, windowing: Windowing) -> bool:
        """Return whether a window can have more than one pane."""
        return True

    def may_lose_data(self, windowing: Windowing) -> DataLossReason:
        """Return why data may be lost with this trigger; NO_POTENTIAL_LOSS if none is lost."""
        if self.may_finish(windowing):
            return DataLossReason.MAY_FINISH
        return DataLossReason.NO_POTENTIAL_LOSS

    @property
    def children(self) -> tuple[Trigger, ...]:
        """The triggers of which this one is composed."""
        return ()

    @property
    def has_on_time(self) -> bool:
        """Whether it waits for the end of the window, so that an empty ON_TIME pane may be fired."""
        return any(child.has_on_time for child in self.children)

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The predicates to evaluate on each element, for :attr:`Arrived.matched_predicates`."""
        found = (child.predicates for child in self.children)
        return tuple(dict.fromkeys(predicate for some in found for predicate in some))

    @property
    def wants_size(self) -> bool:
        """Whether the trigger needs the encoded size of elements, for :attr:`Arrived.size`."""
        return any(child.wants_size for child in self.children)

    @property
    def fires_only_at_end(self) -> bool:
        """Whether it never fires before the end of its window."""
        return False

    @property
    def early_count(self) -> int:
        """The number of elements with which a window fires before its end, again and again.

        NEVER if it fires at its end first; 0 if something else decides, too.
        """
        return NEVER if self.fires_only_at_end else 0

    @property
    def needs_only_counts(self) -> bool:
        """Whether the number of elements is enough, so that they may be combined before the grouping."""
        return not self.predicates and not self.wants_size

    def _arguments(self) -> Iterable[str]:
        return map(repr, self.children)

    def __repr__(self) -> str:
        """Return the expression that makes this trigger."""
        return f"{type(self).__name__}({', '.join(self._arguments())})"


class EndlessTrigger(Trigger):
    """Base of triggers that never finish; without a state unless a class defines one.

    >>> from headrace.triggers import Never
    >>> isinstance(Never(), EndlessTrigger), Never().finished(None)
    (True, False)
    """

    __slots__ = ()

    @property
    def start(self) -> TriggerState:
        return None

    def on_elements(self, state: TriggerState, arrived: Arrived, now: int) -> TriggerState:
        return None

    def on_merge(self, states: Sequence[TriggerState], last: int, clock: Clock) -> TriggerState:
        return None

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        return self.start

    def finished(self, state: TriggerState) -> bool:
        return False

    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        return ASLEEP

    def get_continuation_trigger(self) -> Trigger:
        return self

    def may_finish(self, windowing: Windowing) -> bool:
        return False


def check_is_trigger(argument: object, parent: str) -> None:
    """Refuse an argument that is not a trigger.

    Raises:
        PipelineError: it is something else, for example the class of a trigger.
    """
    if not isinstance(argument, Trigger):
        raise PipelineError(
            f"{parent} needs a trigger, not {shorten(argument)}",
            where=parent,
            remedy="pass a trigger, such as AfterCount(1); a class needs its parentheses",
        )
