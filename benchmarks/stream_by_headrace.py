"""The streams as Headrace pipelines on Spark."""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import attrs
from parquet_input import events_of
from pyarrow import parquet
from pyspark.sql import SparkSession
from stream import END_KEY, SCHEMA, name_of
from workloads import DISORDER, WINDOW, Event, Results

import headrace as hr
from headrace.runners.spark import SparkRunner
from headrace.transforms.userstate import CombiningValueStateSpec, on_window_expiration

MICROS = 1_000_000


@attrs.frozen
class FileSource(hr.io.UnboundedSource[Event]):
    """Events of the files in a directory, in order; the offset is the number of files read.

    Attributes:
        directory: the directory.
        files_per_batch: maximum number of files per batch.
    """

    directory: str
    files_per_batch: int = 1

    def read(self, partition: Any, offset: Any, limit: int) -> hr.io.Batch[Event]:
        first = number = offset or 0
        records: list[Event] = []
        while number < first + self.files_per_batch and (path := self._path(number)).exists():
            records += events_of(str(path))
            number += 1
        if not records:
            return hr.io.Batch([], offset)
        newest = max(time for time, _, _ in records)
        return hr.io.Batch(records, number, watermark=newest - DISORDER)

    def _path(self, number: int) -> Path:
        return Path(self.directory, name_of(number))


PAIR_OF_ROW = attrgetter("key", "value")

Reader = Callable[[hr.Pipeline, Path, int], Any]
"""Takes a pipeline, a directory and the files per batch; returns pairs of key and value."""


def by_python(p: hr.Pipeline, directory: Path, files_per_batch: int) -> Any:
    """Read with a custom source, through Headrace's Python data source."""
    events = (
        p | hr.Read(FileSource(str(directory), files_per_batch)) | hr.WithTimestamps(itemgetter(0))
    )
    return events | "Pair" >> hr.Map(lambda event: (event[1], event[2]))


def by_spark(p: hr.Pipeline, directory: Path, files_per_batch: int) -> Any:
    """Read with Spark's file source, as the Spark queries do."""
    rows = _spark_rows(p, directory, files_per_batch)
    return rows | "Pair" >> hr.Map(lambda row: (row.key, row.value))


def _spark_rows(p: hr.Pipeline, directory: Path, files_per_batch: int) -> Any:
    return p | hr.io.ReadFromSpark(
        "parquet",
        {"path": str(directory), "maxFilesPerTrigger": str(files_per_batch)},
        schema=SCHEMA,
        streaming=True,
        timestamp="time",
        watermark=hr.BoundedOutOfOrderness(DISORDER),
    )


def by_spark_in_columns(p: hr.Pipeline, directory: Path, files_per_batch: int) -> Any:
    """Read as :func:`by_spark`, and stay on columns."""
    return _spark_rows(p, directory, files_per_batch) | "Pair" >> hr.Map(PAIR_OF_ROW)


def by_workers_in_columns(p: hr.Pipeline, directory: Path, files_per_batch: int) -> Any:
    """Read as :func:`by_workers`, and stay on columns."""
    return _watched_rows(p, directory) | "Pair" >> hr.Map(PAIR_OF_ROW)


def by_workers(p: hr.Pipeline, directory: Path, files_per_batch: int) -> Any:
    """Read with Headrace's watched files, whose parts the workers read; see ``records_per_batch``."""
    rows = _watched_rows(p, directory)
    return rows | "Pair" >> hr.Map(lambda row: (row.key, row.value))


def _watched_rows(p: hr.Pipeline, directory: Path) -> Any:
    return p | hr.io.ReadFromParquet(
        directory,
        as_rows=True,
        timestamp="time",
        watermark=hr.BoundedOutOfOrderness(DISORDER),
        watch=0.1,
    )


def records_per_batch(directory: Path, files_per_batch: int) -> int:
    """Return the number of records of the first files, which are all of the same size."""
    return int(parquet.read_metadata(directory / name_of(0)).num_rows) * files_per_batch


def sums_with_early_panes(pairs: Any, size: int = WINDOW) -> Any:
    """Sum up by key and window, with a pane for each batch, which retracts the pane before."""
    windowed = pairs | hr.WindowInto(
        hr.window.FixedWindows(size),
        trigger=hr.trigger.AfterWatermark(early=hr.trigger.AfterCount(1)),
        accumulation_mode=hr.AccumulationMode.RETRACTING,
    )
    return windowed | hr.CombinePerKey(sum)


def sums(pairs: Any, size: int = WINDOW) -> Any:
    """Sum up by key and window."""
    return pairs | hr.WindowInto(hr.window.FixedWindows(size)) | hr.CombinePerKey(sum)


def sums_of_sessions(pairs: Any, gap: int) -> Any:
    """Sum up by key and session."""
    return pairs | hr.WindowInto(hr.window.Sessions(gap)) | hr.CombinePerKey(sum)


def sums_with_late_panes(pairs: Any, size: int = WINDOW) -> Any:
    """Sum up by key and window, with a pane for each late element."""
    windowed = pairs | hr.WindowInto(
        hr.window.FixedWindows(size),
        trigger=hr.trigger.AfterWatermark(late=hr.trigger.AfterCount(1)),
        accumulation_mode=hr.AccumulationMode.ACCUMULATING,
        allowed_lateness=size,
    )
    return windowed | hr.CombinePerKey(sum)


class Total(hr.DoFn):
    """Sums up by key and window in a state, and emits the sum when the window expires."""

    TOTAL = CombiningValueStateSpec("total", sum)

    def process(self, element: Any, total: Any = hr.DoFn.StateParam(TOTAL)) -> None:
        total.add(element[1])

    @on_window_expiration
    def end(self, key: Any = hr.DoFn.KeyParam, total: Any = hr.DoFn.StateParam(TOTAL)) -> Any:
        yield key, total.read()


def sums_by_state(pairs: Any, size: int = WINDOW) -> Any:
    """Sum up by key and window with a stateful DoFn."""
    return pairs | hr.WindowInto(hr.window.FixedWindows(size)) | hr.ParDo(Total())


def sums_of_sums(pairs: Any) -> Any:
    """Sum up by key and window, then by the last letter of the key."""
    return (
        sums(pairs)
        | "Letter" >> hr.MapTuple(lambda key, total: (key[-1], total))
        | "Sum up sums" >> hr.CombinePerKey(sum)
    )


@attrs.define
class CollectingSink(hr.io.Sink):
    """Collects bundles and their times of arrival, in the process that runs the pipeline."""

    accepts_retractions = True

    arrived: list[tuple[float, Any]] = attrs.field(factory=list)

    def write(self, batch: hr.io.SinkBatch) -> None:
        self.arrived.append((time.time(), batch.bundle))


@attrs.define
class RunningQuery:
    """A running pipeline; see ``stream.RunningQuery``."""

    run: Any
    sink: CollectingSink
    idle_rows: int

    @property
    def query(self) -> Any:
        return self.run.query

    def results(self) -> Results:
        return {
            (key, window[0] / MICROS): total
            for _, bundle in self.sink.arrived
            for (key, total), (window,), diff in zip(
                bundle.values, bundle.windows, bundle.diffs, strict=False
            )
            if diff > 0 and key != END_KEY
        }

    def rows(self) -> int:
        return sum(len(bundle) for _, bundle in self.sink.arrived)

    def stop(self) -> None:
        self.run.cancel()


def start(
    spark: SparkSession,
    directory: Path,
    compute: Callable[[Any], Any],
    files_per_batch: int = 1,
    read: Reader = by_spark,
) -> RunningQuery:
    """Start a pipeline over the files of a directory."""
    sink = CollectingSink()
    watched = read in (by_workers, by_workers_in_columns)
    limit = records_per_batch(directory, files_per_batch) if watched else 10_000_000
    p = hr.Pipeline(
        SparkRunner(spark),
        argv=["--streaming", "--batch-seconds=0", f"--max-records-per-batch={limit}"],
    )
    _ = compute(read(p, directory, files_per_batch)) | hr.Write(sink)
    groups = spark.sparkContext.defaultParallelism
    return RunningQuery(p.run(), sink, idle_rows=groups + 1)  # its control rows, and a report
