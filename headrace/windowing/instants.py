"""Many instants at once as integer microseconds: what :func:`headrace.windowing.time.micros` does for one.

Sources and DoFns give a time with every element, nearly always as a number of seconds or a Timestamp, and
all of one kind; then a whole column is converted without a call for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from headrace.windowing.time import MICROS_PER_SECOND, Timestamp, TimestampTypes, micros
from headrace.windowing.timestamped_value import TimestampedValue

_given_of: Final = attrgetter("_given")
_own_micros: Final = attrgetter("micros")


def all_micros(instants: Sequence[TimestampTypes]) -> list[int]:
    """Return instants as microseconds since 1970.

    Raises:
        TimeError: one of them is naive, malformed or out of range.

    >>> all_micros([1, 2]), all_micros(["1970-01-01T00:00:03Z"])
    ([1000000, 2000000], [3000000])
    """
    kinds = set(map(type, instants))
    if kinds == {int}:
        return _seconds(instants)
    if kinds == {Timestamp}:
        return list(map(_own_micros, instants))
    return list(map(micros, instants))


def timestamps_of(values: Sequence[TimestampedValue[Any]]) -> list[int]:
    """Return the timestamps of values in microseconds.

    Raises:
        TimeError: one of them is naive, malformed or out of range.

    >>> timestamps_of([TimestampedValue("a", 1), TimestampedValue("b", 2)])
    [1000000, 2000000]
    """
    return all_micros(list(map(_given_of, values)))


def _seconds(instants: Any) -> list[int]:
    for extreme in (min(instants), max(instants)):
        micros(extreme)  # says so if it is out of range; all others lie between
    return [MICROS_PER_SECOND * seconds for seconds in instants]
