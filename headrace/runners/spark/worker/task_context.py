"""The context of a Spark task: its partition, task number and batch number."""

from __future__ import annotations

from typing import Final

from pyspark import TaskContext

MAX_PARTITIONS: Final = 1 << 20
"""Maximum number of partitions of a stage."""


def partition() -> int:
    """Return the partition number of the current task; 0 outside tasks."""
    context = TaskContext.get()
    return context.partitionId() if context else 0


def task_number(branch: int) -> int:
    """Return the number of the current task, which is unique among the branches of a level."""
    return branch * MAX_PARTITIONS + partition()


def batch_number() -> int:
    """Return the number of the current micro-batch; 0 outside streaming queries."""
    context = TaskContext.get()
    number = context.getLocalProperty("streaming.sql.batchId") if context else None
    return int(number or 0)
