"""Batch on Spark: the workloads over two Parquet files, hand-written and with Headrace, in one session.

Implementations alternate as in ``comparison``; the first round is not counted. The clock stops when all
results are on the driver, in the form that the implementation returns; they are compared afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import by_dataframe
import by_dict_loop
import by_headrace_files
import by_rdd
from by_headrace_files import Columns, Dictionaries, Rows
from comparison import CLOCKS, Measurement, require_same, timed
from parquet_input import write_events, write_lines
from pyspark.sql import SparkSession
from table import table
from workloads import GROUPINGS, Results, Workload

from headrace.runners.spark import SparkRunner

FILES: Final = 2
"""Number of files, and of tasks."""


@attrs.frozen
class Implementation:
    """An implementation of the workloads.

    Attributes:
        name: name in the table.
        compute: takes the name of a workload and the files; returns what the driver gets.
        results: converts that to Results, for comparison.
    """

    name: str
    compute: Callable[[str, list[str]], Any]
    results: Callable[[str, Any], Results]


def implementations(spark: SparkSession) -> list[Implementation]:
    """Return all implementations; the first two are the baselines."""
    runner = SparkRunner(spark)
    return [
        _hand_written("RDD by hand", by_rdd, spark),
        _hand_written("DataFrame by hand", by_dataframe, spark),
        _headrace("Headrace on Spark, rows", runner, Rows()),
        _headrace("Headrace on Spark, ReadFromParquet", runner, Dictionaries()),
        _headrace("Headrace on Spark, columns", runner, Columns()),
        _headrace("Headrace, local runner, columns", "local", Columns()),
        _headrace("Headrace, local runner, rows", "local", Rows()),
    ]


def _hand_written(name: str, module: Any, spark: SparkSession) -> Implementation:
    return Implementation(name, lambda w, paths: getattr(module, w)(spark, paths), module.results)


def _headrace(name: str, runner: Any, files: Any) -> Implementation:
    def compute(workload: str, paths: list[str]) -> Any:
        return getattr(by_headrace_files, workload)(runner, files, paths)

    return Implementation(name, compute, by_headrace_files.results)


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Run all workloads, and yield a table for each.

    Raises:
        MismatchError: the results are wrong.
    """
    for workload in GROUPINGS:
        rows = int(workload.rows * scale)
        data = workload.generate(rows)
        expected = getattr(by_dict_loop, workload.name)(data)
        paths = _write(directory, workload, data)
        del data
        measurements = [Measurement(c, rows, []) for c in implementations(spark)]
        for number in range(repeat + 1):
            for measurement in measurements:
                seconds = _run_once(measurement.implementation, workload.name, paths, expected)
                measurement.seconds.extend([seconds] if number else [])
        yield f"{workload.title}\n{_table(workload, measurements)}"


def _run_once(
    implementation: Implementation, workload: str, paths: list[str], expected: Results
) -> float:
    seconds, found = timed(partial(implementation.compute, workload, paths), CLOCKS["wall"])
    require_same(
        f"{implementation.name}, {workload}", implementation.results(workload, found), expected
    )
    return seconds


def _write(directory: Path, workload: Workload, data: list[Any]) -> list[str]:
    write = write_lines if workload.name == "word_count" else write_events
    paths = [directory / f"{workload.name}-{number}.parquet" for number in range(FILES)]
    half = -(-len(data) // FILES)
    for number, path in enumerate(paths):
        write(path, data[number * half : (number + 1) * half])
    return list(map(str, paths))


def _table(workload: Workload, measurements: Sequence[Measurement]) -> str:
    rdd, frame, *_ = measurements
    header = ["", "s", f"{workload.unit}/s", "× RDD", "× DataFrame"]
    return table(header, (_row(measurement, rdd, frame) for measurement in measurements))


def _row(measurement: Measurement, rdd: Measurement, frame: Measurement) -> list[str]:
    seconds = f"{measurement.rows / measurement.rate:.2f}"
    ratios = [f"{measurement.speedup(baseline):.2f}" for baseline in (rdd, frame)]
    return [measurement.implementation.name, seconds, f"{measurement.rate:,.0f}", *ratios]
