"""Other forms of times as integers: seconds, datetimes, timedeltas and ISO 8601 strings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module
from types import ModuleType
from typing import Final

from headrace.errors import PipelineError, TimeError, TimeTypeError, shorten

MICROS_PER_SECOND: Final = 1_000_000

UNITS: Final[tuple[int, ...]] = tuple(10**precision for precision in range(10))
"""Units in a second, by precision."""

FLOAT_MAX: Final = 4e9
FLOAT_MIN: Final = -FLOAT_MAX
"""Within these bounds, seconds times a million has an error below a quarter of a microsecond."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


def protobuf_module(name: str) -> ModuleType:
    """Return a module of the package protobuf."""
    try:
        return import_module(f"google.protobuf.{name}")
    except ImportError:
        raise PipelineError(
            "the package protobuf is not installed", remedy="pip install protobuf"
        ) from None


def units_of_seconds(seconds: float, units: int = MICROS_PER_SECOND) -> int:
    """Convert seconds to units, such as microseconds: ints exactly, others to the nearest unit."""
    try:
        if FLOAT_MIN < seconds < FLOAT_MAX and units <= MICROS_PER_SECOND:
            return round(seconds * units)
        whole = int(seconds)
        # Only the fraction is multiplied, since the product of large floats would lose
        # microseconds.
        return whole * units + round((seconds - whole) * units)
    except (OverflowError, ValueError, TypeError):
        raise TimeError(
            f"{shorten(seconds)} is not a number of seconds", remedy="use a finite number"
        ) from None


def micros_of_datetime(moment: datetime) -> int:
    """Return a datetime with a zone as microseconds since 1970."""
    if moment.utcoffset() is not None:
        return (moment - EPOCH) // MICROSECOND
    raise TimeError(
        f"the time {moment.isoformat()} has no time zone, so it does not identify an instant",
        remedy='add a time zone: datetime(…, tzinfo=UTC) or ZoneInfo("…"), "…Z" in a string',
    )


def micros_of_iso(text: str) -> int:
    """Return a time in ISO 8601 form as microseconds since 1970."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise TimeError(
            f"the time {shorten(text)} is not in ISO 8601 form, so it cannot be parsed",
            remedy='write it like "2013-01-01T05:00:00Z"',
        ) from None
    return micros_of_datetime(moment)


def micros_of_timedelta(duration: timedelta) -> int:
    """Return a timedelta as microseconds."""
    return duration // MICROSECOND


def digits(precision: int) -> int:
    """Return a precision that is possible."""
    if not isinstance(precision, int):
        raise TimeTypeError(
            f"the precision {shorten(precision)} is not an int", remedy="use 0 to 9"
        )
    if not 0 <= precision < len(UNITS):
        raise TimeError(f"the precision {precision} is not within 0 to 9", remedy="use 0 to 9")
    return precision
