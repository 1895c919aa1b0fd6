"""Streams for measurement: files that come so many a batch, a query over them, and Spark's word on its time.

The time of a batch is what Spark itself notes as ``triggerExecution``: finding out what is new, reading,
computing, the sink, and the commit of state and offsets.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, Protocol

import attrs
from contest import MismatchError
from parquet_input import write_events
from workloads import WINDOW, Event, Results

BEGUN: Final = 1_600_000_000
"""Modification time of the first file, in seconds; Spark's file source takes files in that order."""

THE_END: Final = "the end"
"""Key of an event that comes last and moves the watermark past all windows."""

SCHEMA: Final = "time double, key string, value long"
"""The files' columns in Spark's words."""

WARM_UP: Final = 2
"""So many batches are not counted."""

PATIENCE: Final = 900.0
"""Seconds that results may take."""

POLL: Final = 0.05


class Running(Protocol):
    """A query that runs."""

    query: Any

    def results(self) -> Results:
        """Return the results that the sink has got until now."""

    def rows(self) -> int:
        """Return how many results the sink has got until now."""

    def stop(self) -> None:
        """Stop the query."""


@attrs.define
class Stream:
    """Files in a directory, in the order in which they are read.

    Attributes:
        directory: where they are.
        files: how many there are.
    """

    directory: Path
    files: int = 0

    def put(self, events: Sequence[Event]) -> None:
        """Add a file."""
        path = self.directory / name_of(self.files)
        write_events(path, events)
        os.utime(path, (BEGUN + self.files,) * 2)
        self.files += 1

    def end(self, after: float) -> None:
        """Add an event that moves the watermark past windows that end until then, in seconds."""
        self.put([(after + 100 * WINDOW, THE_END, 0)])


def name_of(number: int) -> str:
    """Return the name of the file of a batch."""
    return f"{number:06}.parquet"


@attrs.frozen
class Batch:
    """What Spark says of a batch: its time in seconds, and how many rows it read."""

    seconds: float
    rows: int


def batches(running: Running) -> list[Batch]:
    """Return all batches until now; triggers that started none are left out."""
    found = {p["batchId"]: p for p in running.query.recentProgress if "addBatch" in p["durationMs"]}
    return [
        Batch(p["durationMs"]["triggerExecution"] / 1000, p["numInputRows"]) for p in found.values()
    ]


def with_data(found: Sequence[Batch]) -> list[Batch]:
    """Return the batches that read events: one control row is all that a heartbeat of Headrace's brings."""
    return [batch for batch in found if batch.rows > 1]


def seconds_a_batch(running: Running, number: int, skipped: int = WARM_UP) -> list[float]:
    """Return the times of so many batches with data, but for the very first."""
    return [batch.seconds for batch in with_data(batches(running))[skipped:number]]


def wait(running: Running, until: Callable[[], bool]) -> None:
    """Wait for something that a query does.

    Raises:
        MismatchError: it does not happen.
    """
    limit = time.monotonic() + PATIENCE
    while not until():
        if not running.query.isActive:
            raise MismatchError(f"the query has ended: {running.query.exception()}")
        if time.monotonic() > limit:
            raise MismatchError(f"no end after {PATIENCE:.0f} s and {running.rows():,} results")
        time.sleep(POLL)


def settled(running: Running, number: int) -> None:
    """Wait until so many batches with data have been noted."""
    wait(running, lambda: len(with_data(batches(running))) >= number)


def in_ms(seconds: Sequence[float]) -> str:
    """Return the median in milliseconds, as text."""
    return f"{median(seconds) * 1000:,.0f}"
