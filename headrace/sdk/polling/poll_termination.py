"""Termination conditions: when polling of an input ends (Beam's names, including names of its Java SDK)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.windowing.time.timestamps import Duration, DurationTypes, Timestamp


class TerminationCondition:
    """When polling of an input ends; subclass it for a condition of your own.

    The state of a condition is plain data. It is stored in checkpoints with the input.

    >>> class Forever(TerminationCondition):
    ...     def for_new_input(self, now, element):
    ...         return None
    ...
    ...     def can_stop_polling(self, now, state):
    ...         return False
    """

    ends: bool = True
    """Whether the condition always becomes true at some time."""

    @abstractmethod
    def for_new_input(self, now: Timestamp, element: Any) -> Any:
        """Return the state for an input before its first poll."""

    def on_seen_new_output(self, now: Timestamp, state: object) -> Any:
        """Return the state after a poll that found new outputs."""
        return state

    def on_poll_complete(self, state: object) -> Any:
        """Return the state after a poll."""
        return state

    @abstractmethod
    def can_stop_polling(self, now: Timestamp, state: Any) -> bool:
        """Return whether polling ends."""


@attrs.frozen
class Never(TerminationCondition):
    """See :func:`never`."""

    ends = False

    def for_new_input(self, now: Timestamp, element: object) -> Any:
        return 0

    def can_stop_polling(self, now: Timestamp, state: object) -> bool:
        return False


@attrs.frozen
class AfterTotalOf(TerminationCondition):
    """See :func:`after_total_of`."""

    duration: Duration

    def for_new_input(self, now: Timestamp, element: object) -> Any:
        return now

    def can_stop_polling(self, now: Timestamp, state: Any) -> bool:
        return bool(now - state > self.duration)


@attrs.frozen
class AfterTimeSinceNewOutput(AfterTotalOf):
    """See :func:`after_time_since_new_output`."""

    def on_seen_new_output(self, now: Timestamp, state: object) -> Any:
        return now


@attrs.frozen
class AfterIterations(TerminationCondition):
    """See :func:`after_iterations`."""

    number: int

    def for_new_input(self, now: Timestamp, element: object) -> Any:
        return 0

    def on_poll_complete(self, state: Any) -> Any:
        return state + 1

    def can_stop_polling(self, now: Timestamp, state: Any) -> bool:
        return bool(state >= self.number)


@attrs.frozen
class Conditions(TerminationCondition):
    """Several conditions, whose state is the tuple of their states."""

    conditions: tuple[TerminationCondition, ...]

    def for_new_input(self, now: Timestamp, element: object) -> Any:
        return tuple(each.for_new_input(now, element) for each in self.conditions)

    def on_seen_new_output(self, now: Timestamp, state: object) -> Any:
        return tuple(each.on_seen_new_output(now, own) for each, own in self._each(state))

    def on_poll_complete(self, state: object) -> Any:
        return tuple(each.on_poll_complete(own) for each, own in self._each(state))

    def _each(self, state: Any) -> Any:
        return zip(self.conditions, state, strict=True)


@attrs.frozen
class EitherOf(Conditions):
    """See :func:`either_of`."""

    @property
    def ends(self) -> bool:  # type: ignore[override]
        """Whether one of the conditions becomes true."""
        return any(each.ends for each in self.conditions)

    def can_stop_polling(self, now: Timestamp, state: object) -> bool:
        return any(each.can_stop_polling(now, own) for each, own in self._each(state))


@attrs.frozen
class AllOf(Conditions):
    """See :func:`all_of`."""

    @property
    def ends(self) -> bool:  # type: ignore[override]
        """Whether all conditions become true."""
        return all(each.ends for each in self.conditions)

    def can_stop_polling(self, now: Timestamp, state: object) -> bool:
        return all(each.can_stop_polling(now, own) for each, own in self._each(state))


def never() -> TerminationCondition:
    """Poll until the poll function returns ``PollResult.complete``.

    >>> never()
    Never()
    """
    return Never()


def after_total_of(duration: DurationTypes) -> TerminationCondition:
    """Stop when more than a duration has passed since the input was first seen.

    Args:
        duration: seconds of processing time.

    >>> condition = after_total_of(60)
    >>> condition.can_stop_polling(Timestamp(61), condition.for_new_input(Timestamp(0), "input"))
    True
    """
    return AfterTotalOf(Duration.of(duration))


def after_time_since_new_output(duration: DurationTypes) -> TerminationCondition:
    """Stop when more than a duration has passed since the last poll with a new output.

    Before the first output the duration counts from the time at which the input was first seen.

    Args:
        duration: seconds of processing time.

    >>> condition = after_time_since_new_output(60)
    >>> state = condition.on_seen_new_output(
    ...     Timestamp(50), condition.for_new_input(Timestamp(0), "input")
    ... )
    >>> condition.can_stop_polling(Timestamp(61), state)
    False
    """
    return AfterTimeSinceNewOutput(Duration.of(duration))


def after_iterations(number: int) -> TerminationCondition:
    """Stop after a number of polls.

    Args:
        number: the number of polls, at least 1.

    Raises:
        PipelineError: it is less than 1.

    >>> after_iterations(3)
    AfterIterations(number=3)
    """
    if number < 1:
        raise PipelineError(f"polling ends after {number} polls", remedy="use a number from 1")
    return AfterIterations(number)


def either_of(*conditions: TerminationCondition) -> TerminationCondition:
    """Stop when one of several conditions is true.

    Args:
        conditions: the conditions.

    >>> either_of(after_iterations(3), never()).ends
    True
    """
    return EitherOf(conditions)


def all_of(*conditions: TerminationCondition) -> TerminationCondition:
    """Stop when all of several conditions are true.

    Args:
        conditions: the conditions.

    >>> all_of(after_iterations(3), never()).ends
    False
    """
    return AllOf(conditions)
