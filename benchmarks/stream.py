"""Streams for the benchmarks: files of events, a query over them, and its batch times as Spark reports them.

The time of a batch is Spark's ``triggerExecution``: discovery of new data, reading, computation, sink, and
the commit of state and offsets.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, Protocol

import attrs
from comparison import MismatchError
from parquet_input import write_events
from workloads import WINDOW, Event, Results

FIRST_MODIFIED: Final = 1_600_000_000
"""Modification time of the first file, in seconds; Spark's file source reads files in this order."""

END_KEY: Final = "the end"
"""Key of the last event, which advances the watermark past all windows."""

SCHEMA: Final = "time double, key string, value long"
"""The columns of the files, as a Spark schema."""

WARM_UP: Final = 2
"""Number of batches that are not counted."""

TIMEOUT: Final = 900.0
"""Maximum time to wait for results, in seconds."""

POLL: Final = 0.05


class RunningQuery(Protocol):
    """A running query.

    Attributes:
        query: Spark's query.
        idle_rows: number of rows that a batch without events reads at most.
    """

    query: Any
    idle_rows: int

    def results(self) -> Results:
        """Return the results in the sink so far."""

    def rows(self) -> int:
        """Return the number of results in the sink so far."""

    def stop(self) -> None:
        """Stop the query."""


@attrs.define
class Stream:
    """Files in a directory, in the order in which they are read.

    Attributes:
        directory: the directory.
        files: number of files.
    """

    directory: Path
    files: int = 0

    def put(self, events: Sequence[Event]) -> None:
        """Add a file."""
        path = self.directory / name_of(self.files)
        write_events(path, events)
        os.utime(path, (FIRST_MODIFIED + self.files,) * 2)
        self.files += 1

    def end(self, after: float) -> None:
        """Add an event that advances the watermark past windows that end by `after`, in seconds."""
        self.put([(after + 100 * WINDOW, END_KEY, 0)])


def name_of(number: int) -> str:
    """Return the name of the n-th file."""
    return f"{number:06}.parquet"


@attrs.frozen
class Batch:
    """What Spark reports of a batch: its time in seconds, and whether it read events."""

    seconds: float
    has_data: bool


def batches(running: RunningQuery) -> list[Batch]:
    """Return all batches so far, without triggers that started none."""
    found = {p["batchId"]: p for p in running.query.recentProgress if "addBatch" in p["durationMs"]}
    return [
        Batch(p["durationMs"]["triggerExecution"] / 1000, p["numInputRows"] > running.idle_rows)
        for p in found.values()
    ]


def with_data(found: Sequence[Batch]) -> list[Batch]:
    """Return the batches that read events; a heartbeat of Headrace reads only control rows."""
    return [batch for batch in found if batch.has_data]


def batch_seconds(running: RunningQuery, number: int, skipped: int = WARM_UP) -> list[float]:
    """Return the times of the first `number` batches with data, without the skipped ones."""
    return [batch.seconds for batch in with_data(batches(running))[skipped:number]]


def wait_until(running: RunningQuery, condition: Callable[[], bool]) -> None:
    """Wait until a condition holds.

    Raises:
        MismatchError: the query ended, or the time is up.
    """
    limit = time.monotonic() + TIMEOUT
    while not condition():
        if not running.query.isActive:
            raise MismatchError(f"the query has ended: {running.query.exception()}")
        if time.monotonic() > limit:
            raise MismatchError(f"not finished after {TIMEOUT:.0f} s: {running.rows():,} results")
        time.sleep(POLL)


def wait_for_batches(running: RunningQuery, number: int) -> None:
    """Wait until Spark reports `number` batches with data."""
    wait_until(running, lambda: len(with_data(batches(running))) >= number)


def in_ms(seconds: Sequence[float]) -> str:
    """Return the median in milliseconds, as text."""
    return f"{median(seconds) * 1000:,.0f}"
