"""Idle time on Spark: what a batch costs that brings nothing but the time (Headrace's heartbeat).

Spark's own queries start no batch then, and so fire nothing that waits for processing time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from spark_state import by_headrace, load
from stream import Running, Stream, batches, in_ms, settled, wait
from table import table

KEYS: Final = (10_000, 1_000_000)
"""So many keys are alive meanwhile."""

BEATS: Final = 5
"""So many idle batches at least for each round that is asked for."""


def run(spark: SparkSession, place: Path, scale: float, repeat: int) -> Iterator[str]:
    """Measure idle batches beside few keys and beside many."""
    rows = []
    for keys in (int(keys * scale) for keys in KEYS):
        seconds = _measure(spark, place / str(keys), keys, BEATS * repeat)
        rows.append([f"{keys:,} keys alive", in_ms(seconds), str(len(seconds))])
    header = ["", "ms a batch", "batches"]
    yield f"idle: batches without events\n{table(header, rows)}"


def _measure(spark: SparkSession, place: Path, keys: int, beats: int) -> list[float]:
    place.mkdir()
    stream = Stream(place)
    files = load(stream, keys)
    running = by_headrace(spark, place)
    try:
        settled(running, files)
        wait(running, lambda: len(_idle(running)) > beats)  # a heartbeat a second
    finally:
        running.stop()
    return _idle(running)[1:]


def _idle(running: Running) -> list[float]:
    return [batch.seconds for batch in batches(running) if batch.rows <= 1]
