"""The streams as Spark queries: windowed aggregation, and transformWithState in Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession, functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from stream import END_KEY, SCHEMA
from workloads import DISORDER, WINDOW, Results


def events(spark: SparkSession, directory: Path, files_per_batch: int | None = 1) -> DataFrame:
    """Read a growing directory, `files_per_batch` files per batch; None reads all available files."""
    reader = spark.readStream.schema(SCHEMA)
    reader = (
        reader if files_per_batch is None else reader.option("maxFilesPerTrigger", files_per_batch)
    )
    stamped = reader.parquet(str(directory)).withColumn("at", F.timestamp_seconds("time"))
    return stamped.withWatermark("at", f"{DISORDER} seconds")


def sums(rows: DataFrame, size: int = WINDOW) -> DataFrame:
    """Sum up by key and window."""
    window = F.window("at", f"{size} seconds").alias("window")
    found = rows.groupBy("key", window).agg(F.sum("value").alias("total"))
    return found.select("key", F.col("window.start").cast("double"), "total")


def sums_of_sums(rows: DataFrame) -> DataFrame:
    """Sum up by key and window, then by the last letter of the key."""
    size = f"{WINDOW} seconds"
    by_key = rows.groupBy("key", F.window("at", size)).agg(F.sum("value").alias("total"))
    window = F.window(F.window_time("window"), size).alias("window")
    letter = F.substring("key", -1, 1).alias("letter")
    found = by_key.groupBy(letter, window).agg(F.sum("total").alias("total"))
    return found.select("letter", F.col("window.start").cast("double"), "total")


def sums_by_key_state(rows: DataFrame) -> DataFrame:
    """Sum up by key and window with transformWithState in Python, with one ValueState and timer each."""
    start = (F.floor(F.col("time") / WINDOW) * WINDOW).cast("double").alias("start")
    keyed = rows.select("at", "key", "value", start).groupBy("key", "start")
    schema = "key string, start double, total long"
    return keyed.transformWithState(SumOfWindow(), schema, "append", "eventTime")


class SumOfWindow(StatefulProcessor):
    """The sum of one key and window, emitted when the watermark passes the end of the window."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._total = handle.getValueState("total", "value long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        total = sum(row.value for row in rows)
        before = self._total.get()
        if before is None:
            self._handle.registerTimer(int(key[1] + WINDOW) * 1000)
        self._total.update((total + (before[0] if before else 0),))
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        (total,) = self._total.get()
        yield Row(key=key[0], start=key[1], total=total)
        self._total.clear()

    def close(self) -> None:
        pass


@attrs.define
class RunningQuery:
    """A running Spark query; see ``stream.RunningQuery``."""

    query: Any = None
    idle_rows: int = 0
    arrived: list[tuple[float, pa.Table]] = attrs.field(factory=list)

    def results(self) -> Results:
        found: Results = {}
        for _, columns in self.arrived:
            keys, starts, totals = (column.to_pylist() for column in columns.columns)
            found.update(zip(zip(keys, starts, strict=True), totals, strict=True))
        return {(key, start): total for (key, start), total in found.items() if key != END_KEY}

    def rows(self) -> int:
        return sum(len(columns) for _, columns in self.arrived)

    def take(self, frame: DataFrame, number: int) -> None:
        columns = frame.toArrow()
        self.arrived.append((time.time(), columns))

    def stop(self) -> None:
        self.query.stop()


def start(
    spark: SparkSession,
    directory: Path,
    compute: Callable[[DataFrame], DataFrame],
    mode: str = "append",
    files_per_batch: int | None = 1,
) -> RunningQuery:
    """Start a query over the files of a directory."""
    running = RunningQuery()
    writer = compute(events(spark, directory, files_per_batch)).writeStream.outputMode(mode)
    checkpoint = str(directory.with_name(f"{directory.name}-checkpoint-{time.time_ns()}"))
    writer = writer.foreachBatch(running.take).option("checkpointLocation", checkpoint)
    running.query = writer.start()
    return running
