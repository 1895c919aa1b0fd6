"""The workloads as hand-written Spark DataFrame queries, run in the JVM; results arrive as Arrow columns."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession, functions as F
from workloads import GAP, WINDOW, Results


def windowed_sum(spark: SparkSession, paths: list[str]) -> pa.Table:
    window = F.window(F.timestamp_seconds("time"), f"{WINDOW} seconds").alias("window")
    sums = spark.read.parquet(*paths).groupBy("key", window).agg(F.sum("value").alias("total"))
    return sums.select("key", F.col("window.start").cast("double"), "total").toArrow()


def sessions(spark: SparkSession, paths: list[str]) -> pa.Table:
    # Spark puts events exactly one gap apart into one session; the others make two.
    gap = f"{GAP - 1} seconds 999999 microseconds"
    window = F.session_window(F.timestamp_seconds("time"), gap).alias("window")
    sums = spark.read.parquet(*paths).groupBy("key", window)
    found = sums.agg(F.sum("value").alias("total"), F.count("value").alias("count"))
    return found.select("key", F.col("window.start").cast("double"), "total", "count").toArrow()


def word_count(spark: SparkSession, paths: list[str]) -> pa.Table:
    words = F.explode(F.split("line", " ")).alias("word")
    return spark.read.parquet(*paths).select(words).groupBy("word").count().toArrow()


def results(workload: str, found: pa.Table) -> Results:
    columns = [column.to_pylist() for column in found.columns]
    if workload == "word_count":
        return dict(zip(*columns, strict=True))
    keys, starts, *totals = columns
    values = totals[0] if len(totals) == 1 else zip(*totals, strict=True)
    return dict(zip(zip(keys, starts, strict=True), values, strict=True))
