"""Reads tables with Spark: ``python -m tests.unit.sdk.io.lake.spark_reader JARS FORMAT=PATH …``.

It prints a line of JSON for each table: its rows as text. The JVM has the connectors of both formats.
"""

from __future__ import annotations

import json
import sys

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def main(jars: str, *tables: str) -> None:
    """Print the rows of tables."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.jars", jars)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    for table in tables:
        form, _, path = table.partition("=")
        rows = session.read.format(form).load(path).collect()
        print(json.dumps(sorted([str(value) for value in row] for row in rows)), flush=True)
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
