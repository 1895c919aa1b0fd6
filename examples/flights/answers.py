"""What is computed: the delays of an hour; from these the totals of a day; an aircraft's working days."""

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
"""So many seconds after a departure without another one, an aircraft's working day is over."""

DelayCounts = Counter[int | None]
"""How many flights left with each delay in minutes; under None those that were cancelled."""


class Hour(NamedTuple):
    """The flights of an airport and hour.

    Attributes:
        flights: how many were scheduled.
        cancelled: how many of them never left.
        delay_minutes: sum of the delays of those that left.
        p95_delay: the least delay that 95 % of those that left did not exceed, if it is known.
    """

    flights: int = 0
    cancelled: int = 0
    delay_minutes: int = 0
    p95_delay: int | None = None

    @property
    def departed(self) -> int:
        """How many flights left."""
        return self.flights - self.cancelled

    @property
    def mean_delay(self) -> float | None:
        """Mean delay in minutes of the flights that left; None if none left."""
        return self.delay_minutes / self.departed if self.departed else None

    def plus(self, other: Hour) -> Hour:
        """Return both parts of an hour as one; its percentile does not follow from theirs."""
        return Hour(
            self.flights + other.flights,
            self.cancelled + other.cancelled,
            self.delay_minutes + other.delay_minutes,
        )


class Day(NamedTuple):
    """The flights of an airport and day: what hours add up to."""

    flights: int = 0
    cancelled: int = 0
    delay_minutes: int = 0

    def plus(self, other: Hour | Day) -> Day:
        """Return the day with an hour, or another part of it, added."""
        return Day(
            self.flights + other.flights,
            self.cancelled + other.cancelled,
            self.delay_minutes + other.delay_minutes,
        )

    def minus(self, hour: Hour) -> Day:
        """Return the day without an hour."""
        return Day(
            self.flights - hour.flights,
            self.cancelled - hour.cancelled,
            self.delay_minutes - hour.delay_minutes,
        )


class CombineDelays(hr.CombineFn):
    """Flights into an :class:`Hour`, exactly: delays are whole minutes, so counting them is enough."""

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
    """Hours into a :class:`Day`. An hour that is taken back is subtracted."""

    def create_accumulator(self) -> Day:
        return Day()

    def add_input(self, day: Day, hour: Hour) -> Day:
        return day.plus(hour)

    def subtract_input(self, day: Day, hour: Hour) -> Day:
        """Return the day without an hour that was, or will be, added."""
        return day.minus(hour)

    def merge_accumulators(self, days: Iterable[Day]) -> Day:
        return reduce(Day.plus, days)

    def extract_output(self, day: Day) -> Day:
        return day


_delay = attrgetter("delay")


def _percentile(counted: list[tuple[int, int]], percent: int) -> int | None:
    """Return the nearest-rank percentile of sorted (value, count) pairs; None if there are none."""
    wanted = percent * sum(n for _, n in counted)
    passed = 0
    for value, n in counted:
        passed += 100 * n
        if passed >= wanted:
            return value
    return None
