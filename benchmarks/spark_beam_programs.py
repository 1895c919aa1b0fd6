"""A program of apache_beam on Spark, streaming, and the same program with its import swapped.

An impulse each second becomes events, whose numbers are summed up by key and window. So a batch reads one
impulse, and the workers make the events. A metric adds up the sums: it says that the results are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Final

import apache_beam
import attrs
from apache_beam.transforms import periodicsequence
from comparison import MismatchError
from pyspark.sql import SparkSession
from stream import WARM_UP, batch_seconds, in_ms, wait_for_batches
from table import table

import headrace
from headrace.beam import HeadraceRunner
from headrace.runners.spark import SparkRunner
from headrace.transforms.periodicsequence import PeriodicImpulse

ROWS: Final = 100_000
"""Events per impulse."""

KEYS: Final = 10_000

WINDOW: Final = 4
"""Size of the windows in seconds; so a window ends in each fourth batch."""

FLAGS: Final = ("--streaming", "--batch-seconds=0", "--max-records-per-batch=1")


def events_of(second: float, package: str, rows: int) -> list[Any]:
    """Return the events of a second."""
    stamped = import_module(package).window.TimestampedValue
    return [stamped((f"user-{n * 7919 % KEYS}", n), second + n / rows) for n in range(rows)]


def add_up(pair: tuple[str, int], package: str) -> None:
    """Count a sum."""
    metrics = import_module(f"{package}.metrics").Metrics
    metrics.counter("sums", "total").inc(pair[1])


def build(p: Any, beam: Any, impulses: Any, rows: int) -> None:
    """Build the program.

    Args:
        p: the pipeline.
        beam: the package.
        impulses: one for each second.
        rows: number of events of each.
    """
    package = beam.__name__
    _ = (
        p
        | impulses
        | "Events" >> beam.FlatMap(partial(events_of, package=package, rows=rows))
        | beam.WindowInto(beam.window.FixedWindows(WINDOW))
        | beam.CombinePerKey(sum)
        | "AddUp" >> beam.Map(partial(add_up, package=package))
    )


@attrs.define
class Running:
    """A running program; see ``stream.RunningQuery``."""

    run: Any
    result: Any
    idle_rows: int

    @property
    def query(self) -> Any:
        return self.run.query

    def total(self) -> int:
        """Return the sum of all sums."""
        counters = self.result.metrics().query()["counters"]
        return sum(counter.committed for counter in counters)


Start = Callable[[SparkSession, int, int], Running]


def on_headrace(spark: SparkSession, seconds: int, rows: int) -> Running:
    p = apache_beam.Pipeline(HeadraceRunner("spark"), argv=list(FLAGS))
    build(p, apache_beam, periodicsequence.PeriodicImpulse(0, seconds, 1), rows)
    result = p.run()
    return Running(result.own, result, spark.sparkContext.defaultParallelism + 1)


def native(spark: SparkSession, seconds: int, rows: int) -> Running:
    p = headrace.Pipeline(SparkRunner(spark), argv=list(FLAGS))
    build(p, headrace, PeriodicImpulse(0, seconds, 1), rows)
    result = p.run()
    return Running(result, result, spark.sparkContext.defaultParallelism + 1)


STARTS: Final[dict[str, Start]] = {"on Headrace": on_headrace, "its import swapped": native}


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Run both in turn; the first run of each is not counted.

    Raises:
        MismatchError: a sum is missing.
    """
    rows, batches = int(ROWS * scale), WARM_UP + WINDOW * repeat
    seconds = {}
    for name, start in [*STARTS.items()] * 2:
        seconds[name] = _seconds(name, start(spark, batches, rows), rows, batches)
    base = median(seconds["on Headrace"])
    found = (
        [name, in_ms(s), f"{rows / median(s):,.0f}", f"× {median(s) / base:.2f}"]
        for name, s in seconds.items()
    )
    title = f"a streaming program of apache_beam: batches of {rows:,} events, windows of {WINDOW} s, sum"
    yield f"{title}\n{table(['', 'ms per batch', 'events/s', 'speed on Headrace'], found)}"


def _seconds(name: str, running: Any, rows: int, batches: int) -> list[float]:
    try:
        wait_for_batches(running, batches)
        running.run.wait_until_finish()
        found = batch_seconds(running, batches)
        total, expected = running.total(), batches * rows * (rows - 1) // 2
    finally:
        running.run.cancel()
    if total != expected:
        raise MismatchError(f"{name}: {total:,} and {expected:,}")
    return found
