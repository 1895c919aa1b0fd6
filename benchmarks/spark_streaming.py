"""Streaming on Spark: sums in fixed windows, by Spark's own aggregation, by hand, and by Headrace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import attrs
import by_dict_loop
import stream_by_headrace
import stream_by_spark
from contest import require_same
from pyspark.sql import SparkSession
from stream import WARM_UP, Running, Stream, in_ms, seconds_a_batch, settled, wait
from table import table
from workloads import WINDOW, Results, events

ROWS: Final = 200_000
"""Events of a batch, which spread over one window."""

KEYS: Final = 10_000

FILES: Final = 2
"""So many files make a batch, and so many tasks read it."""

BY_KEY: Final = "transformWithState for each key and window"

Start = Callable[[SparkSession, Path], Running]


@attrs.frozen
class Contestant:
    """A query; `chained` ones group twice."""

    name: str
    start: Start
    chained: bool = False


SPARKS_OWN: Final = Contestant(
    "Spark's own aggregation",
    partial(stream_by_spark.start, compute=stream_by_spark.sums, a_batch=FILES),
)
CONTESTANTS: Final = (
    SPARKS_OWN,
    Contestant(
        BY_KEY,
        partial(stream_by_spark.start, compute=stream_by_spark.sums_by_key_state, a_batch=FILES),
    ),
    Contestant(
        "Headrace, one grouping",
        partial(stream_by_headrace.start, compute=stream_by_headrace.sums, a_batch=FILES),
    ),
    Contestant(
        "Headrace, one grouping, source in Python",
        partial(
            stream_by_headrace.start,
            compute=stream_by_headrace.sums,
            a_batch=FILES,
            read=stream_by_headrace.by_python,
        ),
    ),
    Contestant(
        "Spark's own aggregation, two chained",
        partial(stream_by_spark.start, compute=stream_by_spark.sums_of_sums, a_batch=FILES),
        chained=True,
    ),
    Contestant(
        "Headrace, two groupings chained",
        partial(stream_by_headrace.start, compute=stream_by_headrace.sums_of_sums, a_batch=FILES),
        chained=True,
    ),
)

WARMING: Final = [c for c in CONTESTANTS if c.name != BY_KEY]
"""They run twice, and the first time is not counted; for one that takes ten times as long it is no matter."""


def run(spark: SparkSession, place: Path, scale: float, repeat: int) -> Iterator[str]:
    """Run all contestants over the same files.

    Raises:
        MismatchError: somebody computed something else.
    """
    rows, keys, batches = int(ROWS * scale), max(1, int(KEYS * scale)), WARM_UP + repeat
    stream, expected = _input(place / "events", rows, keys, batches)
    seconds = {}
    for c in (*WARMING, *CONTESTANTS):
        seconds[c.name] = _run(c, spark, stream, expected[c.chained], batches)
    title = (
        f"streaming: batches of {rows:,} events, {keys:,} keys, fixed windows of {WINDOW} s, sum"
    )
    yield f"{title}\n{_table(seconds, rows)}"


def _input(
    place: Path, rows: int, keys: int, batches: int
) -> tuple[Stream, tuple[Results, Results]]:
    place.mkdir()
    stream = Stream(place)
    # To Spark, what comes at the epoch itself is late: that is where the watermark begins.
    made = [(WINDOW + t, k, v) for t, k, v in events(rows * batches, keys, WINDOW * batches)]
    a_file = rows // FILES
    for number in range(batches * FILES):
        stream.put(made[number * a_file : (number + 1) * a_file])
    stream.end(WINDOW * (batches + 1))
    sums = by_dict_loop.windowed_sum(made)
    return stream, (sums, _sums_of_sums(sums))


def _sums_of_sums(sums: Results) -> Results:
    found: Results = {}
    for (key, start), total in sums.items():
        found[key[-1], start] = found.get((key[-1], start), 0) + total
    return found


def _run(
    who: Contestant, spark: SparkSession, stream: Stream, expected: Results, batches: int
) -> list[float]:
    running = who.start(spark, stream.directory)
    try:
        wait(running, lambda: running.rows() >= len(expected))
        settled(running, batches)
    finally:
        running.stop()
    require_same(who.name, running.results(), expected)
    return seconds_a_batch(running, batches)


def _table(seconds: dict[str, list[float]], rows: int) -> str:
    own = median(seconds[SPARKS_OWN.name])
    return table(
        ["", "ms a batch", "events/s", "× Spark's own time"],
        (
            [name, in_ms(each), f"{rows / median(each):,.0f}", f"{median(each) / own:.2f}"]
            for name, each in seconds.items()
        ),
    )
