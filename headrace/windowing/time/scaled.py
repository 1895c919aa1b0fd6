"""Timestamps in a precision other than microseconds, such as nanoseconds.

``Timestamp(1, 123, precision=9)`` is one of them. It becomes a time in a pipeline if it is a whole
number of microseconds, and is refused otherwise.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headrace.errors import TimeError
from headrace.windowing.time.forms import UNITS, digits, units_of_seconds
from headrace.windowing.time.timestamps import (
    NANOS_PER_MICRO,
    NANOS_PER_SECOND,
    Duration,
    DurationTypes,
    Timestamp,
    duration_micros,
)


class ScaledTimestamp(Timestamp):
    """A timestamp in a precision other than microseconds, as a number of units of that precision."""

    __slots__ = ()

    _in_micros = False

    _scaled: tuple[int, int]

    @property
    def _units(self) -> int:
        return self._scaled[0]

    @property
    def _precision(self) -> int:
        return self._scaled[1]

    def __reduce__(self) -> tuple[Any, ...]:
        return Timestamp, (0, self._units, self._precision)

    @property
    def nanos(self) -> int:
        return self._units * UNITS[Timestamp.NANOS_PRECISION - self._precision]

    @property
    def micros(self) -> int:  # type: ignore[override]  # it is only read
        """The microseconds.

        Raises:
            TimeError: the instant is not a whole number of them.
        """
        return self.to_precision(Timestamp.MICROS_PRECISION).micros

    def __float__(self) -> float:
        return self.nanos / NANOS_PER_SECOND

    def __int__(self) -> int:
        return self.nanos // NANOS_PER_SECOND

    def _minus(self, other: object) -> float | None:
        if isinstance(other, (Timestamp, Duration)):
            return self.nanos - other.nanos
        if isinstance(other, int):
            return self.nanos - other * NANOS_PER_SECOND
        return super()._minus(other)

    def __repr__(self) -> str:
        whole, rest = divmod(abs(self._units), UNITS[self._precision])
        sign = "-" if self._units < 0 else ""
        fraction = f".{rest:0{self._precision}d}" if rest else ""
        return f"Timestamp({sign}{whole}{fraction})"

    def __str__(self) -> str:
        return repr(self)

    def to_utc_datetime(
        self, has_tz: bool = False, allow_lossy_conversion: bool = False
    ) -> datetime:
        micros = self.to_precision(Timestamp.MICROS_PRECISION, allow_lossy_conversion)
        return micros.to_utc_datetime(has_tz)

    def to_rfc3339(self) -> str:
        fraction = f".{self.subseconds():0{self._precision}d}" if self.subseconds() else ""
        return Timestamp(int(self)).to_rfc3339().replace("Z", f"{fraction}Z")

    def subseconds(self) -> int:
        return self._units % UNITS[self._precision]

    def precision(self) -> int:
        return self._precision

    def predecessor(self) -> Timestamp:
        return Timestamp(0, self._units - 1, self._precision)

    def successor(self) -> Timestamp:
        return Timestamp(0, self._units + 1, self._precision)

    def __neg__(self) -> Timestamp:
        return Timestamp(0, -self._units, self._precision)

    def __add__(self, other: DurationTypes) -> Timestamp:
        return self._moved(duration_micros(other))

    __radd__ = __add__

    def __sub__(self, other: Timestamp | DurationTypes) -> Any:
        if not isinstance(other, Timestamp):
            return self._moved(-duration_micros(other))
        micros, rest = divmod(self.nanos - other.nanos, NANOS_PER_MICRO)
        if not rest:
            return Duration(micros=micros)
        raise TimeError(
            f"the difference of {self!r} and {other!r} is not a whole number of microseconds",
            remedy="subtract their nanos",
        )

    def _moved(self, micros: int) -> Timestamp:
        """Return a later instant, with at least the precision of microseconds."""
        precision = max(self._precision, Timestamp.MICROS_PRECISION)
        nanos = self.nanos + micros * NANOS_PER_MICRO
        return Timestamp(0, nanos // UNITS[Timestamp.NANOS_PRECISION - precision], precision)


def scale(
    instant: Timestamp, seconds: float, subseconds: float, precision: int, micros: float | None
) -> None:
    """Turn a timestamp that is being created into one of another precision.

    Its class is assigned, since a ``__new__`` that chooses the class makes the creation of each ordinary
    timestamp slower by a fifth to a half.

    Raises:
        TimeError: the precision is not possible, or ``micros`` is given.
    """
    object.__setattr__(instant, "__class__", ScaledTimestamp)
    assert isinstance(instant, ScaledTimestamp)
    instant._scaled = _units_and_precision(seconds, subseconds, precision, micros)


def _units_and_precision(
    seconds: float, subseconds: float, precision: int, micros: float | None
) -> tuple[int, int]:
    if micros is not None:
        raise TimeError(
            f"micros have the precision 6, not {precision}",
            remedy="use subseconds in place of micros",
        )
    return units_of_seconds(seconds, UNITS[digits(precision)]) + int(subseconds), precision


Timestamp._scale = scale
