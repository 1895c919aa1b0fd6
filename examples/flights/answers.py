"""The aggregations: delays per hour, from these the totals per day, and working days of aircraft."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import reduce
from operator import attrgetter
from typing import NamedTuple

import headrace as hr
from flights.records import Flight

HOUR = 3600

WORKING_DAY_GAP = 6 * HOUR
"""An aircraft's working day ends when it has no departure for this time, in seconds."""

DelayCounts = Counter[int | None]
"""Number of flights by delay in minutes; cancelled flights are under None."""


class Hour(NamedTuple):
    """Totals of the flights of an airport and hour.

    Attributes:
        flights: number of scheduled flights.
        cancelled: number of cancelled flights.
        delay_minutes: total delay of the flights that departed, in minutes.
        p95_delay: 95th percentile of their delays, in minutes; None if unknown.
    """

    flights: int = 0
    cancelled: int = 0
    delay_minutes: int = 0
    p95_delay: int | None = None

    @property
    def departed(self) -> int:
        """Number of flights that departed."""
        return self.flights - self.cancelled

    @property
    def mean_delay(self) -> float | None:
        """Mean delay in minutes of the flights that departed; None if none did."""
        return self.delay_minutes / self.departed if self.departed else None

    def plus(self, other: Hour) -> Hour:
        """Return the sum of two parts of an hour, without a percentile, since percentiles do not add up."""
        return Hour(
            self.flights + other.flights,
            self.cancelled + other.cancelled,
            self.delay_minutes + other.delay_minutes,
        )


class Day(NamedTuple):
    """Totals of the flights of an airport and day: sums of hours."""

    flights: int = 0
    cancelled: int = 0
    delay_minutes: int = 0

    def plus(self, other: Hour | Day) -> Day:
        """Return the sum of this day and an hour, or another part of the day."""
        return Day(
            self.flights + other.flights,
            self.cancelled + other.cancelled,
            self.delay_minutes + other.delay_minutes,
        )

    def minus(self, hour: Hour) -> Day:
        """Return this day minus an hour."""
        return Day(
            self.flights - hour.flights,
            self.cancelled - hour.cancelled,
            self.delay_minutes - hour.delay_minutes,
        )


class CombineDelays(hr.CombineFn):
    """Combines flights into an :class:`Hour`; exact, since delays are whole minutes and can be counted."""

    def create_accumulator(self) -> DelayCounts:
        return Counter()

    def add_input(self, counts: DelayCounts, flight: Flight) -> DelayCounts:
        counts[flight.delay] += 1
        return counts

    def add_inputs(self, counts: DelayCounts, flights: Iterable[Flight]) -> DelayCounts:
        counts.update(map(_delay, flights))
        return counts

    def merge_accumulators(self, accumulators: Iterable[DelayCounts]) -> DelayCounts:
        first, *others = accumulators
        for other in others:
            first.update(other)
        return first

    def extract_output(self, counts: DelayCounts) -> Hour:
        departed = sorted((delay, n) for delay, n in counts.items() if delay is not None)
        return Hour(
            flights=counts.total(),
            cancelled=counts[None],
            delay_minutes=sum(delay * n for delay, n in departed),
            p95_delay=_percentile(departed, 95),
        )


class SumHours(hr.CombineFn):
    """Combines hours into a :class:`Day`; a retracted hour is subtracted."""

    def create_accumulator(self) -> Day:
        return Day()

    def add_input(self, day: Day, hour: Hour) -> Day:
        return day.plus(hour)

    def subtract_input(self, day: Day, hour: Hour) -> Day:
        """Return the day minus an hour that was, or will be, added."""
        return day.minus(hour)

    def merge_accumulators(self, days: Iterable[Day]) -> Day:
        return reduce(Day.plus, days)

    def extract_output(self, day: Day) -> Day:
        return day


_delay = attrgetter("delay")


def _percentile(counted: list[tuple[int, int]], percent: int) -> int | None:
    """Return the nearest-rank percentile of sorted (value, count) pairs; None if empty."""
    rank = percent * sum(n for _, n in counted)
    cumulative = 0
    for value, n in counted:
        cumulative += 100 * n
        if cumulative >= rank:
            return value
    return None
