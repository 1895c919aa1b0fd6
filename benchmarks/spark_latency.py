"""Latency on Spark: from the moment that an event is made to the moment that the sink has it.

A thread makes 1,000 events a second and writes what it has made into a new file ten times a second, which
is 50 ms of the latency in the mean. Events are grouped by key and tell their number; each batch gives out
the highest number of each key that came, so all events of that key up to then have arrived.
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
from contest import MismatchError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from stream import Running, Stream, wait
from table import table
from workloads import Event

import headrace as hr

RATE: Final = 1_000
TICK: Final = 0.1
KEYS: Final = 100
SECONDS: Final = 6
"""So long a run lasts for each round that is asked for."""

WARM_UP: Final = 4
"""Events of the first seconds are not counted."""

FILES_A_BATCH: Final = 100


def newest_by_spark(rows: DataFrame) -> DataFrame:
    newest = rows.groupBy("key").agg(F.max("value").alias("newest"))
    return newest.select("key", F.lit(0.0), "newest")


def newest_by_headrace(pairs: Any) -> Any:
    return (
        pairs
        | hr.WindowInto(
            hr.window.GlobalWindows(),
            trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
            accumulation_mode=hr.AccumulationMode.ACCUMULATING,
        )
        | hr.CombinePerKey(max)
    )


def _by_spark(spark: SparkSession, place: Path) -> Running:
    return stream_by_spark.start(spark, place, newest_by_spark, "update", FILES_A_BATCH)


def _by_headrace(spark: SparkSession, place: Path) -> Running:
    return stream_by_headrace.start(spark, place, newest_by_headrace, FILES_A_BATCH)


@attrs.define
class Maker:
    """Makes events as time goes by: their value is their number.

    Attributes:
        stream: where they go.
        total: how many.
        made: when each was made.
    """

    stream: Stream
    total: int
    made: list[float] = attrs.field(factory=list)

    def run(self) -> None:
        """Make them all."""
        begun = time.time()
        while len(self.made) < self.total:
            time.sleep(max(0.0, begun + len(self.made) / RATE + TICK - time.time()))
            self.stream.put(list(self._next(begun)))

    def _next(self, begun: float) -> Iterator[Event]:
        first = len(self.made)
        for number in range(first, min(self.total, first + int(RATE * TICK))):
            self.made.append(begun + number / RATE)
            yield self.made[-1], key_of(number), number


def key_of(number: int) -> str:
    """Return the key of an event."""
    return f"key-{number % KEYS}"


def run(spark: SparkSession, place: Path, scale: float, repeat: int) -> Iterator[str]:
    """Measure latencies; the rate stays what it is at every scale.

    Raises:
        MismatchError: events have not arrived.
    """
    rows = []
    for name, start in {"Spark's own": _by_spark, "Headrace": _by_headrace}.items():
        seconds = _measure(spark, place / name, start, (WARM_UP + SECONDS * repeat) * RATE)
        cuts = quantiles(seconds, n=100)
        rows.append(
            [name, f"{len(seconds):,}", f"{cuts[49] * 1000:,.0f}", f"{cuts[98] * 1000:,.0f}"]
        )
    header = ["", "events", "p50 ms", "p99 ms"]
    yield f"latency: {RATE:,} events/s, {KEYS} keys, newest of each key\n{table(header, rows)}"


def _measure(
    spark: SparkSession, place: Path, start: Callable[[SparkSession, Path], Running], total: int
) -> list[float]:
    place.mkdir()
    maker = Maker(Stream(place), total)
    maker.stream.put([(time.time(), key_of(0), -1)])  # the query has begun when this has arrived
    running = start(spark, place)
    try:
        wait(running, lambda: running.rows() > 0)
        thread = threading.Thread(target=maker.run, daemon=True)
        thread.start()
        wait(running, lambda: not thread.is_alive() and _newest(running) == total - 1)
    finally:
        running.stop()
    return _latencies(maker.made, _found(running))[WARM_UP * RATE :]


def _latencies(made: list[float], found: Iterable[tuple[float, str, int]]) -> list[float]:
    """Return each event's time of arrival less that of its making, in the order of the events."""
    numbers = defaultdict(list)
    for number in reversed(range(len(made))):
        numbers[key_of(number)].append(number)
    arrival: dict[int, float] = {}
    for instant, key, newest in found:
        while numbers[key] and numbers[key][-1] <= newest:
            arrival[numbers[key].pop()] = instant
    if len(arrival) < len(made):
        raise MismatchError(f"{len(made) - len(arrival)} events have not arrived")
    return [arrival[number] - instant for number, instant in enumerate(made)]


def _found(running: Any) -> Iterator[tuple[float, str, int]]:
    """Return (time of arrival, key, newest number) of all results."""
    if isinstance(running, stream_by_spark.Running):
        for instant, columns in running.arrived:
            rows = zip(columns[0].to_pylist(), columns[2].to_pylist(), strict=True)
            yield from ((instant, key, newest) for key, newest in rows)
    else:
        for instant, bundle in running.sink.arrived:
            yield from ((instant, key, newest) for key, newest in bundle.values)


def _newest(running: Any) -> int:
    return max((newest for _, _, newest in _found(running)), default=-1)
