"""The program of the kept checkpoints whose source Spark reads itself: the rates of Spark, summed in windows.

Each micro-batch of the source has the same rows in every run. As with the other program, a kept checkpoint
fits it, so it is not changed.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import headrace as hr
from headrace.options import PipelineOptions
from headrace.sdk.pipelines.result import PipelineResult
from headrace.windowing import FixedWindows
from tests.faults.runs import lines_of

ROWS: Final = 4
"""Rows in a micro-batch, all at the same second; each batch is a second later."""

SIZE: Final = 3
"""The size of windows in seconds."""

RATES: Final = {
    "rowsPerBatch": ROWS,
    "startTimestamp": 0,
    "advanceMillisPerBatch": 1000,
    "numPartitions": 2,
}


def build(p: hr.Pipeline, home: Path) -> None:
    """Sum the numbers of the rows in windows; every second number has a key of its own."""
    rows = p | "rates" >> hr.io.ReadFromSpark(
        "rate-micro-batch",
        RATES,
        streaming=True,
        timestamp="timestamp",
        watermark=hr.Monotonic(),
        partition_by=(),
    )
    sums = (
        rows
        | "pairs" >> hr.Map(lambda row: (row.value % 2, row.value))
        | "windows" >> hr.WindowInto(FixedWindows(SIZE))
        | "sum" >> hr.CombinePerKey(sum)
    )
    _ = sums | "sums" >> hr.io.WriteToText(home / "files" / "sums", num_shards=0)


def start(home: Path) -> PipelineResult:
    """Start or resume the program on Spark."""
    flags = ["--runner=spark", f"--checkpoint={home / 'checkpoint'}", "--key-groups=2"]
    p = hr.Pipeline(options=PipelineOptions(flags))
    build(p, home)
    return p.run()


def run_until(home: Path, windows: int) -> None:
    """Run the program until the sums of some windows are written, and stop it."""
    run = start(home)
    while len(sums(home)) < 2 * windows:
        assert run.wait_until_finish(100) == "RUNNING"
    assert run.cancel() == "CANCELLED"


def sums(home: Path) -> list[tuple[int, int]]:
    """The keys and sums that are written, sorted."""
    return sorted(map(ast.literal_eval, lines_of(home, "sums")))


def expected(written: int) -> list[tuple[int, int]]:
    """The first sums, by plain Python."""
    numbers = SIZE * ROWS
    starts = range(0, written // 2 * numbers, numbers)
    return sorted((key, sum(range(at + key, at + numbers, 2))) for at in starts for key in (0, 1))
