"""Streaming on Spark: sums in fixed windows, by Spark's aggregation, transformWithState, and Headrace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import attrs
import by_dict_loop
import stream_by_headrace
import stream_by_spark
from comparison import require_same
from pyspark.sql import SparkSession
from stream import WARM_UP, RunningQuery, Stream, batch_seconds, in_ms, wait_for_batches, wait_until
from table import table
from workloads import WINDOW, Results, events

ROWS: Final = 200_000
"""Events per batch; they span one window."""

KEYS: Final = 10_000

FILES: Final = 2
"""Files per batch, and tasks that read them."""

KEY_STATE: Final = "transformWithState for each key and window"

Start = Callable[[SparkSession, Path], RunningQuery]


@attrs.frozen
class Implementation:
    """A query; a `chained` one groups twice."""

    name: str
    start: Start
    chained: bool = False


def _spark(
    name: str, compute: Any, *, chained: bool = False, mode: str = "append"
) -> Implementation:
    start = partial(stream_by_spark.start, compute=compute, mode=mode, files_per_batch=FILES)
    return Implementation(name, start, chained)


def _headrace(
    source: str, read: Any = stream_by_headrace.by_spark, *, chained: bool = False
) -> Implementation:
    compute = stream_by_headrace.sums_of_sums if chained else stream_by_headrace.sums
    name = "Headrace, two groupings chained" if chained else "Headrace, one grouping"
    return _of(name + source, compute, read, chained=chained)


def _early(source: str, read: Any) -> Implementation:
    name = "Headrace, early panes and retractions" + source
    return _of(name, stream_by_headrace.sums_with_early_panes, read)


def _of(name: str, compute: Any, read: Any, *, chained: bool = False) -> Implementation:
    start = partial(stream_by_headrace.start, compute=compute, files_per_batch=FILES, read=read)
    return Implementation(name, start, chained)


READ_BY_WORKERS: Final = ", watched files read by the workers"

IN_COLUMNS: Final = ", on columns"

SPARK_AGGREGATION: Final = _spark("Spark's own aggregation", stream_by_spark.sums)
IMPLEMENTATIONS: Final = (
    SPARK_AGGREGATION,
    _spark("Spark's own aggregation, in update mode", stream_by_spark.sums, mode="update"),
    _spark(KEY_STATE, stream_by_spark.sums_by_key_state),
    _headrace(""),
    _headrace(IN_COLUMNS, stream_by_headrace.by_spark_in_columns),
    _headrace(", source in Python read by the driver", stream_by_headrace.by_python),
    _headrace(READ_BY_WORKERS, stream_by_headrace.by_workers),
    _headrace(READ_BY_WORKERS + IN_COLUMNS, stream_by_headrace.by_workers_in_columns),
    _early(READ_BY_WORKERS, stream_by_headrace.by_workers),
    _early(READ_BY_WORKERS + IN_COLUMNS, stream_by_headrace.by_workers_in_columns),
    _spark("Spark's own aggregation, two chained", stream_by_spark.sums_of_sums, chained=True),
    _headrace("", chained=True),
    _headrace(READ_BY_WORKERS, stream_by_headrace.by_workers, chained=True),
)

WARMED_UP: Final = [c for c in IMPLEMENTATIONS if c.name != KEY_STATE]
"""These run twice; the first run is not counted. The other is so slow that warm-up is irrelevant."""


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Run all implementations on the same files.

    Raises:
        MismatchError: the results are wrong.
    """
    rows, keys, batches = int(ROWS * scale), max(1, int(KEYS * scale)), WARM_UP + repeat
    stream, expected = _input(directory / "events", rows, keys, batches)
    seconds = {}
    for c in (*WARMED_UP, *IMPLEMENTATIONS):
        seconds[c.name] = _run(c, spark, stream, expected[c.chained], batches)
    title = (
        f"streaming: batches of {rows:,} events, {keys:,} keys, fixed windows of {WINDOW} s, sum"
    )
    yield f"{title}\n{_table(seconds, rows)}"


def _input(
    directory: Path, rows: int, keys: int, batches: int
) -> tuple[Stream, tuple[Results, Results]]:
    directory.mkdir()
    stream = Stream(directory)
    # Spark's watermark starts at the epoch, so an event at the epoch would be late.
    created = [(WINDOW + t, k, v) for t, k, v in events(rows * batches, keys, WINDOW * batches)]
    rows_per_file = rows // FILES
    for number in range(batches * FILES):
        stream.put(created[number * rows_per_file : (number + 1) * rows_per_file])
    stream.end(WINDOW * (batches + 1))
    sums = by_dict_loop.windowed_sum(created)
    return stream, (sums, _sums_of_sums(sums))


def _sums_of_sums(sums: Results) -> Results:
    found: Results = {}
    for (key, start), total in sums.items():
        found[key[-1], start] = found.get((key[-1], start), 0) + total
    return found


def _run(
    implementation: Implementation,
    spark: SparkSession,
    stream: Stream,
    expected: Results,
    batches: int,
) -> list[float]:
    running = implementation.start(spark, stream.directory)
    try:
        wait_until(running, lambda: running.rows() >= len(expected))
        wait_for_batches(running, batches)
    finally:
        running.stop()
    require_same(implementation.name, running.results(), expected)
    return batch_seconds(running, batches)


def _table(seconds: dict[str, list[float]], rows: int) -> str:
    baseline = median(seconds[SPARK_AGGREGATION.name])
    return table(
        ["", "ms per batch", "events/s", "× Spark's time"],
        (
            [name, in_ms(each), f"{rows / median(each):,.0f}", f"{median(each) / baseline:.2f}"]
            for name, each in seconds.items()
        ),
    )
