"""WHEN: what a trigger is, and what it gets to know.

A trigger is frozen data, an expression. Its state machine is a set of pure functions of a *state*,
a small plain value (None, a bool, an int, a str, or a tuple of those) that can be serialised. A
trigger sees how many elements arrived and what time it is; it never sees a value.

A trigger is asked once for each event: elements that arrived together, a step of the watermark, a
step of the clock. It never fires twice for one event.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from headrace.errors import PipelineError, shorten
from headrace.triggers.data_loss import DataLossReason

if TYPE_CHECKING:
    from headrace.triggers.strategy import WindowingStrategy

TriggerState: TypeAlias = Any
"""Plain data: None, bool, int, str or tuples of them."""

Predicate: TypeAlias = Callable[[Any], object]

NEVER: Final = 1 << 63
"""A moment that does not come: later than every timestamp."""

FINISHED: Final = "finished"
"""The state of a trigger that will never fire again and remembers nothing else."""


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
        matched_predicates: the predicates of the trigger expression that one of them fulfils.
    """

    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    size: int = 0
    matched_predicates: frozenset[Any] = frozenset()


class Wake(NamedTuple):
    """The next moments at which a trigger wants to be asked, in microseconds; NEVER for none."""

    watermark: int = NEVER
    now: int = NEVER


ASLEEP: Final = Wake()

wake_at: Final = partial(tuple.__new__, Wake)
"""Make a :class:`Wake` from a pair of moments, several times as fast as its constructor does."""


class Trigger:
    """Base of all triggers: an expression, and the functions of its state machine.

    Triggers come from section 2.3 of the Dataflow paper; their names are Beam's where it has them.
    In every method ``last`` is the last instant of the window, in microseconds. Elements and
    firings are told only to a trigger that has not finished; everything may be asked of a finished
    one. Where a trigger does not say otherwise, it fires once.

    >>> from headrace.triggers import AfterWatermark
    >>> isinstance(AfterWatermark(), Trigger), AfterWatermark().has_on_time
    (True, True)
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
        """Merge the states of windows into that of the merged one, whose last instant is given."""

    @abstractmethod
    def should_fire(self, state: TriggerState, last: int, clock: Clock) -> bool:
        """Tell whether the window should fire now."""

    def on_fire(self, state: TriggerState, last: int, clock: Clock) -> TriggerState:
        """Return the state after a firing; only called where :meth:`should_fire` says yes."""
        return FINISHED

    def finished(self, state: TriggerState) -> bool:
        """Tell whether the trigger will never fire again."""
        return bool(state == FINISHED)

    @abstractmethod
    def wake(self, state: TriggerState, last: int, clock: Clock) -> Wake:
        """Return the next moments at which :meth:`should_fire` may turn true without new elements.

        They lie after the clock's; none of them is later than the first moment at which it does.
        """

    @abstractmethod
    def get_continuation_trigger(self) -> Trigger:
        """Return the trigger for a grouping of this one's panes, which lets them pass as they come.

        What this trigger waited for, the next one need not wait for again; the watermark excepted.
        """

    def may_finish(self, windowing: WindowingStrategy) -> bool:
        """Tell whether the trigger may finish while its window still takes elements."""
        return True

    def may_lose_data(self, windowing: WindowingStrategy) -> DataLossReason:
        """Say why data may be lost where this trigger is used; NO_POTENTIAL_LOSS if it cannot."""
        if self.may_finish(windowing):
            return DataLossReason.MAY_FINISH
        return DataLossReason.NO_POTENTIAL_LOSS

    @property
    def children(self) -> tuple[Trigger, ...]:
        """The triggers that this one is made of."""
        return ()

    @property
    def has_on_time(self) -> bool:
        """Whether it waits for the end of the window, so that even an empty ON_TIME pane is due."""
        return any(child.has_on_time for child in self.children)

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """What has to be asked of each element, to be reported in :attr:`Arrived.matched_predicates`."""
        asked = (child.predicates for child in self.children)
        return tuple(dict.fromkeys(predicate for some in asked for predicate in some))

    @property
    def wants_size(self) -> bool:
        """Whether the elements' encoded size is to be reported in :attr:`Arrived.size`."""
        return any(child.wants_size for child in self.children)

    @property
    def fires_only_at_end(self) -> bool:
        """Whether it never fires before the end of its window, whatever arrives."""
        return False

    @property
    def needs_only_counts(self) -> bool:
        """Whether elements may be combined before they reach the trigger, if they are counted."""
        return not self.predicates and not self.wants_size

    def _arguments(self) -> Iterable[str]:
        return map(repr, self.children)

    def __repr__(self) -> str:
        """Show the expression that makes this trigger."""
        return f"{type(self).__name__}({', '.join(self._arguments())})"


def check_is_trigger(argument: object, parent: str) -> None:
    """Refuse an argument of a composite that is not a trigger.

    Raises:
        PipelineError: it is something else, such as the class of a trigger.
    """
    if not isinstance(argument, Trigger):
        raise PipelineError(
            f"{parent} is made of triggers, and {shorten(argument)} is none",
            where=parent,
            remedy="pass a trigger, such as AfterCount(1); a class needs its parentheses",
        )
