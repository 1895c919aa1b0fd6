"""Leaves the long-lived objects of a Spark worker out of garbage collections.

A worker collects all garbage after each task. That scans every module, which takes tens of milliseconds:
longer than the task itself in a small micro-batch.
"""

from __future__ import annotations

import gc

from pyspark import TaskContext

from headrace.runners.engine.gc_tuning import freeze_heap


def freeze_imports() -> None:
    """Leave out what is alive in the first task of a worker; no effect in later tasks."""
    if not gc.get_freeze_count():
        freeze_worker()


def freeze_worker() -> None:
    """Leave out what is alive; no effect outside workers."""
    if TaskContext.get() is not None:
        freeze_heap()
