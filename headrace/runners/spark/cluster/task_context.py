"""Where code runs: what Spark tells a task of itself."""

from __future__ import annotations

from typing import Final

from pyspark import TaskContext

PLACES: Final = 1 << 20
"""So many partitions a stage can have."""


def partition() -> int:
    """Return the number of the partition that the task works on; 0 outside of tasks."""
    context = TaskContext.get()
    return context.partitionId() if context else 0


def place(branch: int) -> int:
    """Return the number of the place of a task, among those of all stages that begin side by side."""
    return branch * PLACES + partition()


def batch_number() -> int:
    """Return the number of the micro-batch; 0 outside of streaming queries."""
    context = TaskContext.get()
    number = context.getLocalProperty("streaming.sql.batchId") if context else None
    return int(number or 0)
