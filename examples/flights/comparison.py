"""Compares the answers of a run with plain Python, row by row."""

from __future__ import annotations

from typing import Any, NamedTuple

from flights.answers import Hour
from flights.results import Place, Rows


class Difference(NamedTuple):
    """A row that differs; None marks a missing value."""

    place: Place
    found: Any
    expected: Any


class Comparison(NamedTuple):
    """The comparison of one answer.

    Attributes:
        rows: number of expected rows.
        differences: the rows that differ.
    """

    rows: int
    differences: list[Difference]

    @property
    def rows_equal(self) -> int:
        """Number of expected rows that were found unchanged."""
        return self.rows - sum(difference.expected is not None for difference in self.differences)

    @property
    def equal(self) -> bool:
        """Whether all rows are equal."""
        return not self.differences


def compare(found: Rows, expected: Rows) -> Comparison:
    """Compare two answers, row by row."""
    differences = [
        Difference(place, found.get(place), expected.get(place))
        for place in sorted(found.keys() | expected.keys())
        if found.get(place) != expected.get(place)
    ]
    return Comparison(len(expected), differences)


def counts_double(comparison: Comparison) -> bool:
    """Return whether every difference is a day that counts flights more than once."""
    return all(
        found and expected and found.flights > expected.flights
        for _, found, expected in comparison.differences
    )


def without_percentiles(hours: Rows) -> Rows:
    """Return hours without percentiles, since sums of discarding panes have none."""
    return {place: Hour().plus(hour) for place, hour in hours.items()}


def rejoined(working_days: Rows) -> Rows:
    """Return working days, with overlapping ones merged.

    If the allowed lateness is too small for the data, a record can arrive after its working day has expired,
    but early enough not to be dropped. It then starts a new working day inside the old one.
    """
    joined: Rows = {}
    previous: Place | None = None
    for place, legs in sorted(working_days.items()):
        if previous and place.key == previous.key and place.start < previous.end:
            legs += joined.pop(previous)
            place = Place(place.key, previous.start, max(previous.end, place.end))
        joined[place] = legs
        previous = place
    return joined
