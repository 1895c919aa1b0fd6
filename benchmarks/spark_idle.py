"""Idle batches on Spark: the time of a batch without events (Headrace's heartbeat).

Spark's own queries start no batch without data, so their processing-time timers do not fire.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from spark_state import by_headrace, write_keys
from stream import RunningQuery, Stream, batches, in_ms, wait_for_batches, wait_until
from table import table

KEYS: Final = (10_000, 1_000_000)
"""Numbers of live keys."""

HEARTBEATS_PER_ROUND: Final = 5
"""Minimum number of idle batches per round."""


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Measure idle batches with few live keys and with many."""
    rows = []
    for keys in (int(keys * scale) for keys in KEYS):
        seconds = _measure(spark, directory / str(keys), keys, HEARTBEATS_PER_ROUND * repeat)
        rows.append([f"{keys:,} live keys", in_ms(seconds), str(len(seconds))])
    header = ["", "ms per batch", "batches"]
    yield f"idle: batches without events\n{table(header, rows)}"


def _measure(spark: SparkSession, directory: Path, keys: int, heartbeats: int) -> list[float]:
    directory.mkdir()
    stream = Stream(directory)
    files = write_keys(stream, keys)
    running = by_headrace(spark, directory)
    try:
        wait_for_batches(running, files)
        wait_until(running, lambda: len(_idle(running)) > heartbeats)  # one heartbeat per second
    finally:
        running.stop()
    return _idle(running)[1:]


def _idle(running: RunningQuery) -> list[float]:
    return [batch.seconds for batch in batches(running) if not batch.has_data]
