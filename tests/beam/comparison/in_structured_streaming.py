"""The programs in Spark's Structured Streaming, with PySpark: one file of sales in each micro-batch."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as F

from tests.beam.comparison.page import Answers
from tests.beam.comparison.questions import (
    LATENESS,
    MINUTE,
    QUESTIONS,
    Answer,
    Change,
    Question,
    Sale,
    minute_of,
    session_of,
)

AFTER_ALL = Sale("nobody", 0, 86_400)
"""Advances the watermark past all windows at the end, which a test stream does elsewhere."""

SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
}

Query = tuple[DataFrame, str]
"""What is computed, with the columns start, end, name and value, and the output mode."""


def chain(sales: DataFrame) -> Query:
    """Append mode; a second aggregation by the window of the first."""
    return _sellers_by_sum(_sums(_on_time(sales), _minute())), "append"


def early(sales: DataFrame) -> Query:
    """Update mode."""
    return _named(_sums(_on_time(sales), _minute())), "update"


def late(sales: DataFrame) -> Query:
    """Update mode, with the allowed lateness as the delay of the watermark."""
    return _named(_sums(_with_lateness(sales), _minute())), "update"


def late_output(sales: DataFrame) -> Query:
    """Append mode, which drops late rows."""
    return _named(_sums(_on_time(sales), _minute())), "append"


def regroup(sales: DataFrame) -> Query:
    """Update mode; a second aggregation by the window of the first."""
    return _sellers_by_sum(_sums(_with_lateness(sales), _minute())), "update"


def sessions(sales: DataFrame) -> Query:
    """Session windows in update mode."""
    session = F.session_window("t", f"{MINUTE} seconds")
    return _named(_sums(_with_lateness(sales), session)), "update"


PROGRAMS: dict[str, Callable[[DataFrame], Query]] = {
    program.__name__: program for program in (chain, early, late, late_output, regroup, sessions)
}


def _on_time(sales: DataFrame) -> DataFrame:
    return sales.withWatermark("t", "0 seconds")


def _with_lateness(sales: DataFrame) -> DataFrame:
    return sales.withWatermark("t", f"{LATENESS} seconds")


def _minute() -> Any:
    return F.window("t", f"{MINUTE} seconds")


def _sums(sales: DataFrame, window: Any) -> DataFrame:
    return sales.groupBy(window.alias("w"), "who").agg(F.sum("amount").alias("value"))


def _named(sums: DataFrame) -> DataFrame:
    return sums.select("w.start", "w.end", F.col("who").alias("name"), "value")


def _sellers_by_sum(sums: DataFrame) -> DataFrame:
    sellers = sums.groupBy("w", F.concat(F.lit("sum "), "value").alias("name"))
    return sellers.agg(F.count("*").alias("value")).select("w.start", "w.end", "name", "value")


def in_structured_streaming(spark: SparkSession, question: Question) -> Answer:
    """Run a program as a query."""
    with tempfile.TemporaryDirectory() as directory:
        found, mode = PROGRAMS[question.name](_source(spark, question.sales, Path(directory, "in")))
        note = f"in {mode} mode"
        try:
            return Answer(tuple(_run(found, mode, Path(directory, "checkpoint"))), note=note)
        except AnalysisException as error:
            return Answer(stopped=str(error).splitlines()[0], note=note)


def _source(spark: SparkSession, sales: Sequence[Sale], directory: Path) -> DataFrame:
    directory.mkdir()
    for number, sale in enumerate([*sales, AFTER_ALL]):
        file = directory / f"{number}.json"
        at = datetime.fromtimestamp(sale.second, UTC).isoformat()
        file.write_text(json.dumps({"who": sale.who, "amount": sale.amount, "t": at}) + "\n")
        os.utime(file, (number, number))  # files are read in order of modification time
    reader = spark.readStream.schema("who STRING, amount LONG, t TIMESTAMP")
    return reader.option("maxFilesPerTrigger", 1).json(str(directory))


def _run(found: DataFrame, mode: str, checkpoint: Path) -> list[Change]:
    changes: list[Change] = []
    epoch = [F.unix_seconds(bound).alias(bound) for bound in ("start", "end")]

    def keep(batch: DataFrame, _number: int) -> None:
        rows = batch.select(*epoch, "name", "value").orderBy("start", "name").collect()
        changes.extend(_change(*row) for row in rows if row.start < AFTER_ALL.second)

    writer = found.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
    query = writer.foreachBatch(keep).trigger(availableNow=True).start()
    query.awaitTermination()
    return changes


def _change(start: int, end: int, name: str, value: int) -> Change:
    in_minute = end - start == MINUTE and start % MINUTE == 0
    return Change(1, f"{(minute_of if in_minute else session_of)(start, end)} {name}", value)


def answers_of_structured_streaming() -> Answers:
    """Run all programs in a session of their own."""
    builder = SparkSession.builder.master("local[1]").config(map=SETTINGS)
    spark = builder.getOrCreate()
    try:
        found = {question.name: in_structured_streaming(spark, question) for question in QUESTIONS}
        return Answers(spark.version, found)
    finally:
        spark.stop()
