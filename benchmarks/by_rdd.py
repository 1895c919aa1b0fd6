"""The workloads as hand-written Spark RDD code: tasks read Parquet with pyarrow, map, and reduce by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import add
from typing import Any

from parquet_input import events_of, lines_of
from pyspark.sql import SparkSession
from workloads import GAP, WINDOW, Event, Results

Found = list[tuple[Any, Any]]


def windowed_sum(spark: SparkSession, paths: list[str]) -> Found:
    events = spark.sparkContext.parallelize(paths, len(paths)).flatMap(events_of)
    return events.map(_by_key_and_window).reduceByKey(add, len(paths)).collect()


def sessions(spark: SparkSession, paths: list[str]) -> Found:
    events = spark.sparkContext.parallelize(paths, len(paths)).flatMap(events_of)
    keyed = events.map(lambda event: (event[1], (event[0], event[2])))
    return keyed.groupByKey(len(paths)).flatMap(_sessions).collect()


def word_count(spark: SparkSession, paths: list[str]) -> Found:
    lines = spark.sparkContext.parallelize(paths, len(paths)).flatMap(lines_of)
    ones = lines.flatMap(str.split).map(lambda word: (word, 1))
    return ones.reduceByKey(add, len(paths)).collect()


def results(workload: str, found: Found) -> Results:
    return dict(found)


def _by_key_and_window(event: Event) -> tuple[tuple[str, float], int]:
    time, key, value = event
    return (key, time // WINDOW * WINDOW), value


def _sessions(group: tuple[str, Iterable[tuple[float, int]]]) -> Iterator[tuple[Any, Any]]:
    key, rows = group
    ordered = sorted(rows)
    start = last = ordered[0][0]
    total = count = 0
    for time, value in ordered:
        if time - last >= GAP:
            yield (key, start), (total, count)
            start, total, count = time, 0, 0
        total += value
        count += 1
        last = time
    yield (key, start), (total, count)
