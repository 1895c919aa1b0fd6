"""Latency on Spark: the time from the creation of an event to its arrival in the sink.

A thread creates 1,000 events per second and writes them to a new file ten times per second, which adds 50 ms
to the mean latency. The value of an event is its number. Each batch emits the highest number of each key in
it; all events of that key up to this number have arrived.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import attrs
import stream_by_headrace
import stream_by_spark
from comparison import MismatchError
from pyspark.sql import DataFrame, SparkSession, functions as F
from stream import RunningQuery, Stream, wait_until
from table import table
from workloads import Event

import headrace as hr

RATE: Final = 1_000
FILE_INTERVAL: Final = 0.1
KEYS: Final = 100
SECONDS_PER_ROUND: Final = 6
"""Duration of a run per round."""

WARM_UP_SECONDS: Final = 4
"""Seconds whose events are not counted."""

FILES_PER_BATCH: Final = 100


def newest_by_spark(rows: DataFrame) -> DataFrame:
    newest = rows.groupBy("key").agg(F.max("value").alias("newest"))
    return newest.select("key", F.lit(0.0), "newest")


def newest_by_headrace(
    pairs: Any, mode: hr.AccumulationMode = hr.AccumulationMode.ACCUMULATING
) -> Any:
    return (
        pairs
        | hr.WindowInto(
            hr.window.GlobalWindows(),
            trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
            accumulation_mode=mode,
        )
        | hr.CombinePerKey(max)
    )


def newest_of_two_groupings(pairs: Any) -> Any:
    """Group twice: by key and the last digit of the number, then by key."""
    by_digit = pairs | "Digit" >> hr.MapTuple(lambda key, number: ((key, number % 10), number))
    newest = newest_by_headrace(by_digit, hr.AccumulationMode.DISCARDING)
    of_digits = newest | "Key" >> hr.MapTuple(lambda k, n: (k[0], n))
    return of_digits | "Newest of all" >> hr.CombinePerKey(max)


def _by_spark(spark: SparkSession, directory: Path) -> RunningQuery:
    return stream_by_spark.start(spark, directory, newest_by_spark, "update", FILES_PER_BATCH)


def _by_headrace(spark: SparkSession, directory: Path) -> RunningQuery:
    return stream_by_headrace.start(spark, directory, newest_by_headrace, FILES_PER_BATCH)


def _by_two_groupings(spark: SparkSession, directory: Path) -> RunningQuery:
    return stream_by_headrace.start(spark, directory, newest_of_two_groupings, FILES_PER_BATCH)


IMPLEMENTATIONS: Final = {
    "Spark's own": _by_spark,
    "Headrace": _by_headrace,
    "Headrace, two groupings": _by_two_groupings,
}


@attrs.define
class EventGenerator:
    """Creates events at a fixed rate; the value of an event is its number.

    Attributes:
        stream: where the events are written.
        total: number of events.
        created: creation time of each event.
    """

    stream: Stream
    total: int
    created: list[float] = attrs.field(factory=list)

    def run(self) -> None:
        """Create all events."""
        started = time.time()
        while len(self.created) < self.total:
            time.sleep(max(0.0, started + len(self.created) / RATE + FILE_INTERVAL - time.time()))
            self.stream.put(list(self._next(started)))

    def _next(self, started: float) -> Iterator[Event]:
        first = len(self.created)
        for number in range(first, min(self.total, first + int(RATE * FILE_INTERVAL))):
            self.created.append(started + number / RATE)
            yield self.created[-1], key_of(number), number


def key_of(number: int) -> str:
    """Return the key of an event."""
    return f"key-{number % KEYS}"


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Measure latencies; the rate is the same at every scale.

    Raises:
        MismatchError: events have not arrived.
    """
    rows = []
    for name, start in IMPLEMENTATIONS.items():
        seconds = _measure(
            spark, directory / name, start, (WARM_UP_SECONDS + SECONDS_PER_ROUND * repeat) * RATE
        )
        cuts = quantiles(seconds, n=100)
        rows.append(
            [name, f"{len(seconds):,}", f"{cuts[49] * 1000:,.0f}", f"{cuts[98] * 1000:,.0f}"]
        )
    header = ["", "events", "p50 ms", "p99 ms"]
    yield f"latency: {RATE:,} events/s, {KEYS} keys, newest event per key\n{table(header, rows)}"


def _measure(
    spark: SparkSession,
    directory: Path,
    start: Callable[[SparkSession, Path], RunningQuery],
    total: int,
) -> list[float]:
    directory.mkdir()
    generator = EventGenerator(Stream(directory), total)
    generator.stream.put([(time.time(), key_of(0), -1)])  # the query is running when this arrives
    running = start(spark, directory)
    try:
        wait_until(running, lambda: running.rows() > 0)
        thread = threading.Thread(target=generator.run, daemon=True)
        thread.start()
        wait_until(running, lambda: not thread.is_alive() and _newest(running) == total - 1)
    finally:
        running.stop()
    return _latencies(generator.created, _found(running))[WARM_UP_SECONDS * RATE :]


def _latencies(created: list[float], found: Iterable[tuple[float, str, int]]) -> list[float]:
    """Return the time from creation to arrival of each event, in order of creation."""
    numbers = defaultdict(list)
    for number in reversed(range(len(created))):
        numbers[key_of(number)].append(number)
    arrival: dict[int, float] = {}
    for instant, key, newest in found:
        while numbers[key] and numbers[key][-1] <= newest:
            arrival[numbers[key].pop()] = instant
    if len(arrival) < len(created):
        raise MismatchError(f"{len(created) - len(arrival)} events have not arrived")
    return [arrival[number] - instant for number, instant in enumerate(created)]


def _found(running: Any) -> Iterator[tuple[float, str, int]]:
    """Yield (time of arrival, key, newest number) of all results."""
    if isinstance(running, stream_by_spark.RunningQuery):
        for instant, columns in running.arrived:
            rows = zip(columns[0].to_pylist(), columns[2].to_pylist(), strict=True)
            yield from ((instant, key, newest) for key, newest in rows)
    else:
        for instant, bundle in running.sink.arrived:
            yield from ((instant, key, newest) for key, newest in bundle.values)


def _newest(running: Any) -> int:
    return max((newest for _, _, newest in _found(running)), default=-1)
