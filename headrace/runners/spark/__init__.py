"""The Spark runner: pipelines on Apache Spark, bounded ones as a job, others as a streaming query.

=============================  =======================================================
module                         contents
=============================  =======================================================
runner                         a run: options, session, job or query, end
batch                          a plan as one job
streaming                      a plan as one streaming query
stage                          one level of a plan on a worker
stopped_queries                queries that are stopped from outside
-----------------------------  -------------------------------------------------------
cluster/options                command-line flags
cluster/session                the Spark session of a run
cluster/new_session            a new session and its settings
cluster/spark_home             a Spark home without pyspark.zip
cluster/jvm_log_filter         removes noise from the output of the JVM
cluster/spark_versions         what differs between versions of Spark
cluster/requirements           checks of Java, Python and packages
cluster/version_match          checks that driver, JVM and cluster run one Spark
cluster/worker_checks          checks of the workers before a run
cluster/unpickling             plans as bytes; what a worker cannot unpickle
cluster/missing_packages       the error for a package that a worker lacks
cluster/connect                sessions of Spark Connect
cluster/packaging              code for the workers
cluster/archive                a job and its packages as a zip file
cluster/main_classes           classes of ``__main__`` on the workers
cluster/task_context           partition and batch number of a task
cluster/error_transport        errors from workers to the driver
cluster/driver_sinks           sinks and metrics on the driver
cluster/file_retention         when files of side inputs are deleted
-----------------------------  -------------------------------------------------------
shuffle/write                  operators that send elements to the next level
shuffle/key_group              hash buckets of keys
shuffle/blocks                 arrivals as columns
shuffle/bundle_columns         bundles as columns
shuffle/records                rows and named tuples by field
shuffle/wire                   rows between stages
shuffle/control_rows           watermarks and processing time in the data
shuffle/read                   merges blocks after a batch shuffle
shuffle/spilling               lists that spill to disk
-----------------------------  -------------------------------------------------------
state/chunks                   keyed state in chunks
state/chunked_keys             chunks of the states of keys
state/chunked_tiers            chunks of groupings with a light tier
state/stage_cache              stages that stay in a worker between batches
state/acquire_lease            takes a checkpoint for a run, or names its owner
state/lease                    the right of a run to write its checkpoint
state/lease_record             who owns a checkpoint, as numbered files
state/lease_files              these files on local disks and on Hadoop's file systems
state/processes                whether the process of an owner has ended
state/run_directory            the temporary directory of a run, which is deleted
state/unloading                unloads the state of a query that has ended
state/checkpoint_manifest      compares a checkpoint with the pipeline
state/signature                signatures of strategies and functions, as stable text
state/side_input_directory     where files with large side inputs are
-----------------------------  -------------------------------------------------------
sources/data_source            sources that Python reads, as a Spark data source
sources/native                 sources that Spark reads
sources/worker_reads           sources that the workers read in ranges
sources/native_watermarks      watermarks of sources that Spark or the workers read
=============================  =======================================================

The runner module is imported on first use, so that a worker without pyarrow can report that it is missing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.runners.spark.runner import SparkRunner

__all__ = ["SparkRunner", "run", "ships_functions"]

ships_functions = True


def run(graph: Any, options: Any) -> Any:
    """Run a graph on Spark, in the session that its options specify."""
    return __getattr__("SparkRunner")().run(graph, options)


def __getattr__(name: str) -> Any:
    if name == "SparkRunner":
        from headrace.runners.spark.cluster.requirements import check_packages

        check_packages()  # before an import fails
        from headrace.runners.spark.runner import SparkRunner

        return SparkRunner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
