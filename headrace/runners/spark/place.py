"""Where code runs: what Spark tells a task of itself."""

from __future__ import annotations

from pyspark import TaskContext


def partition() -> int:
    """Return the number of the partition that the task works on; 0 outside of tasks."""
    context = TaskContext.get()
    return context.partitionId() if context else 0


def batch_number() -> int:
    """Return the number of the micro-batch; 0 outside of streaming queries."""
    context = TaskContext.get()
    number = context.getLocalProperty("streaming.sql.batchId") if context else None
    return int(number or 0)
