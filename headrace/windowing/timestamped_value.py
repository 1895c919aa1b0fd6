"""Values with a timestamp, as sources and DoFns emit them."""

from __future__ import annotations

from functools import total_ordering
from typing import Generic, TypeVar

from headrace.errors import TimeError
from headrace.windowing.time.timestamps import Timestamp, TimestampTypes, micros

V = TypeVar("V")


@total_ordering
class TimestampedValue(Generic[V]):
    """A value and its event time (Beam's TimestampedValue).

    One is created per element, so it stores the time as given and converts it on access.

    Args:
        value: any value.
        timestamp: seconds, an ISO 8601 string or datetime with a zone, or a Timestamp.

    >>> event = TimestampedValue("a", 1.5)
    >>> event.value, event.timestamp, event.micros
    ('a', Timestamp(1.500000), 1500000)
    """

    __slots__ = ("_given", "value")

    def __init__(self, value: V, timestamp: TimestampTypes) -> None:
        self.value = value
        self._given = timestamp

    @property
    def timestamp(self) -> Timestamp:
        """The event time.

        Raises:
            TimeError: the given time does not identify an instant.
        """
        return Timestamp.of(self._given)

    @property
    def micros(self) -> int:
        """The event time in microseconds.

        Raises:
            TimeError: the given time does not identify an instant.
        """
        return micros(self._given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TimestampedValue):
            return NotImplemented
        return bool(self.value == other.value) and self.micros == other.micros

    def __hash__(self) -> int:
        return hash((self.value, self.micros))

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, TimestampedValue):
            return NotImplemented
        return (self.value, self.micros) < (other.value, other.micros)

    def __repr__(self) -> str:
        try:
            return f"TimestampedValue({self.value!r}, {self.timestamp!r})"
        except TimeError:
            return f"TimestampedValue({self.value!r}, {self._given!r})"
