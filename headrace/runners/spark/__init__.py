"""The Spark runner: the same pipelines on Apache Spark, bounded ones as a job, others as a query.

=======================  =============================================================
module                   what it says
=======================  =============================================================
runner                   a run, from its options to its end
options                  the flags
session, starting        the session of a run; a new one
quiet                    a JVM whose noise is left out
versions                 what must be installed, checked before anything runs
packaging, script        code for the workers; the classes of the script
batch                    a plan as one job
streaming                a plan as one query
stage                    a level at work in one worker
keeping                  stages kept in a worker from batch to batch
departures               where elements leave a stage
key_group                buckets of keys
wire                     rows between stages
bundles, shipment        bundles, and arrivals, as columns on the wire
receiving                arrivals put together again behind a shuffle of a batch
spilling                 bags that outgrow memory
chunks                   what groupings remember, in Spark's state
chunked_keys, _windows   the same for any trigger; for windows that only wait
control                  watermarks and the clock in the data
rounds, feed             sources that Python reads, so that they can be replayed
native                   sources that Spark reads itself
observing                watermarks of those, seen by the workers
delivery                 sinks, on the driver
checkpoint               which pipeline may go on from a checkpoint
failures                 errors on their way from workers to the driver
place                    where code runs, as Spark says it
=======================  =============================================================

The runner is imported when it is asked for: a worker that lacks pyarrow can still say so.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.runners.spark.runner import SparkRunner

__all__ = ["SparkRunner", "run", "ships_functions"]

ships_functions = True


def run(graph: Any, options: Any) -> Any:
    """Run a graph on Spark, in the session that its options ask for."""
    from headrace.runners.spark.runner import SparkRunner

    return SparkRunner().run(graph, options)


def __getattr__(name: str) -> Any:
    if name == "SparkRunner":
        from headrace.runners.spark.runner import SparkRunner

        return SparkRunner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
