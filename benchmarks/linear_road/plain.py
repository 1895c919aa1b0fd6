"""The answers in plain Python: loops over all records, one question after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import fsum
from typing import NamedTuple

import attrs

from benchmarks.linear_road.records import (
    BALANCE,
    EXPENDITURE,
    REPORT,
    Config,
    Record,
    history,
    records,
)

Notice = tuple[float | None, int, int | None]
"""The latest average velocity, the toll, and the segment of the nearest accident ahead."""


@attrs.frozen
class Answers:
    """The answers.

    Attributes:
        tolls: what a vehicle is told, by (vehicle, time).
        balances: the balances, by query.
        expenditures: the tolls of earlier days, by query.
    """

    tolls: dict[tuple[int, int], Notice] = attrs.field(factory=dict)
    balances: dict[int, int] = attrs.field(factory=dict)
    expenditures: dict[int, int] = attrs.field(factory=dict)


class Accident(NamedTuple):
    """Two stopped vehicles: from one minute to another one, with it."""

    expressway: int
    direction: int
    segment: int
    first: int
    last: float


def answers(config: Config) -> Answers:
    """Return the answers for the records of a configuration."""
    found, all_records = Answers(), records(config)
    trips = list(_trips(record for record in all_records if record.kind == REPORT))
    traffic, accidents = _traffic(trips), _accidents(trips)
    charges: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for trip in trips:
        due = 0
        for before, now in [(None, trip[0]), *pairwise(trip)]:
            if now.lane == 4 or (before is not None and before.segment == now.segment):
                continue
            if before is not None:
                charges[now.vehicle].append((now.time, due))
            notice = _notice(now, traffic, accidents)
            found.tolls[now.vehicle, now.time] = notice
            due = notice[1]
    tolls = dict(history(config))
    for record in all_records:
        if record.kind == BALANCE:
            paid = (toll for time, toll in charges[record.vehicle] if time <= record.time)
            found.balances[record.query] = sum(paid)
        elif record.kind == EXPENDITURE:
            key = record.vehicle, record.day, record.expressway
            found.expenditures[record.query] = tolls[key]
    return found


def _trips(reports: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield the reports of each trip in order."""
    open_trips: dict[int, list[Record]] = {}
    for report in reports:
        trip = open_trips.setdefault(report.vehicle, [])
        if trip and report.time > trip[-1].time + 30:
            yield trip
            trip = open_trips[report.vehicle] = []
        trip.append(report)
    yield from open_trips.values()


Traffic = dict[tuple[int, int, int, int], list[float]]
"""The mean speed of each car, by expressway, direction, segment and minute."""


def _traffic(trips: list[list[Record]]) -> Traffic:
    speeds: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for trip in trips:
        for r in trip:
            speeds[r.expressway, r.direction, r.segment, r.time // 60, r.vehicle].append(r.speed)
    found: defaultdict[tuple[int, int, int, int], list[float]] = defaultdict(list)
    for (expressway, direction, segment, minute, _), own in speeds.items():
        found[expressway, direction, segment, minute].append(fsum(own) / len(own))
    return dict(found)


def _accidents(trips: list[list[Record]]) -> list[Accident]:
    """Return the accidents: times in which two or more vehicles are stopped at a place."""
    changes: defaultdict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    for trip in trips:
        places = [(r.expressway, r.direction, r.lane, r.position) for r in trip]
        for end in range(3, len(trip)):
            four = places[end - 3 : end + 1]
            if len(set(four)) == 1 and (end == 3 or places[end - 4] != four[0]):
                moves = (r.time for r, place in zip(trip, places, strict=True) if place != four[0])
                changes[four[0]].append((trip[end].time, 1))
                changes[four[0]] += [(t, -1) for t in moves if t > trip[end].time][:1]
    return [accident for place, found in changes.items() for accident in _at(place, found)]


def _at(place: tuple[int, ...], changes: list[tuple[int, int]]) -> Iterator[Accident]:
    expressway, direction, _, position = place
    stopped, began = 0, None
    for time, change in sorted(changes, key=lambda change: (change[0], change[1] < 0)):
        stopped += change
        if stopped >= 2 and began is None:
            began = time // 60
        elif stopped < 2 and began is not None:
            yield Accident(expressway, direction, position // 5280, began, time // 60)
            began = None
    if began is not None:
        yield Accident(expressway, direction, position // 5280, began, float("inf"))


def _notice(report: Record, traffic: Traffic, accidents: list[Accident]) -> Notice:
    """Return what a vehicle is told in a segment that it enters."""
    now, way = report.time // 60, 1 if report.direction == 0 else -1
    where = report.expressway, report.direction, report.segment
    cars = [traffic[(*where, m)] for m in range(now - 5, now) if (*where, m) in traffic]
    means = [fsum(speeds) / len(speeds) for speeds in cars]
    speed = fsum(means) / len(means) if means else None
    number = len(traffic.get((*where, now - 1), []))
    distances = [
        (accident.segment - report.segment) * way
        for accident in accidents
        if (accident.expressway, accident.direction) == where[:2]
        and accident.first <= now - 1 <= accident.last
    ]
    near = [distance for distance in distances if 0 <= distance <= 4]
    if near:
        return speed, 0, report.segment + min(near) * way
    slow = speed is not None and speed < 40
    return speed, 2 * (number - 5) ** 2 if slow and number > 5 else 0, None
