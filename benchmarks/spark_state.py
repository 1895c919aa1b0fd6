"""Live state on Spark: what a batch costs that touches few keys of many.

A window of a day is open all the time, so that every key that has come is alive. First come many keys that
are idle from then on, a part of them in each batch; then batches that touch a thousand keys, which are some
of those. The yardstick is the same without the idle keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import stream_by_headrace
import stream_by_spark
from contest import require_same
from pyspark.sql import SparkSession
from stream import WARM_UP, Running, Stream, in_ms, seconds_a_batch, settled, wait
from table import table
from workloads import Event, Results

IDLE: Final = 1_000_000
TOUCHED: Final = 1_000
LOAD: Final = 100_000
"""So many new keys come in a batch."""

DAY: Final = 86_400
TOUCHES: Final = 3
"""So many batches for each round that is asked for, since they are short."""

Start = Callable[[SparkSession, Path], Running]


def by_spark(spark: SparkSession, place: Path) -> Running:
    return stream_by_spark.start(spark, place, partial(stream_by_spark.sums, size=DAY))


def by_headrace(spark: SparkSession, place: Path) -> Running:
    return stream_by_headrace.start(spark, place, partial(stream_by_headrace.sums, size=DAY))


def run(spark: SparkSession, place: Path, scale: float, repeat: int) -> Iterator[str]:
    """Measure with and without idle keys.

    Raises:
        MismatchError: somebody computed something else.
    """
    idle, touched = int(IDLE * scale), max(1, int(TOUCHED * min(1, scale)))
    touches = WARM_UP + TOUCHES * repeat
    rows = []
    for name, start in {"Spark's own": by_spark, "Headrace": by_headrace}.items():
        few = _measure(name, start, spark, place / f"{name}-few", touched, touched, touches)
        many = _measure(name, start, spark, place / f"{name}-many", idle, touched, touches)
        ratio = f"{median(many) / median(few):.2f}"
        rows.append([name, in_ms(few), in_ms(many), ratio])
    header = ["ms a batch", f"{touched:,} keys alive", f"{idle:,} keys alive", "ratio"]
    yield f"live state: batches that touch {touched:,} keys\n{table(header, rows)}"


def _measure(
    name: str,
    start: Start,
    spark: SparkSession,
    place: Path,
    keys: int,
    touched: int,
    touches: int,
) -> list[float]:
    place.mkdir()
    stream = Stream(place)
    loads = load(stream, keys)
    names = [f"user-{number}" for number in range(0, keys, keys // touched)][:touched]
    for number in range(touches):
        stream.put([(float(2_000 + number), key, 1) for key in names])
    stream.end(DAY)
    running = start(spark, place)
    try:
        wait(running, lambda: running.rows() >= keys)
        settled(running, loads + touches)
    finally:
        running.stop()
    expected: Results = {(f"user-{number}", 0.0): 1 for number in range(keys)}
    expected.update(((key, 0.0), 1 + touches) for key in names)
    require_same(f"{name}, {keys:,} keys", running.results(), expected)
    return seconds_a_batch(running, loads + touches, loads + WARM_UP)


def load(stream: Stream, keys: int) -> int:
    """Let so many keys come, each once; return how many files that took."""
    for first in range(0, keys, LOAD):
        batch: list[Event] = [
            (float(stream.files), f"user-{number}", 1)
            for number in range(first, min(keys, first + LOAD))
        ]
        stream.put(batch)
    return stream.files
