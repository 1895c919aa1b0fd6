"""Batch on Spark, up to the sink: sums of a field in windows of a minute, from Parquet to Parquet.

The two programs alternate; the first round is not counted. The clock stops when the files are written. The
rows that they have written are compared after each round.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from comparison import CLOCKS, Measurement, MismatchError, timed
from pyspark.sql import SparkSession, functions as F
from table import table
from workloads import WINDOW

import headrace as hr
from headrace.runners.spark import SparkRunner

ROWS: Final = 3_000_000
KEYS: Final = 10_000
EACH: Final = 10
"""Rows of a key in a window."""

FILES: Final = 2
"""Number of files, and of tasks."""

Program = Callable[[SparkSession, str, str], None]
"""Reads the files of a directory, and writes to another one."""


def by_dataframe(spark: SparkSession, source: str, target: str) -> None:
    window = F.window(F.timestamp_seconds("time"), f"{WINDOW} seconds")
    totals = spark.read.parquet(source).groupBy("key", window).agg(F.sum("value").alias("total"))
    totals.select("key", "total").write.parquet(target)


def by_headrace(spark: SparkSession, source: str, target: str) -> None:
    with hr.Pipeline(SparkRunner(spark), argv=[]) as p:
        (
            p
            | hr.io.ReadFromParquet(f"{source}/*.parquet", as_rows=True, timestamp="time")
            | hr.WindowInto(hr.window.FixedWindows(WINDOW))
            | hr.GroupBy("key").aggregate_field("value", sum, "total")
            | hr.io.WriteToParquet(f"{target}/totals")
        )


PROGRAMS: Final[dict[str, Program]] = {
    "DataFrame by hand": by_dataframe,
    "Headrace on Spark": by_headrace,
}


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Run both programs, and yield a table.

    Raises:
        MismatchError: they have written different rows.
    """
    rows = max(FILES, int(ROWS * scale))
    source = directory / "sums"
    _write(source, rows)
    measurements = [Measurement(name, rows, []) for name in PROGRAMS]
    for number in range(repeat + 1):
        written = []
        for measurement, program in zip(measurements, PROGRAMS.values(), strict=True):
            target = directory / f"totals-{measurement.implementation}"
            shutil.rmtree(target, ignore_errors=True)
            call = partial(program, spark, str(source), str(target))
            seconds, _ = timed(call, CLOCKS["wall"])
            measurement.seconds.extend([seconds] if number else [])
            order = [("key", "ascending"), ("total", "ascending")]
            written.append(pq.read_table(target).sort_by(order))
        if written[0] != written[1]:
            raise MismatchError("the two programs have written different rows")
    baseline = measurements[0]
    lines = (
        [
            str(m.implementation),
            f"{rows / m.rate:.2f}",
            f"{m.rate:,.0f}",
            f"{m.speedup(baseline):.2f}",
        ]
        for m in measurements
    )
    title = f"sums of {KEYS:,} keys in windows of {WINDOW} s, {EACH} rows each, Parquet to Parquet"
    yield f"{title}\n{table(['', 's', 'rows/s', '× DataFrame'], lines)}"


def _write(directory: Path, rows: int) -> None:
    directory.mkdir()
    random = np.random.default_rng(2015)
    keys = np.array([f"user-{number}" for number in range(KEYS)])
    span = WINDOW * max(1.0, rows / (KEYS * EACH))
    for number in range(FILES):
        size = rows // FILES
        columns = {
            "time": random.random(size) * span,
            "key": keys[random.integers(0, KEYS, size)],
            "value": random.integers(0, 100, size),
        }
        pq.write_table(pa.table(columns), directory / f"{number}.parquet")
