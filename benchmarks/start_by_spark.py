"""A small stream by Spark alone: JSON, transformWithStateInPandas, foreachBatch; see ``spark_start``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle


class Sum(StatefulProcessor):
    """The sum of each key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", "value long")

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        before = self._total.get()
        total = (before[0] if before else 0) + sum(int(frame["value"].sum()) for frame in rows)
        self._total.update((total,))
        yield pd.DataFrame({"key": [key[0]], "total": [total]})

    def close(self) -> None:
        pass


def main(directory: str) -> None:
    """Print the sums by key of the first batch, as JSON."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.providerClass": provider,
    }
    spark = builder.config(map=settings).getOrCreate()

    def show(frame: DataFrame, number: int) -> None:
        rows = frame.collect()
        if rows:
            print(json.dumps({row.key: row.total for row in sorted(rows)}), flush=True)

    rows = spark.readStream.schema("time long, key string, value long").json(directory)
    sums = rows.groupBy("key").transformWithStateInPandas(
        Sum(), "key string, total long", "update", "none"
    )
    query = sums.writeStream.foreachBatch(show).outputMode("update").start()
    query.processAllAvailable()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
