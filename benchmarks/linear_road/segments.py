"""Accidents at a place, and what a segment tells to those who enter it: the toll, or an accident ahead."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.linear_road.rules import (
    SPEED_MINUTES,
    Place,
    average,
    minute_of,
    segment_of,
    toll,
)
from benchmarks.linear_road.vehicles import STOPPED

STATISTICS: Final = 0
BEGAN: Final = 1
CLEARED: Final = 2
ENTERS: Final = 3
"""What a segment hears of: (one of these, time in seconds, …)."""

Minute = tuple[int, float, int]
"""Number of the minute, average speed, and number of cars."""

Accident = tuple[Place, int, int | None]
"""Where, the minute in which it began, and the one in which it was cleared; None if it was not."""


def crash(
    before: tuple[int, ...] | None, told: tuple[int, str, int]
) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """Return the vehicles that are stopped at a place, and whether an accident began or was cleared.

    Args:
        before: the vehicles that were stopped.
        told: time in seconds, what a vehicle does, and its number.
    """
    time, does, vehicle = told
    stopped = before or ()
    others = tuple(other for other in stopped if other != vehicle)
    now = (*others, vehicle) if does == STOPPED else others
    if len(stopped) < 2 <= len(now):
        return now, [(BEGAN, time)]
    if len(now) < 2 <= len(stopped):
        return now, [(CLEARED, time)]
    return now, []


Known = tuple[tuple[Minute, ...], tuple[Accident, ...]]
"""The last minutes of a segment, and the accidents in its reach."""


def hear(before: Known | None, heard: tuple[int, int, Any]) -> tuple[Known, list[dict[str, Any]]]:
    """Return what a segment knows after it heard of something; if a vehicle enters, also what it is told.

    Args:
        before: what it knew.
        heard: what, the time in seconds, and the details.
    """
    minutes, accidents = before or ((), ())
    kind, time, detail = heard
    if kind == STATISTICS:
        return ((*minutes, detail)[-SPEED_MINUTES:], accidents), []
    if kind == BEGAN:
        return (minutes, (*accidents, (detail, minute_of(time), None))), []
    if kind == CLEARED:
        return (minutes, tuple(_cleared(a, detail, minute_of(time)) for a in accidents)), []
    recent = tuple(a for a in accidents if a[2] is None or a[2] >= minute_of(time) - 1)
    return (minutes, recent), [_notice(minutes, recent, time, detail)]


def _cleared(accident: Accident, place: Place, minute: int) -> Accident:
    where, began, cleared = accident
    return (where, began, minute) if where == place and cleared is None else accident


def _notice(
    minutes: tuple[Minute, ...], accidents: tuple[Accident, ...], time: int, entry: tuple[int, int]
) -> dict[str, Any]:
    """Return what a vehicle is told.

    Args:
        minutes: the last minutes of the segment.
        accidents: the accidents ahead, none of them cleared before the last minute.
        time: when the vehicle enters.
        entry: its number, and the number of the segment.
    """
    now, (vehicle, number) = minute_of(time), entry
    ahead = [segment_of(place)[2] for place, began, _ in accidents if began < now]
    recent = [each for each in minutes if now - SPEED_MINUTES <= each[0] < now]
    speed = average(speed for _, speed, _ in recent)
    cars = next((cars for minute, _, cars in recent if minute == now - 1), 0)
    return {
        "vehicle": vehicle,
        "time": time,
        "speed": speed,
        "toll": 0 if ahead else toll(speed, cars),
        "accident": min(ahead, key=lambda segment: abs(segment - number), default=None),
    }
