"""Sinks that compute final results: all panes without those that were retracted."""

from __future__ import annotations

import os
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import headrace as hr
from flights.records import Flight


class Place(NamedTuple):
    """The key and window of a result; the end is exclusive; seconds since 1970."""

    key: str
    start: int
    end: int


Rows = dict[Place, Any]
"""A complete answer: one value per key and window."""

FinalValue = Callable[[Sequence[Any]], Any]
"""Returns the final value of a window from its panes that were not retracted, in order."""


def only(values: Sequence[Any]) -> Any:
    """Return the final value of retracting panes: each retracts the previous one, so one remains."""
    (value,) = values
    return value


def last(values: Sequence[Any]) -> Any:
    """Return the final value of accumulating panes: the last one is complete."""
    return values[-1]


def total(values: Sequence[Any]) -> Any:
    """Return the final value of discarding panes: their sum, since each contains only new elements."""
    kind = type(values[0])
    return reduce(kind.plus, values, kind())


class Counts(hr.io.Sink):
    """Counts items per batch; a batch that is written again replaces its counts.

    Args:
        directory: stores a file per batch, so that counts survive the process; None keeps them in memory.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._batches: dict[int, Counter[Any]] = {}

    def open(self) -> None:
        if self._directory:
            self._directory.mkdir(parents=True, exist_ok=True)

    def write(self, batch: hr.io.SinkBatch) -> None:
        counts = self._batches[batch.id] = self.count(batch)
        if self._directory:
            new = self._directory / f"{batch.id}.new"
            new.write_bytes(pickle.dumps(counts))
            os.replace(new, new.with_suffix(".pickle"))  # atomic

    def count(self, batch: hr.io.SinkBatch) -> Counter[Any]:
        """Return the items of a batch, and their counts."""
        raise NotImplementedError

    @property
    def counts(self) -> Counter[Any]:
        """The items of all batches and their counts, including batches of a run that was killed."""
        sums: Counter[Any] = Counter()
        for counts in {**self._stored(), **self._batches}.values():
            for item, count in counts.items():
                sums[item] += count
        return sums

    def _stored(self) -> dict[int, Counter[Any]]:
        files = self._directory.glob("*.pickle") if self._directory else ()
        return {int(file.stem): pickle.loads(file.read_bytes()) for file in files}


class Results(Counts):
    """Collects the panes of a result, and removes those that are retracted.

    Args:
        final_value: returns the final value of a window from its panes.
        directory: see :class:`Counts`.
    """

    accepts_retractions = True

    def __init__(self, final_value: FinalValue, directory: Path | None = None) -> None:
        super().__init__(directory)
        self._final_value = final_value

    def count(self, batch: hr.io.SinkBatch) -> Counter[Any]:
        panes: Counter[Any] = Counter()
        for (key, value), _, (window,), pane, diff in batch.bundle.rows():
            panes[key, window, pane.index, value] += diff
        return panes

    def rows(self) -> Rows:
        """Return the final results, in order.

        Raises:
            ValueError: a pane was retracted that was never emitted, or was emitted twice.
        """
        values_by_place: dict[Place, list[Any]] = defaultdict(list)
        for (key, window, _, value), count in sorted(self.counts.items(), key=_order):
            if count not in (0, 1):
                raise ValueError(f"{value} has count {count} for {key} in {window}")
            if count:
                values_by_place[Place(key, int(window.start), int(window.end))].append(value)
        return {place: self._final_value(values) for place, values in values_by_place.items()}


class LateFlights(Counts):
    """Collects the flights whose records were dropped as late."""

    @property
    def flights(self) -> Counter[Flight]:
        """The flights, and how often each was dropped."""
        return self.counts

    def count(self, batch: hr.io.SinkBatch) -> Counter[Any]:
        return Counter(flight for _, flight in batch.bundle.values)


def _order(entry: tuple[tuple[str, hr.window.BoundedWindow, int, Any], int]) -> tuple[Any, ...]:
    (key, window, index, _), _ = entry
    return key, window, index
