"""Checks of the workers before a run: their Python, their packages, and what the pipeline imports.

A small job with tasks for all executors reports what they have. Without it a run would fail later, in the
middle of its first stage or of its first batch.
"""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from headrace.runners.spark.cluster.connect import is_connect
from headrace.runners.spark.cluster.error_transport import unwrapping, wrapping
from headrace.runners.spark.cluster.missing_packages import missing
from headrace.runners.spark.cluster.requirements import check_versions, installed_versions
from headrace.runners.spark.cluster.unpickling import first_missing, in_parts
from headrace.sdk.pipelines.graph import Node

WorkerReport = tuple[str, dict[str, str | None], tuple[str, str, str] | None]
"""The host of a worker, its versions, and the first part of the pipeline that it cannot unpickle."""


def check_workers(spark: SparkSession, nodes: Iterable[Node] = ()) -> int:
    """Check what the workers have; return the number of tasks that run at once.

    The tasks usually reach all executors that have started.

    Args:
        spark: the session of the workers, which have the code of the pipeline.
        nodes: the steps of the pipeline, as they are sent to workers.

    Raises:
        UnsupportedError: the Python version differs, or a package is missing, too old or too new.
    """
    parts = in_parts(nodes)
    with unwrapping():
        reports = _reports(spark, parts)
    for host, versions, lack in reports:
        check_versions(versions, f"a worker on {host}")
        if lack is not None:
            label, module, message = lack
            raise missing(module, message, f"{label}, on a worker on {host}")
    return len(reports)


def _reports(spark: SparkSession, parts: Mapping[str, bytes]) -> list[WorkerReport]:
    if is_connect(spark):
        rows = spark.range(0, 1 << 16).mapInArrow(_Ask(parts), "report binary").collect()
        return [pickle.loads(row.report) for row in rows]
    context = spark.sparkContext
    tasks = max(2, context.defaultParallelism)
    found = context.parallelize(range(tasks), tasks).map(lambda _: report(parts)).collect()
    return list(found)


def report(parts: Mapping[str, bytes]) -> WorkerReport:
    """Return what this worker has."""
    return socket.gethostname(), installed_versions(), first_missing(parts)


class _Ask:
    """Reports from each partition, as a function for ``mapInArrow``."""

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        self._parts = parts

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa  # here, because the workers of a classic session can lack it

        with wrapping():
            for _ in batches:
                pass
            yield pa.RecordBatch.from_pydict({"report": [pickle.dumps(report(self._parts))]})
