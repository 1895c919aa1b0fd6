"""The same answers in plain Python, from the whole file: the expected results of every run.

This module shares only the reading of flights with the pipeline.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from math import ceil

from flights.answers import HOUR, WORKING_DAY_GAP, Day, Hour
from flights.records import NEW_YORK, Flight
from flights.results import Place, Rows


def without(flights: Iterable[Flight], late: Counter[Flight]) -> list[Flight]:
    """Return the flights without the late ones; respects multiplicity."""
    if not late:
        return list(flights)
    return list((Counter(flights) - late).elements())


def hours(flights: Iterable[Flight]) -> Rows:
    """Return the :class:`Hour` of each airport and hour."""
    found: dict[Place, list[Flight]] = defaultdict(list)
    for flight in flights:
        start = flight.scheduled - flight.scheduled % HOUR
        found[Place(flight.origin, start, start + HOUR)].append(flight)
    return {place: _hour(members) for place, members in found.items()}


def days(flights: Iterable[Flight]) -> Rows:
    """Return the :class:`Day` of each airport and day in New York."""
    found: dict[tuple[str, str], list[Flight]] = defaultdict(list)
    for flight in flights:
        local = datetime.fromtimestamp(flight.scheduled, NEW_YORK)
        found[flight.origin, local.date().isoformat()].append(flight)
    return {_whole_day(*key): _day(members) for key, members in found.items()}


def working_days(flights: Iterable[Flight]) -> Rows:
    """Return the number of legs of each aircraft's working days."""
    departures: dict[str, list[int]] = defaultdict(list)
    for flight in flights:
        if flight.tailnum and flight.flown:
            departures[flight.tailnum].append(flight.scheduled)
    return {
        Place(tailnum, legs[0], legs[-1] + WORKING_DAY_GAP): len(legs)
        for tailnum, moments in departures.items()
        for legs in _runs(sorted(moments))
    }


def _hour(flights: list[Flight]) -> Hour:
    delays = sorted(flight.delay for flight in flights if flight.delay is not None)
    return Hour(
        flights=len(flights),
        cancelled=len(flights) - len(delays),
        delay_minutes=sum(delays),
        p95_delay=delays[ceil(0.95 * len(delays)) - 1] if delays else None,
    )


def _day(flights: list[Flight]) -> Day:
    delays = [flight.delay for flight in flights if flight.delay is not None]
    return Day(len(flights), len(flights) - len(delays), sum(delays))


def _whole_day(origin: str, date: str) -> Place:
    midnight = datetime.fromisoformat(date).replace(tzinfo=NEW_YORK)
    next_midnight = midnight + timedelta(days=1)  # in local time; the day may have 23 or 25 hours
    return Place(origin, int(midnight.timestamp()), int(next_midnight.timestamp()))


def _runs(moments: list[int]) -> Iterator[list[int]]:
    """Split sorted moments into runs whose gaps are less than a working day's gap."""
    run = moments[:1]
    for moment in moments[1:]:
        if moment - run[-1] >= WORKING_DAY_GAP:
            yield run
            run = []
        run.append(moment)
    yield run
