"""Event time and processing time: integer microseconds inside, many forms outside.

Seconds (int, float), ``timedelta``, zoned ``datetime``, ISO 8601 strings with a zone, and the classes here
are all understood where a public function takes a time; naive datetimes are refused, since they name no
instant.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import total_ordering
from typing import Any, Final, TypeAlias, Union

from headrace.errors import TimeError, shorten

MICROS_PER_SECOND: Final = 1_000_000
MAX_MICROS: Final = 9_223_372_036_854_775_000
MIN_MICROS: Final = -MAX_MICROS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

TimestampTypes: TypeAlias = Union[int, float, str, datetime, "Timestamp"]
DurationTypes: TypeAlias = Union[int, float, timedelta, "Duration"]


def micros(instant: TimestampTypes) -> int:
    """Return an instant as microseconds since 1970-01-01T00:00:00Z.

    Args:
        instant: seconds, an ISO 8601 string with a zone, a datetime with a zone, or a Timestamp.

    Raises:
        TimeError: the instant is naive, malformed or outside [MIN, MAX].

    >>> micros(1.5), micros("1970-01-01T00:00:01Z")
    (1500000, 1000000)
    """
    convert = _INSTANTS.get(type(instant), _instant_by_kind)
    result = convert(instant)
    if MIN_MICROS <= result <= MAX_MICROS:
        return result
    raise TimeError(
        f"the time {shorten(instant)} lies outside of what a timestamp can hold",
        remedy="use seconds since 1970 (not milli- or microseconds)",
    )
