"""Spark's own UI shows the labels of a pipeline; the REST API of the UI shows the same store."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

import headrace as hr


def jobs_of(spark: SparkSession) -> list[Any]:
    """All jobs, the newest first, as the page of the jobs has them."""
    context: Any = spark.sparkContext._jsc.sc()  # type: ignore[union-attr]
    context.listenerBus().waitUntilEmpty()
    jobs = context.statusStore().jobsList(None)
    return [jobs.apply(n) for n in range(jobs.size())]


def newest(spark: SparkSession) -> int:
    return max((job.jobId() for job in jobs_of(spark)), default=-1)


def descriptions(spark: SparkSession, after: int) -> set[str]:
    """The descriptions of the jobs after another one."""
    jobs = (job for job in jobs_of(spark) if job.jobId() > after)
    found = (job.description() for job in jobs)
    return {text.get() if text.isDefined() else "" for text in found}


def run(*flags: str) -> Any:
    p = hr.Pipeline(runner="spark", argv=["--key-groups=2", *flags])
    read = p | "Read <lines> & words" >> hr.Create([("a", 1)]) | "Same" >> hr.Map(lambda pair: pair)
    _ = read | "Count" >> hr.CombinePerKey(sum) | "Write" >> hr.io.WriteToConsole()
    p.run().wait_until_finish()
    return p.result


def test_jobs_and_queries_have_the_labels_of_the_pipeline(spark: SparkSession) -> None:
    label = "Read (lines) + words → Count, Write"
    before = newest(spark)
    spark.sparkContext.setJobDescription("mine")
    try:
        run()
        assert descriptions(spark, before) == {label}
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
    finally:
        spark.sparkContext.setJobDescription(None)  # type: ignore[arg-type]
    before = newest(spark)
    result = run("--streaming")
    assert result.query.name == label
    found = descriptions(spark, before)
    assert found
    assert all(description.startswith(label) for description in found)
