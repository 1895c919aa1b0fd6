"""Makes the input: position reports of vehicles and queries, out of order, in files.

A line has the fifteen numbers of the paper. Most vehicles travel from a random entry to an exit. In an
accident two of them stop at one place for some minutes; others stop alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import attrs

import headrace as hr
from benchmarks.linear_road.rules import (
    ENTRY_LANE,
    EXIT_LANE,
    REPORT_SECONDS,
    SEGMENT_FEET,
    SEGMENTS,
    Place,
    Segment,
)

REPORT: Final = 0
BALANCE: Final = 2
EXPENDITURE: Final = 3
"""The types of records."""

FEET_PER_REPORT: Final = SEGMENT_FEET * REPORT_SECONDS // 3600
"""Feet in the time between two reports, for each mile per hour."""

TRIPS_PER_MINUTE: Final = 20
"""For each expressway."""

REPORTS: Final = (6, 24)
REPORTS_WITH_STOP: Final = 10
STOPPED: Final = (8, 16)
"""The number of reports of a trip that does not stop, of one that does, and of the stop in addition."""

STOPS_AFTER: Final = 3
"""The number of reports before a stop."""

EVERY_STOPS: Final = 40
"""One in this many trips meets an accident or stops alone."""

QUERIED: Final = 0.02
"""Part of the reports that come with a query of each type."""

DAYS: Final = range(1, 8)
"""The days of the history of tolls; the paper has 69."""


class Record(NamedTuple):
    """A line of the input; numbers that do not belong to its type are -1.

    Attributes:
        kind: one of the types of records.
        time: seconds since the start.
        vehicle: number of the vehicle.
        speed: miles per hour.
        expressway: number of the expressway.
        lane: 0 is the entry, 4 the exit.
        direction: 0 is east, 1 is west.
        segment: number of the segment.
        position: feet from the west end.
        query: number of the query.
        day: of a query of expenditure.
    """

    kind: int
    time: int
    vehicle: int
    speed: int = -1
    expressway: int = -1
    lane: int = -1
    direction: int = -1
    segment: int = -1
    position: int = -1
    query: int = -1
    day: int = -1

    @property
    def place(self) -> Place:
        """Where the vehicle is."""
        return self.expressway, self.direction, self.lane, self.position

    @property
    def on(self) -> Segment:
        """The segment in which the vehicle is."""
        return self.expressway, self.direction, self.segment


class Line(hr.coders.Coder):
    """A record as a line of fifteen numbers; those of travel times are unused."""

    def encode(self, value: Record) -> bytes:
        """Return the line of a record."""
        return ",".join(map(str, (*value[:10], -1, -1, -1, -1, value.day))).encode()

    def decode(self, encoded: bytes) -> Record:
        """Return the record of a line."""
        numbers = list(map(int, encoded.split(b",")))
        return Record(*numbers[:10], numbers[14])

    def is_deterministic(self) -> bool:
        """Equal records have equal lines."""
        return True


@attrs.frozen
class Config:
    """What is generated.

    Args:
        minutes: length of the input; at least 30, so that the trips of a vehicle are apart.
        expressways: number of expressways; the traffic grows with it.
        longest_delay: the longest delay of a record, in seconds.
        seed: selects the records.
        files: number of files.
    """

    minutes: int = 30
    expressways: int = 1
    longest_delay: int = 10
    seed: int = 1
    files: int = 2

    @property
    def trips(self) -> int:
        """Number of trips."""
        return self.minutes * self.expressways * TRIPS_PER_MINUTE

    @property
    def vehicles(self) -> int:
        """Number of vehicles: each makes about two trips, half of the time apart."""
        return -(-self.trips // 2)

    @property
    def watermark(self) -> hr.BoundedOutOfOrderness:
        """The watermark that no record is behind."""
        return hr.BoundedOutOfOrderness(self.longest_delay)


def records(config: Config) -> list[Record]:
    """Return all records, in the order of their times."""
    found = [record for n in range(config.trips) for record in _trip(config, n)]
    return sorted(found, key=lambda record: (record.time, record.vehicle, record.kind))


def write_records(config: Config, directory: Path) -> int:
    """Write the records to files, each in the order of arrival, and return their number."""
    directory.mkdir(parents=True, exist_ok=True)
    random, line = Random(config.seed), Line()
    arrivals: list[list[tuple[int, int, Record]]] = [[] for _ in range(config.files)]
    made = records(config)
    for number, record in enumerate(made):
        delay = random.randrange(config.longest_delay + 1)
        arrivals[random.randrange(config.files)].append((record.time + delay, number, record))
    for number, arrived in enumerate(arrivals):
        lines = (line.encode(record).decode() + "\n" for *_, record in sorted(arrived))
        (directory / f"records-{number}.txt").write_text("".join(lines))
    return len(made)


def history(config: Config) -> list[tuple[tuple[int, int, int], int]]:
    """Return the tolls of earlier days: ((vehicle, day, expressway), toll)."""
    random = Random(config.seed)
    keys = (
        (vehicle, day, expressway)
        for vehicle in range(config.vehicles)
        for day in DAYS
        for expressway in range(config.expressways)
    )
    return [(key, random.randrange(100)) for key in keys]


def _trip(config: Config, n: int) -> Iterator[Record]:
    """Yield the records of a trip: from the entry over the travel lanes to the exit, with queries."""
    random = Random(config.seed << 40 | n)
    vehicle = n % config.vehicles
    start = n * config.minutes * 60 // config.trips
    speed = random.randint(15, 70)
    expressway, direction, position = _start(random, config, n)
    reports = REPORTS_WITH_STOP if _stops(n) else random.randint(*REPORTS)
    stays = random.randint(*STOPPED) if _stops(n) else 0
    for number in range(reports + stays):
        lane = 1 + (vehicle + number) % 3
        is_stopped = STOPS_AFTER <= number < STOPS_AFTER + stays
        if is_stopped:
            lane, position = 2, _stop_position(config, n)
        elif number:
            way = speed * FEET_PER_REPORT * (1 if direction == 0 else -1)
            position = min(max(position + way, 0), SEGMENTS * SEGMENT_FEET - 1)
        if number in (0, reports + stays - 1):
            lane = ENTRY_LANE if number == 0 else EXIT_LANE
        report = Record(
            *(REPORT, start + number * REPORT_SECONDS, vehicle),
            *(0 if is_stopped else max(1, speed + random.randint(-10, 10)), expressway, lane),
            *(direction, position // SEGMENT_FEET, position),
        )
        yield report
        yield from _queries(config, random, report)


def _start(random: Random, config: Config, n: int) -> tuple[int, int, int]:
    """Return expressway, direction and position of a trip; those that stop together are the same."""
    if _stops(n):
        random = Random(config.seed << 41 | n // 2)
    expressway, direction = random.randrange(config.expressways), random.randrange(2)
    return expressway, direction, random.randrange(SEGMENTS) * SEGMENT_FEET


def _stops(n: int) -> bool:
    """Return whether a trip stops: in an accident with the next or last trip, or alone."""
    place = n % (2 * EVERY_STOPS)
    return place in (0, 1) or place == EVERY_STOPS


def _stop_position(config: Config, n: int) -> int:
    """Return where a trip stops: at the same place as the one with which it has an accident."""
    return Random(config.seed << 42 | n // 2).randrange(SEGMENTS * SEGMENT_FEET)


def _queries(config: Config, random: Random, report: Record) -> Iterator[Record]:
    """Yield queries of the vehicle at the time of a report."""
    _, time, vehicle, *_ = report
    number = time * config.vehicles + vehicle
    if random.random() < QUERIED:
        yield Record(BALANCE, time, vehicle, query=2 * number)
    if random.random() < QUERIED:
        day = random.choice(DAYS)
        expressway = random.randrange(config.expressways)
        asked: dict[str, Any] = {"expressway": expressway, "query": 2 * number + 1, "day": day}
        yield Record(EXPENDITURE, time, vehicle, **asked)
