"""Batch on Spark: the workloads over two Parquet files, by hand and by Headrace, in one session.

Turns alternate as in ``contest``, after a round that is not counted. The clock stops when all results have
arrived on the driver, in whatever form the contestant gets them; they are compared after that.
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
from by_headrace_files import Dictionaries, Rows
from contest import CLOCKS, Outcome, require_same, timed
from parquet_input import write_events, write_lines
from pyspark.sql import SparkSession
from table import table
from workloads import WORKLOADS, Results, Workload

from headrace.runners.spark import SparkRunner

FILES: Final = 2
"""So many files, and so many tasks."""


@attrs.frozen
class Contestant:
    """Someone who computes the workloads.

    Attributes:
        name: what the table says.
        compute: takes a workload's name and the files, returns what the driver gets.
        results: makes Results of that, for comparison.
    """

    name: str
    compute: Callable[[str, list[str]], Any]
    results: Callable[[str, Any], Results]


def contestants(spark: SparkSession) -> list[Contestant]:
    """Return who takes part; the first two are the yardsticks."""
    runner = SparkRunner(spark)
    return [
        _by_hand("RDD by hand", by_rdd, spark),
        _by_hand("DataFrame by hand", by_dataframe, spark),
        _headrace("Headrace on Spark, rows", runner, Rows()),
        _headrace("Headrace on Spark, ReadFromParquet", runner, Dictionaries()),
        _headrace("Headrace, local runner, rows", "local", Rows()),
    ]


def _by_hand(name: str, module: Any, spark: SparkSession) -> Contestant:
    return Contestant(name, lambda w, paths: getattr(module, w)(spark, paths), module.results)


def _headrace(name: str, runner: Any, files: Any) -> Contestant:
    def compute(workload: str, paths: list[str]) -> Any:
        return getattr(by_headrace_files, workload)(runner, files, paths)

    return Contestant(name, compute, by_headrace_files.results)


def run(spark: SparkSession, place: Path, scale: float, repeat: int) -> Iterator[str]:
    """Run all workloads, and say how they went.

    Raises:
        MismatchError: somebody computed something else.
    """
    for workload in WORKLOADS:
        rows = int(workload.rows * scale)
        data = workload.generate(rows)
        expected = getattr(by_dict_loop, workload.name)(data)
        paths = _write(place, workload, data)
        del data
        outcomes = [Outcome(c, rows, []) for c in contestants(spark)]
        for number in range(repeat + 1):
            for outcome in outcomes:
                seconds = _turn(outcome.contestant, workload.name, paths, expected)
                outcome.seconds.extend([seconds] if number else [])
        yield f"{workload.title}\n{_table(workload, outcomes)}"


def _turn(who: Contestant, workload: str, paths: list[str], expected: Results) -> float:
    seconds, found = timed(partial(who.compute, workload, paths), CLOCKS["wall"])
    require_same(f"{who.name}, {workload}", who.results(workload, found), expected)
    return seconds


def _write(place: Path, workload: Workload, data: list[Any]) -> list[str]:
    write = write_lines if workload.name == "word_count" else write_events
    paths = [place / f"{workload.name}-{number}.parquet" for number in range(FILES)]
    half = -(-len(data) // FILES)
    for number, path in enumerate(paths):
        write(path, data[number * half : (number + 1) * half])
    return list(map(str, paths))


def _table(workload: Workload, outcomes: Sequence[Outcome]) -> str:
    rdd, frame, *_ = outcomes
    header = ["", "s", f"{workload.unit}/s", "× RDD", "× DataFrame"]
    return table(header, (_row(outcome, rdd, frame) for outcome in outcomes))


def _row(outcome: Outcome, rdd: Outcome, frame: Outcome) -> list[str]:
    seconds = f"{outcome.rows / outcome.rate:.2f}"
    ratios = [f"{outcome.times(yardstick):.2f}" for yardstick in (rdd, frame)]
    return [outcome.contestant.name, seconds, f"{outcome.rate:,.0f}", *ratios]
