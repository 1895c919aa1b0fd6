"""The answers of a run beside those of plain Python, row by row."""

from __future__ import annotations

from typing import Any, NamedTuple

from flights.answers import Hour
from flights.results import Place, Rows


class Difference(NamedTuple):
    """A row that is not the same in both; None where it is missing."""

    place: Place
    found: Any
    expected: Any


class Comparison(NamedTuple):
    """An answer, twice.

    Attributes:
        rows: number of rows that were expected.
        differences: the rows that are not the same.
    """

    rows: int
    differences: list[Difference]

    @property
    def rows_equal(self) -> int:
        """How many of the expected rows were found as they are."""
        return self.rows - sum(difference.expected is not None for difference in self.differences)

    @property
    def equal(self) -> bool:
        """Whether all rows are the same."""
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
    """Tell whether every difference is that flights were counted more than once."""
    return all(
        found and expected and found.flights > expected.flights
        for _, found, expected in comparison.differences
    )


def without_percentiles(hours: Rows) -> Rows:
    """Return hours as far as they are sums, which is all that discarding panes can be added up to."""
    return {place: Hour().plus(hour) for place, hour in hours.items()}


def rejoined(working_days: Rows) -> Rows:
    """Return working days, with those joined that overlap.

    If the allowed lateness is too small for the data, a record may come after its working day has expired,
    yet not so late that it is dropped: then a new working day begins inside of the old one.
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
