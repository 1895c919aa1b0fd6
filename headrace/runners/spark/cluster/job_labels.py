"""Labels of a pipeline in Spark's own UI: the description of jobs and stages, and the name of a query.

And the reverse: what Spark tells of the stages that run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from headrace.runners.plan.description import summary
from headrace.runners.plan.planning import Plan
from headrace.runners.spark.cluster.connect import is_connect

DESCRIPTION: Final = "spark.job.description"
"""The property of a thread that describes its jobs."""

_PLAIN: Final = str.maketrans({"<": "(", ">": ")", "&": "+", "\n": " "})
"""Spark's UI reads a description as HTML."""


def ui_label(planned: Plan) -> str:
    """Return the labels of the sources, groupings and sinks of a plan, for Spark's UI."""
    return summary(planned).translate(_PLAIN) or "headrace"


@contextmanager
def described_jobs(spark: SparkSession, description: str) -> Iterator[None]:
    """Describe the jobs that this thread starts; a client of Spark Connect cannot."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(DESCRIPTION)
    context.setJobDescription(description)
    try:
        yield
    finally:
        context._jsc.setLocalProperty(DESCRIPTION, before)


def active_tasks(spark: SparkSession) -> str:
    """Return how many tasks of the stages that run are done; a client of Spark Connect is not told."""
    if is_connect(spark):
        return ""
    tracker = spark.sparkContext.statusTracker()
    stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
    done = (f"{stage.numCompletedTasks} of {stage.numTasks} tasks" for stage in stages)
    return ", ".join(done)
