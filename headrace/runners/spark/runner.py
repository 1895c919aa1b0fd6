"""The Spark runner: a plan as one job, or as one streaming query."""

from __future__ import annotations

from pyspark.sql import SparkSession

from headrace.runners.planning import plan
from headrace.runners.spark import batch
from headrace.runners.spark.delivery import Delivery
from headrace.runners.spark.wire import rows_of
from headrace.runners.local.clock import WallClock
from headrace.sdk.graph import Graph
from headrace.sdk.metrics import MetricResults
from headrace.sdk.options import PipelineOptions
from headrace.sdk.result import PipelineResult, PipelineState


class BatchRun(PipelineResult):
    """A run as one Spark job; it is over when it has been made."""

    def __init__(self, graph: Graph, options: PipelineOptions, session: SparkSession) -> None:
        super().__init__(PipelineState.RUNNING)
        planned = plan(graph)
        self._delivery = Delivery(planned, "")
        self._delivery.open()
        frame = batch.lower(planned, session, 64, WallClock().now())
        self._delivery.deliver(0, rows_of(frame.toArrow().to_batches()))
        self._delivery.close()
        self._state = PipelineState.DONE

    def metrics(self) -> MetricResults:
        """Return what has been counted."""
        return self._delivery.metrics()
