"""The Spark runner: pipelines on Apache Spark, bounded ones as a job, others as a streaming query.

===============  ===============================================================================
module           content
===============  ===============================================================================
runner           a run: options, session, job or query, end
arrival_order    what needs the order of arrival, where there is none
batch            a plan as one job
batch_stage      a level for Spark's mapInArrow
batch_run        a run as one job
streaming        a plan as one streaming query
stream_setup     the set-up of a run as one query: settings, checkpoint, files
stream_query     the query: further tries of a batch, and its end
stream_delivery  batches to sinks and observers
stream_run       a run as one query
stage            one level of a plan on a worker
pushdown         groupings of a batch that Spark's own plan does
keyed_processor  a level for Spark's transformWithState
query_progress   Spark's own numbers of a micro-batch
signals          Ctrl-C and SIGTERM while a program waits for a run
stopped_queries  queries that are stopped from outside
cluster          sessions and settings, the code for the workers, errors and sinks on the driver
worker           the worker process in which a task runs
shuffle          elements between levels: key groups, blocks, control rows
state            keyed state in chunks; leases, manifests and directories of checkpoints
sources          sources that Python, Spark or the workers read
===============  ===============================================================================

The runner module is imported on first use, so that a worker without pyarrow can report that it is missing.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.runners.spark.runner import SparkRunner

__all__ = ["SparkRunner", "planned", "run", "ships_functions"]

ships_functions = True


def run(graph: object, options: object) -> Any:
    """Run a graph on Spark, in the session that its options specify."""
    return __getattr__("SparkRunner")().run(graph, options)


def planned(graph: object, options: object) -> Any:
    """Return the plan of a run on Spark, in the active session if there is one; None without pyspark."""
    if find_spec("pyspark") is None:
        return None
    return __getattr__("SparkRunner")().planned(graph, options)


def __getattr__(name: str) -> Any:
    if name == "SparkRunner":
        from headrace.runners.spark.cluster.requirements import check_packages

        check_packages()  # before an import fails
        from headrace.runners.spark.runner import SparkRunner

        return SparkRunner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
