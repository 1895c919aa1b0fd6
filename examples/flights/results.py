"""Results as their reader has them in the end: what panes have said, less what was taken back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import headrace as hr
from flights.records import Flight


class Place(NamedTuple):
    """Where a result belongs: a key and its window, from start to before end, in seconds since 1970."""

    key: str
    start: int
    end: int


Rows = dict[Place, Any]
"""A whole answer: one value for each place."""

Settle = Callable[[Sequence[Any]], Any]
"""Makes one value of all that stands at a place at the end, in the order of the panes."""


def only(values: Sequence[Any]) -> Any:
    """Settle retracting panes: each took back the one before, so a single value is left."""
    (value,) = values
    return value


def last(values: Sequence[Any]) -> Any:
    """Settle accumulating panes: the last one holds everything."""
    return values[-1]


def total(values: Sequence[Any]) -> Any:
    """Settle discarding panes: each holds what was new, so they add up."""
    kind = type(values[0])
    return reduce(kind.plus, values, kind())


class Results(hr.io.Sink):
    """Keeps the panes of a result, and strikes out those that are retracted.

    Args:
        settle: what makes one value of the panes of a place.
    """

    accepts_retractions = True

    def __init__(self, settle: Settle) -> None:
        self._settle = settle
        self._panes: Counter[tuple[str, hr.window.BoundedWindow, int, Any]] = Counter()

    def write(self, batch: hr.io.SinkBatch) -> None:
        for (key, value), _, (window,), pane, diff in batch.bundle.rows():
            self._panes[key, window, pane.index, value] += diff

    def rows(self) -> Rows:
        """Return what stands in the end, in order.

        Raises:
            ValueError: something was retracted that was never said, or said too often.
        """
        standing: dict[Place, list[Any]] = defaultdict(list)
        for (key, window, _, value), count in sorted(self._panes.items(), key=_where):
            if count not in (0, 1):
                raise ValueError(f"{value} stands {count} times for {key} in {window}")
            if count:
                standing[Place(key, int(window.start), int(window.end))].append(value)
        return {place: self._settle(values) for place, values in standing.items()}


class LateFlights(hr.io.Sink):
    """Keeps the flights whose record came too late for an answer."""

    def __init__(self) -> None:
        self.flights: Counter[Flight] = Counter()

    def write(self, batch: hr.io.SinkBatch) -> None:
        self.flights.update(flight for _, flight in batch.bundle.values)


def _where(entry: tuple[tuple[str, hr.window.BoundedWindow, int, Any], int]) -> tuple[Any, ...]:
    (key, window, index, _), _ = entry
    return key, window, index
