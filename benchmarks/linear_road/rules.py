"""The rules of tolls and accidents.

The number of cars without toll is scaled to a small road: in the paper it is 50.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Final

MINUTE: Final = 60
REPORT_SECONDS: Final = 30
"""Seconds between two reports of a vehicle."""

SEGMENT_FEET: Final = 5280
SEGMENTS: Final = 20
"""Segments of an expressway; the paper has 100."""

ENTRY_LANE: Final = 0
EXIT_LANE: Final = 4

STOPPED_REPORTS: Final = 4
"""A vehicle is stopped when this many reports in a row have the same place."""

REACH: Final = 5
"""Segments, with its own one, in which an accident is announced to those who enter."""

SPEED_MINUTES: Final = 5
"""The number of minutes over which the latest average velocity is taken."""

SLOW: Final = 40
"""Miles per hour below which there is a toll."""

FREE_CARS: Final = 5
"""Cars in the minute before up to which there is no toll."""

Segment = tuple[int, int, int]
"""Expressway, direction (0 is east, 1 is west) and number."""

Place = tuple[int, int, int, int]
"""Expressway, direction, lane and position in feet."""


def minute_of(time: int) -> int:
    """Return the number of the minute of a time in seconds."""
    return time // MINUTE


def segment_of(place: Place) -> Segment:
    """Return the segment of a place."""
    expressway, direction, _, position = place
    return expressway, direction, position // SEGMENT_FEET


def before_accident(place: Place) -> list[Segment]:
    """Return the segments in which an accident at a place is announced: its own one, and those before it."""
    expressway, direction, number = segment_of(place)
    back = -1 if direction == 0 else 1
    numbers = (number + back * steps for steps in range(REACH))
    return [(expressway, direction, n) for n in numbers if 0 <= n < SEGMENTS]


def average(speeds: Iterable[float]) -> float | None:
    """Return the mean of the speeds of some minutes; None if there are none."""
    found: Sequence[float] = list(speeds)
    return fsum(found) / len(found) if found else None


def toll(speed: float | None, cars: int) -> int:
    """Return the toll of a segment without accident.

    Args:
        speed: the latest average velocity; None if it is not known.
        cars: the number of cars in the minute before.

    >>> toll(35.0, 8), toll(45.0, 8), toll(None, 8), toll(35.0, 5)
    (18, 0, 0, 0)
    """
    if speed is None or speed >= SLOW or cars <= FREE_CARS:
        return 0
    return 2 * (cars - FREE_CARS) ** 2
