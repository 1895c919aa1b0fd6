"""Unloads the state of a query that has ended from the memory of this JVM.

Spark keeps the state of an ended query for up to a minute, and writes a snapshot of it before it unloads the
state. That would write a deleted checkpoint again.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import SparkSession

_STORE: Final = "default"
"""The name that Spark gives to the only store of an operator in a partition."""

_METHODS: Final = ("removeFromLoadedProvidersAndClose", "unload")
"""Spark's method that unloads the state without a snapshot: since Spark 4.1, and in Spark 4.0."""


def unload_state(
    session: SparkSession, query: Any, checkpoint: str, operators: int, partitions: int
) -> None:
    """Unload the state of a query that has ended.

    Args:
        session: a session of the JVM.
        query: Spark's query.
        checkpoint: the directory of its checkpoint.
        operators: number of operators with state.
        partitions: number of partitions of the state.
    """
    jvm: Any = session._jvm
    state = jvm.org.apache.spark.sql.execution.streaming.state
    store = getattr(getattr(state, "StateStore$"), "MODULE$")
    unload = getattr(store, next(name for name in _METHODS if name in dir(store)))
    run = jvm.java.util.UUID.fromString(query.runId)
    path = jvm.org.apache.hadoop.fs.Path(checkpoint, "state")
    hadoop: Any = session._jsc.hadoopConfiguration()
    place = path.getFileSystem(hadoop).makeQualified(path).toString()
    for operator in range(operators):
        for partition in range(partitions):
            identity = state.StateStoreId(place, operator, partition, _STORE)
            unload(state.StateStoreProviderId(identity, run))
