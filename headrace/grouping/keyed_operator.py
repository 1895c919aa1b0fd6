"""The contract of keyed operators, as tables of keys use it.

A keyed operator works on one key at a time. It processes elements that arrived together, or a step of the
watermark or the clock, and adds outputs to a collector. For each key it returns the next timers and the
hold on the output watermark. Its state can be frozen as plain data and thawed again. It reads no clock and
uses no random numbers, so a round that runs again gives the same outputs. The first implementation is
:class:`~headrace.grouping.grouping.Grouping`.

A table of keys (:mod:`headrace.runners.grouping.keyed_table`) uses only this contract, and never reads the
state.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol, TypeVar

from headrace.triggers.trigger import NEVER, Clock

State = TypeVar("State")
ElementsT = TypeVar("ElementsT", contravariant=True)
OutputT = TypeVar("OutputT", contravariant=True)


class Moments(NamedTuple):
    """The next timers and the watermark hold of a key, or of a set of keys, in microseconds.

    Attributes:
        event_timer: the watermark at which it is woken next; NEVER if there is no timer.
        processing_timer: the processing time at which it is woken next; NEVER if there is no timer.
        hold: the event time that the output watermark must not pass; NEVER if there is no hold.
    """

    event_timer: int = NEVER
    processing_timer: int = NEVER
    hold: int = NEVER

    @property
    def plain(self) -> tuple[int, int, int]:
        """The same as a plain tuple, which pickles fast."""
        return self.event_timer, self.processing_timer, self.hold


NO_TIMERS: Final = Moments()


class KeyedOperator(Protocol[State, ElementsT, OutputT]):
    """An operator that works on one key at a time."""

    def new_state(self) -> State:
        """Return the state of a new key."""

    def process(self, state: State, elements: ElementsT, clock: Clock, out: OutputT) -> None:
        """Process elements that arrived together for a key.

        Args:
            state: the state of the key; changed in place.
            elements: the elements.
            clock: the input watermark of the round before, and the processing time of this round.
            out: receives the outputs.
        """

    def wake(self, state: State, clock: Clock, out: OutputT) -> None:
        """Process the timers that are due at a watermark and a processing time; called only if one is due."""

    def moments(self, state: State) -> Moments | None:
        """Return the next timers and the hold of the key; None if its state is empty and can be dropped."""

    def freeze(self, state: State) -> Any:
        """Return the state as plain data, which pickle can store."""

    def thaw(self, frozen: Any) -> State:
        """Return the state that :meth:`freeze` stored.

        Raises:
            HeadraceError: the data has the format of another version of Headrace.
        """
