"""Event time and processing time: integer microseconds inside, many forms outside.

Public functions that take a time accept seconds (int, float), ``timedelta``, ``datetime`` with a
zone, ISO 8601 strings with a zone, and the classes of this module. Naive datetimes are refused,
because they do not identify an instant. Floats are rounded to the nearest microsecond; integers
are exact.

A timestamp can have another precision, such as nanoseconds. Such a timestamp is a value; it becomes a time in
a pipeline if it is a whole number of microseconds, and is refused otherwise.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial, total_ordering
from math import isnan
from operator import attrgetter, index
from typing import Any, ClassVar, Final, TypeAlias, Union, overload

from headrace.errors import TimeError, TimeTypeError, shorten
from headrace.windowing.time.forms import (
    EPOCH,
    FLOAT_MAX,
    FLOAT_MIN,
    MICROS_PER_SECOND as MICROS_PER_SECOND,
    MICROSECOND,
    UNITS,
    digits,
    micros_of_datetime,
    micros_of_iso,
    micros_of_timedelta,
    protobuf_module,
    units_of_seconds,
)

NANOS_PER_SECOND: Final = 1_000_000_000
NANOS_PER_MICRO: Final = 1_000
MAX_MICROS: Final = 9_223_372_036_854_775_000
MIN_MICROS: Final = -MAX_MICROS

_SECONDS_MAX: Final = MAX_MICROS // MICROS_PER_SECOND
_SECONDS_MIN: Final = -_SECONDS_MAX

_MICROS_PRECISION: Final = 6

END_OF_TIME_MICROS: Final = MAX_MICROS - 86_400 * MICROS_PER_SECOND - 1
"""The last instant of the global window, a day before the last timestamp, as in Beam."""

TimestampTypes: TypeAlias = Union[int, float, str, datetime, "Timestamp"]
"""Seconds since 1970, an ISO 8601 string with a zone, a datetime with a zone, or a Timestamp."""

DurationTypes: TypeAlias = Union[int, float, timedelta, "Duration"]
"""Seconds, a timedelta or a Duration."""


def micros(instant: TimestampTypes) -> int:
    """Return an instant as microseconds since 1970-01-01T00:00:00Z.

    Args:
        instant: seconds, an ISO 8601 string with a zone, a datetime with a zone, or a Timestamp.

    Raises:
        TimeError: the instant is naive, malformed or outside [MIN, MAX].

    >>> micros(1.5), micros("1970-01-01T00:00:01Z")
    (1500000, 1000000)
    """
    result = _INSTANTS.get(type(instant), _instant_by_kind)(instant)
    if MIN_MICROS <= result <= MAX_MICROS:
        return result
    raise TimeError(
        f"the time {shorten(instant)} is outside the range of a timestamp",
        remedy="use seconds since 1970 (not milli- or microseconds)",
    )


def micros_of_all(instants: list[Any]) -> list[int]:
    """Return :func:`micros` of each instant; faster if all are floats or all are ints.

    >>> micros_of_all([1.5, 2.25])
    [1500000, 2250000]
    """
    kinds = set(map(type, instants))
    if kinds == {float} and _between(FLOAT_MIN, instants, FLOAT_MAX):
        return list(map(float.__round__, [seconds * 1e6 for seconds in instants]))
    if kinds == {int} and _between(_SECONDS_MIN, instants, _SECONDS_MAX):
        return [seconds * MICROS_PER_SECOND for seconds in instants]
    return list(map(micros, instants))


def _between(low: float, numbers: list[float], high: float) -> bool:
    # NaN can be missed by min and max, but not by a sum.
    return min(numbers) >= low and max(numbers) <= high and not isnan(sum(numbers))


def duration_micros(duration: DurationTypes) -> int:
    """Return a duration in microseconds; it may be negative.

    Args:
        duration: seconds, a timedelta or a Duration.

    Raises:
        TimeError: the argument has another type, or the duration is too long.

    >>> duration_micros(0.25), duration_micros(timedelta(minutes=1))
    (250000, 60000000)
    """
    result = _DURATIONS.get(type(duration), _duration_by_kind)(duration)
    if -MAX_MICROS <= result <= MAX_MICROS:
        return result
    raise TimeError(
        f"the duration {shorten(duration)} is too long",
        remedy="use seconds (not milli- or microseconds)",
    )


@total_ordering
class _Micros:
    """Microseconds that compare, hash and convert like a number of seconds."""

    __slots__ = ("micros",)

    _in_micros: ClassVar[bool] = True
    """Whether it is held in microseconds."""

    micros: int

    def __init__(self, seconds: float = 0, micros: int = 0) -> None:
        self.micros = (units_of_seconds(seconds) if seconds else 0) + int(micros)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (0, self.micros)

    @property
    def nanos(self) -> int:
        """The nanoseconds."""
        return self.micros * NANOS_PER_MICRO

    def __float__(self) -> float:
        return self.micros / MICROS_PER_SECOND

    def __int__(self) -> int:
        return self.micros // MICROS_PER_SECOND

    def __hash__(self) -> int:
        return hash(float(self))

    def __eq__(self, other: object) -> bool:
        difference = self._minus(other)
        return NotImplemented if difference is None else difference == 0

    def __lt__(self, other: object) -> bool:
        difference = self._minus(other)
        return NotImplemented if difference is None else difference < 0

    def _minus(self, other: object) -> float | None:
        """Return the difference in any unit, or in seconds for a float; None if not comparable."""
        if isinstance(other, _Micros):
            return self.micros - other.micros if other._in_micros else self.nanos - other.nanos
        if isinstance(other, int):
            return self.micros - other * MICROS_PER_SECOND
        return float(self) - other if isinstance(other, float) else None

    def __repr__(self) -> str:
        whole, rest = divmod(abs(self.micros), MICROS_PER_SECOND)
        sign = "-" if self.micros < 0 else ""
        fraction = f".{rest:06d}" if rest else ""
        return f"{type(self).__name__}({sign}{whole}{fraction})"


class Timestamp(_Micros):
    """An instant: seconds since 1970 in UTC, held in integer microseconds (Beam's Timestamp).

    It compares with numbers of seconds and with other timestamps; arithmetic takes and returns
    durations.

    Args:
        seconds: whole or fractional seconds.
        subseconds: units of the precision to add to the seconds.
        precision: number of decimal digits of a second, from 0 to 9; 6 stands for microseconds.
        micros: microseconds to add to the seconds, in place of ``subseconds``.

    Raises:
        TimeError: an argument is not possible, or ``micros`` is given with ``subseconds`` or a precision.

    >>> Timestamp(2.5) + 60, Timestamp(5) - Timestamp(3), Timestamp(3) == 3
    (Timestamp(62.500000), Duration(2), True)
    >>> Timestamp(1, 123456789, precision=9)
    Timestamp(1.123456789)
    """

    __slots__ = ("_scaled",)

    MICROS_PRECISION: ClassVar[int] = 6
    NANOS_PRECISION: ClassVar[int] = 9

    _scale: ClassVar[Callable[[Any, float, float, int, float | None], None]]
    """Sets up a timestamp of another precision; defined by :mod:`~.scaled`."""

    def __init__(
        self,
        seconds: float = 0,
        subseconds: float = 0,
        precision: int = MICROS_PRECISION,
        *,
        micros: float | None = None,
    ) -> None:
        if precision is not _MICROS_PRECISION:
            Timestamp._scale(self, seconds, subseconds, precision, micros)
        elif micros is None:
            self.micros = (units_of_seconds(seconds) if seconds else 0) + int(subseconds)
        elif not subseconds:
            self.micros = (units_of_seconds(seconds) if seconds else 0) + int(micros)
        else:
            raise TimeError("a timestamp takes micros or subseconds, not both", remedy="remove one")

    @staticmethod
    def of(seconds: TimestampTypes) -> Timestamp:
        """Return the timestamp of an instant in any supported form.

        >>> Timestamp.of("2013-01-01T05:00:00-05:00")
        Timestamp(1357034400)
        """
        return seconds if isinstance(seconds, Timestamp) else Timestamp(micros=micros(seconds))

    @staticmethod
    def now() -> Timestamp:
        """Return the time of the wall clock.

        >>> Timestamp.now() > 0
        True
        """
        return Timestamp(micros=time.time_ns() // 1000)

    @staticmethod
    def from_utc_datetime(dt: datetime) -> Timestamp:
        """Return the timestamp of a datetime with a zone, UTC or other.

        >>> from datetime import UTC
        >>> Timestamp.from_utc_datetime(datetime(1970, 1, 2, tzinfo=UTC))
        Timestamp(86400)
        """
        return Timestamp(micros=micros_of_datetime(dt))

    @staticmethod
    def from_rfc3339(rfc3339: str) -> Timestamp:
        """Return the timestamp of a string such as 2013-01-01T05:00:00Z.

        With more than six digits of a second it has their precision.

        Raises:
            TimeError: the string is not a time with a zone, or has more than nine digits of a second.

        >>> Timestamp.from_rfc3339("1970-01-01T00:00:00.25+00:00")
        Timestamp(0.250000)
        >>> Timestamp.from_rfc3339("1970-01-01T00:00:00.123456789Z").precision()
        9
        """
        whole = micros_of_iso(rfc3339)
        found = re.search(r"[0-9]{2}[.,]([0-9]{7,})", rfc3339)
        if found is None:
            return Timestamp(micros=whole)
        precision = len(found[1])
        if precision > Timestamp.NANOS_PRECISION:
            raise TimeError(
                f"the time {shorten(rfc3339)} has more digits than nanoseconds, so it cannot be parsed",
                remedy="write at most nine digits of a second",
            )
        units = whole * UNITS[precision - Timestamp.MICROS_PRECISION]
        return Timestamp(0, units + int(found[1][Timestamp.MICROS_PRECISION :]), precision)

    @staticmethod
    def from_proto(timestamp_proto: Any) -> Timestamp:
        """Return the timestamp of a ``google.protobuf.Timestamp``, of nanoseconds if it needs them.

        >>> from google.protobuf.timestamp_pb2 import Timestamp as Proto
        >>> Timestamp.from_proto(Proto(seconds=1, nanos=500_000_000))
        Timestamp(1.500000)
        """
        nanos = timestamp_proto.seconds * NANOS_PER_SECOND + timestamp_proto.nanos
        if nanos % NANOS_PER_MICRO:
            return Timestamp(0, nanos, Timestamp.NANOS_PRECISION)
        return Timestamp(micros=nanos // NANOS_PER_MICRO)

    def to_proto(self) -> Any:
        """Return a ``google.protobuf.Timestamp``.

        Raises:
            PipelineError: the package protobuf is not installed.

        >>> Timestamp(1.5).to_proto().nanos
        500000000
        """
        seconds, nanos = divmod(self.nanos, NANOS_PER_SECOND)
        return protobuf_module("timestamp_pb2").Timestamp(seconds=seconds, nanos=nanos)

    def __str__(self) -> str:
        """Show the seconds, or that this is the beginning or the end of time."""
        if self.micros >= END_OF_TIME_MICROS:
            return "the end of time"
        return "the beginning of time" if self.micros <= MIN_MICROS else repr(self)

    def to_utc_datetime(
        self, has_tz: bool = False, allow_lossy_conversion: bool = False
    ) -> datetime:
        """Return the datetime in UTC; as in Beam, it is naive unless ``has_tz`` is true.

        Args:
            has_tz: whether the datetime has the time zone UTC.
            allow_lossy_conversion: whether parts of microseconds may be cut off.

        Raises:
            TimeError: the year is not within 1 to 9999, or a part of a microsecond would be lost.

        >>> Timestamp(0).to_utc_datetime(has_tz=True).isoformat()
        '1970-01-01T00:00:00+00:00'
        """
        try:
            zoned = EPOCH + self.micros * MICROSECOND
        except OverflowError:
            raise TimeError(f"{self!r} is not within the years 1 to 9999 of a datetime") from None
        return zoned if has_tz else zoned.replace(tzinfo=None)

    def to_rfc3339(self) -> str:
        """Return the instant as a string in UTC.

        >>> Timestamp(1.5).to_rfc3339()
        '1970-01-01T00:00:01.500000Z'
        """
        return self.to_utc_datetime().isoformat() + "Z"

    def seconds(self) -> int:
        """Return the whole seconds, rounded down."""
        return int(self)

    def subseconds(self) -> int:
        """Return what is beyond the whole seconds, in units of the precision."""
        return self.micros % MICROS_PER_SECOND

    def precision(self) -> int:
        """Return the number of decimal digits of a second: 6 for microseconds."""
        return Timestamp.MICROS_PRECISION

    def to_precision(self, precision: int, allow_lossy_conversion: bool = False) -> Timestamp:
        """Return the instant with another precision.

        Args:
            precision: number of decimal digits of a second, from 0 to 9.
            allow_lossy_conversion: whether smaller parts may be cut off.

        Raises:
            TimeError: smaller parts would be lost.

        >>> Timestamp(1, 123456789, precision=9).to_precision(6, allow_lossy_conversion=True)
        Timestamp(1.123456)
        """
        if precision == self.precision():
            return self
        nanos_per_unit = NANOS_PER_SECOND // UNITS[digits(precision)]
        units, lost = divmod(self.nanos, nanos_per_unit)
        if lost and not allow_lossy_conversion:
            raise TimeError(
                f"{self!r} has more than {precision} digits of a second",
                remedy=f"use to_precision({precision}, allow_lossy_conversion=True) to cut off the others",
            )
        return Timestamp(0, units, precision)

    def predecessor(self) -> Timestamp:
        """Return the instant one microsecond earlier."""
        return from_micros(self.micros - 1)

    def successor(self) -> Timestamp:
        """Return the instant one microsecond later."""
        return from_micros(self.micros + 1)

    def __neg__(self) -> Timestamp:
        """Return the instant as long before 1970 as this one is after it; for descending orders."""
        return from_micros(-self.micros)

    def __add__(self, other: DurationTypes) -> Timestamp:
        return from_micros(self.micros + duration_micros(other))

    __radd__ = __add__

    @overload
    def __sub__(self, other: Timestamp) -> Duration: ...

    @overload
    def __sub__(self, other: DurationTypes) -> Timestamp: ...

    def __sub__(self, other: Timestamp | DurationTypes) -> Duration | Timestamp:
        if isinstance(other, Timestamp):
            return Duration(micros=self.micros - other.micros)
        return from_micros(self.micros - duration_micros(other))

    def __mod__(self, other: DurationTypes) -> Duration:
        return Duration(micros=self.micros % duration_micros(other))


class Duration(_Micros):
    """A duration: seconds, held in integer microseconds (Beam's Duration).

    Args:
        seconds: whole or fractional seconds.
        micros: microseconds to add to the seconds.

    >>> Duration(1.5) + 1, Duration(90) * 2, -Duration(micros=1)
    (Duration(2.500000), Duration(180), Duration(-0.000001))
    """

    __slots__ = ()

    @staticmethod
    def of(seconds: DurationTypes) -> Duration:
        """Return the duration of seconds or of a timedelta.

        >>> Duration.of(timedelta(hours=1))
        Duration(3600)
        """
        if isinstance(seconds, Duration):
            return seconds
        return Duration(micros=duration_micros(seconds))

    @staticmethod
    def from_proto(duration_proto: Any) -> Duration:
        """Return the duration of a ``google.protobuf.Duration``.

        Raises:
            TimeError: it is not a whole number of microseconds.

        >>> from google.protobuf.duration_pb2 import Duration as Proto
        >>> Duration.from_proto(Proto(seconds=1, nanos=500_000_000))
        Duration(1.500000)
        """
        nanos = duration_proto.seconds * NANOS_PER_SECOND + duration_proto.nanos
        micros, rest = divmod(nanos, NANOS_PER_MICRO)
        if not rest:
            return Duration(micros=micros)
        raise TimeError(
            f"the duration of {nanos} nanoseconds is not a whole number of microseconds",
            remedy="round its nanos to thousands",
        )

    def to_proto(self) -> Any:
        """Return a ``google.protobuf.Duration``.

        Raises:
            PipelineError: the package protobuf is not installed.

        >>> Duration(-1.5).to_proto().nanos
        -500000000
        """
        seconds, nanos = divmod(abs(self.nanos), NANOS_PER_SECOND)
        sign = -1 if self.micros < 0 else 1
        return protobuf_module("duration_pb2").Duration(seconds=sign * seconds, nanos=sign * nanos)

    def __neg__(self) -> Duration:
        return Duration(micros=-self.micros)

    @overload
    def __add__(self, other: Timestamp) -> Timestamp: ...

    @overload
    def __add__(self, other: DurationTypes) -> Duration: ...

    def __add__(self, other: Timestamp | DurationTypes) -> Duration | Timestamp:
        if isinstance(other, Timestamp):
            return other + self
        return Duration(micros=self.micros + duration_micros(other))

    def __radd__(self, other: DurationTypes) -> Duration:
        return Duration(micros=self.micros + duration_micros(other))

    def __sub__(self, other: DurationTypes) -> Duration:
        return Duration(micros=self.micros - duration_micros(other))

    def __rsub__(self, other: DurationTypes) -> Duration:
        return Duration(micros=duration_micros(other) - self.micros)

    def __mul__(self, other: DurationTypes) -> Duration:
        return Duration(micros=self.micros * duration_micros(other) // MICROS_PER_SECOND)

    __rmul__ = __mul__

    def __mod__(self, other: DurationTypes) -> Duration:
        return Duration(micros=self.micros % duration_micros(other))


def from_micros(micros: int) -> Timestamp:
    """Return the timestamp of whole microseconds; three times as fast as the constructor.

    >>> from_micros(2_500_000)
    Timestamp(2.500000)
    """
    instant = _new_timestamp()
    instant.micros = micros
    return instant


_new_timestamp: Final = partial(Timestamp.__new__, Timestamp)


def positive(duration: DurationTypes) -> Duration:
    """Return a duration, which must be longer than 0.

    Raises:
        TimeError: the duration is 0 or negative.

    >>> positive(60)
    Duration(60)
    """
    result = Duration.of(duration)
    if result.micros > 0:
        return result
    raise TimeError(
        f"the duration {shorten(duration)} is not positive", remedy="use more than 0 seconds"
    )


_Conversions: TypeAlias = Mapping[type, Callable[[Any], int]]

_own_micros: Final = attrgetter("micros")
_NUMBERS: Final[_Conversions] = {int: MICROS_PER_SECOND.__mul__, float: units_of_seconds}
_INSTANTS: Final[_Conversions] = {
    **_NUMBERS,
    str: micros_of_iso,
    datetime: micros_of_datetime,
    Timestamp: _own_micros,
}
_DURATIONS: Final[_Conversions] = {
    **_NUMBERS,
    timedelta: micros_of_timedelta,
    Duration: _own_micros,
}


def _by_kind(thing: object, conversions: _Conversions) -> int | None:
    """Convert subclasses of known types, and integers such as numpy's; return None for the rest."""
    for kind, convert in conversions.items():
        if isinstance(thing, kind):
            return convert(thing)
    return index(thing) * MICROS_PER_SECOND if hasattr(thing, "__index__") else None


def _instant_by_kind(instant: object) -> int:
    result = _by_kind(instant, _INSTANTS)
    if result is not None:
        return result
    raise TimeTypeError(
        f"{shorten(instant)} is not a time",
        remedy="use seconds since 1970, a datetime with a zone, an ISO 8601 string or a Timestamp",
    )


def _duration_by_kind(duration: object) -> int:
    result = _by_kind(duration, _DURATIONS)
    if result is not None:
        return result
    raise TimeTypeError(
        f"{shorten(duration)} is not a duration", remedy="use seconds, a timedelta or a Duration"
    )


MIN_TIMESTAMP: Final = Timestamp(micros=MIN_MICROS)
"""The beginning of time; no element is earlier."""

MAX_TIMESTAMP: Final = Timestamp(micros=MAX_MICROS)
"""The end of time: a watermark there states that no more elements will arrive."""

FOREVER: Final = Duration(micros=MAX_MICROS)
"""An allowed lateness without a limit: windows are kept until the end of time."""

TIME_GRANULARITY: Final = Duration(micros=1)
"""The smallest difference between two timestamps: one microsecond."""
