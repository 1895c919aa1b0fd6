"""State size on Spark: the time of a batch that touches few of many live keys.

A one-day window stays open, so that all keys stay live. The first batches add many keys that are idle
afterwards; the following batches touch a thousand of them. The baseline is the same without idle keys.
The sums are computed by groupings of windows, of sessions and of windows with late panes, and by a stateful
DoFn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import stream_by_headrace
import stream_by_spark
from comparison import require_same
from pyspark.sql import SparkSession
from stream import WARM_UP, RunningQuery, Stream, batch_seconds, in_ms, wait_for_batches, wait_until
from table import table
from workloads import Event, Results

IDLE: Final = 1_000_000
TOUCHED: Final = 1_000
KEYS_PER_BATCH: Final = 100_000
"""New keys per batch."""

DAY: Final = 86_400
BATCHES_PER_ROUND: Final = 3
"""Batches per round; they are short."""

SESSIONS: Final = "Headrace, sessions"

Start = Callable[[SparkSession, Path], RunningQuery]


def by_spark(spark: SparkSession, directory: Path) -> RunningQuery:
    return stream_by_spark.start(spark, directory, partial(stream_by_spark.sums, size=DAY))


def by_headrace(spark: SparkSession, directory: Path) -> RunningQuery:
    return stream_by_headrace.start(spark, directory, partial(stream_by_headrace.sums, size=DAY))


def by_sessions(spark: SparkSession, directory: Path) -> RunningQuery:
    sums = partial(stream_by_headrace.sums_of_sessions, gap=DAY // 2)
    return stream_by_headrace.start(spark, directory, sums)


def with_late_panes(spark: SparkSession, directory: Path) -> RunningQuery:
    sums = partial(stream_by_headrace.sums_with_late_panes, size=DAY)
    return stream_by_headrace.start(spark, directory, sums)


def by_dofn(spark: SparkSession, directory: Path) -> RunningQuery:
    return stream_by_headrace.start(
        spark, directory, partial(stream_by_headrace.sums_by_state, size=DAY)
    )


STARTS: Final[dict[str, Start]] = {
    "Spark's own": by_spark,
    "Headrace": by_headrace,
    SESSIONS: by_sessions,
    "Headrace, windows with late panes": with_late_panes,
    "Headrace, a stateful DoFn": by_dofn,
}


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Measure with and without idle keys.

    Raises:
        MismatchError: the results are wrong.
    """
    idle, touched = int(IDLE * scale), max(1, int(TOUCHED * min(1, scale)))
    touches = WARM_UP + BATCHES_PER_ROUND * repeat
    rows = []
    for name, start in STARTS.items():
        few = _measure(name, start, spark, directory / f"{name}-few", touched, touched, touches)
        many = _measure(name, start, spark, directory / f"{name}-many", idle, touched, touches)
        ratio = f"{median(many) / median(few):.2f}"
        rows.append([name, in_ms(few), in_ms(many), ratio])
    header = ["ms per batch", f"{touched:,} live keys", f"{idle:,} live keys", "ratio"]
    title = f"state size: batches that touch {touched:,} keys, without and with idle keys"
    yield f"{title}\n{table(header, rows)}"


def _measure(
    name: str,
    start: Start,
    spark: SparkSession,
    directory: Path,
    keys: int,
    touched: int,
    touches: int,
) -> list[float]:
    directory.mkdir()
    stream = Stream(directory)
    loading = write_keys(stream, keys)
    touched_keys = range(0, keys, keys // touched)[:touched]
    for number in range(touches):
        stream.put([(float(2_000 + number), f"user-{key}", 1) for key in touched_keys])
    stream.end(DAY)
    running = start(spark, directory)
    try:
        wait_until(running, lambda: running.rows() >= keys)
        wait_for_batches(running, loading + touches)
    finally:
        running.stop()
    expected: Results = {_window_of(number, name): 1 for number in range(keys)}
    expected.update((_window_of(number, name), 1 + touches) for number in touched_keys)
    require_same(f"{name}, {keys:,} keys", running.results(), expected)
    return batch_seconds(running, loading + touches, loading + WARM_UP)


def _window_of(number: int, name: str) -> tuple[str, float]:
    """Return a key and the start of its window, which for sessions is the time of its first element."""
    return f"user-{number}", float(number // KEYS_PER_BATCH) if name == SESSIONS else 0.0


def write_keys(stream: Stream, keys: int) -> int:
    """Write `keys` keys, each once; return the number of files."""
    for first in range(0, keys, KEYS_PER_BATCH):
        batch: list[Event] = [
            (float(stream.files), f"user-{number}", 1)
            for number in range(first, min(keys, first + KEYS_PER_BATCH))
        ]
        stream.put(batch)
    return stream.files
