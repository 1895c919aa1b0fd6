"""The contract of keyed operators: what a table of keys may ask of them.

A keyed operator works on one key at a time. It takes the elements that arrived together, or the news that
the watermark or the clock has advanced; it adds outputs to a collector; and it says when the key is to be
woken next and how far the key holds back the output watermark. What it remembers of a key can be frozen
into plain data and thawed again. It reads no clock and draws no random number, so a round that is run again
gives the same outputs. The first implementation is :class:`~headrace.triggers.grouping.Grouping`.

A table of keys (:mod:`headrace.runners.keyed_operators`) knows nothing else of an operator, and nothing of
the state.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol, TypeVar

from headrace.triggers.trigger import NEVER, Clock

State = TypeVar("State")
Elements = TypeVar("Elements", contravariant=True)
Output = TypeVar("Output", contravariant=True)


class Moments(NamedTuple):
    """When a key, or a set of keys, wants to be woken, and what it holds back; in microseconds.

    Attributes:
        event_timer: the watermark at which it wants to be woken; NEVER for none.
        processing_timer: the processing time at which it wants to be woken; NEVER for none.
        hold: the event time that the output watermark must not pass; NEVER for none.
    """

    event_timer: int = NEVER
    processing_timer: int = NEVER
    hold: int = NEVER


AT_REST: Final = Moments()


class KeyedOperator(Protocol[State, Elements, Output]):
    """What works on one key at a time."""

    def new_state(self) -> State:
        """Return the state of a key that has seen nothing."""

    def process(self, state: State, elements: Elements, clock: Clock, out: Output) -> None:
        """Take elements that arrived together for a key.

        Args:
            state: what is remembered of the key; changed in place.
            elements: the elements.
            clock: the input watermark of the round before, and the processing time of this round.
            out: takes the outputs.
        """

    def wake(self, state: State, clock: Clock, out: Output) -> None:
        """Do what is due at a watermark and a processing time; called only if something is."""

    def moments(self, state: State) -> Moments | None:
        """Return when the key wants to be woken; None if nothing of it need be remembered."""

    def freeze(self, state: State) -> Any:
        """Return the state as plain data, which pickle can store."""

    def thaw(self, frozen: Any) -> State:
        """Return the state that :meth:`freeze` gave.

        Raises:
            HeadraceError: another version of Headrace wrote it.
        """
