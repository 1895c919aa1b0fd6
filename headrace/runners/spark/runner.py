"""The Spark runner: a plan as one job, or as one streaming query."""

from __future__ import annotations

from pyspark.sql import SparkSession

from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.engine.progress import Progress
from headrace.runners.plan.execution_mode import is_streaming
from headrace.runners.plan.planning import Plan, plan
from headrace.runners.plan.table_fields import with_table_sources
from headrace.runners.plan.table_steps import with_tables
from headrace.runners.spark.arrival_order import check_arrival_order
from headrace.runners.spark.batch_run import BatchRun
from headrace.runners.spark.cluster.frame_sinks import require_directories, set_loaders
from headrace.runners.spark.cluster.options import spark_settings
from headrace.runners.spark.cluster.paths import check_paths
from headrace.runners.spark.cluster.session import prepare
from headrace.runners.spark.pushdown.pushing import pushed_down
from headrace.runners.spark.sources.timed_groupings import with_timed_groupings
from headrace.runners.spark.stage import worker_nodes
from headrace.runners.spark.stream_run import StreamRun
from headrace.sdk.observing.options import check_run
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.graph import Graph
from headrace.sdk.pipelines.result import PipelineResult


class SparkRunner:
    """Runs pipelines on Spark: bounded ones as one job, others as one streaming query.

    Args:
        session: the session to run in; by default the active one, or a new one.

    >>> import headrace as hr
    >>> runner = SparkRunner()
    >>> p = hr.Pipeline(runner=runner)  # the same as hr.Pipeline(runner="spark")
    """

    ships_functions = True
    """Whether functions are pickled; a pipeline whose functions cannot be pickled is refused."""

    def __init__(self, session: SparkSession | None = None) -> None:
        self._session = session

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        """Run a graph; return when it is finished, or at once if a source is unbounded."""
        check_run(options)
        standard = options.view_as(StandardOptions)
        planned, streaming = _planned(graph, options), is_streaming(graph, options)
        check_arrival_order(planned)
        if streaming and spark_settings(options).checkpoint:
            require_directories(graph)
        check_paths(spark_settings(options), streaming)
        with Progress(standard.progress and None, lambda: "Spark starts"):  # on terminals only
            session = prepare(options, self._session, worker_nodes(planned), streaming=streaming)
            set_loaders(graph, session.spark)
        if streaming:
            return StreamRun(planned, options, session).start()
        return BatchRun(planned, options, session)

    def planned(self, graph: Graph, options: PipelineOptions) -> Plan:
        """Return the plan of a run; if there is a session, with the groupings that Spark's own plan does.

        Args:
            graph: the graph.
            options: the options of the run.
        """
        planned = _planned(graph, options)
        session = self._session or SparkSession.getActiveSession()
        if session is None or is_streaming(graph, options):
            return planned
        return pushed_down(planned, session).plan


def _planned(graph: Graph, options: PipelineOptions) -> Plan:
    standard = options.view_as(StandardOptions)
    planned = plan(graph, bool(standard.check_mutation), bool(standard.no_pickle))
    if not is_streaming(graph, options):
        return with_table_sources(with_tables(planned, Execution.BATCH))
    return with_table_sources(with_tables(with_timed_groupings(planned), Execution.SHUFFLED))
