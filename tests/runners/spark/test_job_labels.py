"""Spark's own UI shows the labels of a pipeline; the REST API of the UI shows the same store."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

import headrace as hr


def descriptions(spark: SparkSession) -> list[str]:
    """The descriptions of the jobs, the newest first, as the page of the jobs has them."""
    context: Any = spark.sparkContext._jsc
    jobs = context.sc().statusStore().jobsList(None)
    return [str(jobs.apply(n).description().getOrElse(None)) for n in range(jobs.size())]


def run(*flags: str) -> Any:
    p = hr.Pipeline(runner="spark", argv=["--key-groups=2", *flags])
    read = p | "Read <lines> & words" >> hr.Create([("a", 1)]) | "Same" >> hr.Map(lambda pair: pair)
    _ = read | "Count" >> hr.CombinePerKey(sum) | "Write" >> hr.io.WriteToConsole()
    p.run().wait_until_finish()
    return p.result


def test_jobs_and_queries_have_the_labels_of_the_pipeline(spark: SparkSession) -> None:
    label = "Read (lines) + words → Count, Write"
    spark.sparkContext.setJobDescription("mine")
    try:
        run()
        assert descriptions(spark)[0] == label
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
    finally:
        spark.sparkContext.setJobDescription(None)  # type: ignore[arg-type]
    result = run("--streaming")
    assert result.query.name == label
    assert descriptions(spark)[0].startswith(label)
