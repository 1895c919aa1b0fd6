"""Results as their reader has them in the end: what panes have said, less what was taken back."""

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


class Counts(hr.io.Sink):
    """Counts things batch by batch, so that a batch that comes again takes its own place.

    Args:
        kept: a directory with a file for each batch, for counts that outlive the process; or None.
    """

    def __init__(self, kept: Path | None = None) -> None:
        self._kept = kept
        self._batches: dict[int, Counter[Any]] = {}

    def open(self) -> None:
        if self._kept:
            self._kept.mkdir(parents=True, exist_ok=True)

    def write(self, batch: hr.io.SinkBatch) -> None:
        counts = self._batches[batch.id] = self.count(batch)
        if self._kept:
            new = self._kept / f"{batch.id}.new"
            new.write_bytes(pickle.dumps(counts))
            os.replace(new, new.with_suffix(".pickle"))  # all of it, or nothing

    def count(self, batch: hr.io.SinkBatch) -> Counter[Any]:
        """Return what there is in a batch, and how often."""
        raise NotImplementedError

    @property
    def counts(self) -> Counter[Any]:
        """What there was in all batches, and how often; also in those of a run that was killed."""
        sums: Counter[Any] = Counter()
        for counts in {**self._earlier(), **self._batches}.values():
            for thing, count in counts.items():
                sums[thing] += count
        return sums

    def _earlier(self) -> dict[int, Counter[Any]]:
        files = self._kept.glob("*.pickle") if self._kept else ()
        return {int(file.stem): pickle.loads(file.read_bytes()) for file in files}


class Results(Counts):
    """Keeps the panes of a result, and strikes out those that are retracted.

    Args:
        settle: what makes one value of the panes of a place.
        kept: see :class:`Counts`.
    """

    accepts_retractions = True

    def __init__(self, settle: Settle, kept: Path | None = None) -> None:
        super().__init__(kept)
        self._settle = settle

    def count(self, batch: hr.io.SinkBatch) -> Counter[Any]:
        panes: Counter[Any] = Counter()
        for (key, value), _, (window,), pane, diff in batch.bundle.rows():
            panes[key, window, pane.index, value] += diff
        return panes

    def rows(self) -> Rows:
        """Return what stands in the end, in order.

        Raises:
            ValueError: something was retracted that was never said, or said too often.
        """
        standing: dict[Place, list[Any]] = defaultdict(list)
        for (key, window, _, value), count in sorted(self.counts.items(), key=_where):
            if count not in (0, 1):
                raise ValueError(f"{value} stands {count} times for {key} in {window}")
            if count:
                standing[Place(key, int(window.start), int(window.end))].append(value)
        return {place: self._settle(values) for place, values in standing.items()}


class LateFlights(Counts):
    """Keeps the flights whose record came too late for an answer."""

    @property
    def flights(self) -> Counter[Flight]:
        """The flights, and how often each came too late."""
        return self.counts

    def count(self, batch: hr.io.SinkBatch) -> Counter[Any]:
        return Counter(flight for _, flight in batch.bundle.values)


def _where(entry: tuple[tuple[str, hr.window.BoundedWindow, int, Any], int]) -> tuple[Any, ...]:
    (key, window, index, _), _ = entry
    return key, window, index
