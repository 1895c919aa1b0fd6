"""A run as one Spark job."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from headrace.runners.engine.observation import RunObservers
from headrace.runners.engine.progress import Progress
from headrace.runners.plan.planning import Plan, with_side_input_files
from headrace.runners.spark import batch
from headrace.runners.spark.cluster.driver_sinks import DriverSinks
from headrace.runners.spark.cluster.error_transport import unwrapping
from headrace.runners.spark.cluster.job_labels import active_tasks, described_jobs, ui_label
from headrace.runners.spark.cluster.options import (
    default_key_groups,
    spark_settings,
)
from headrace.runners.spark.cluster.session import (
    Session,
    batch_session,
)
from headrace.runners.spark.pushdown.pushing import Pushed, needs_elements, pushed_down
from headrace.runners.spark.shuffle.wire import StageRow
from headrace.runners.spark.state.side_input_directory import (
    temporary_files,
)
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.result import PipelineResult, PipelineState


class BatchRun(PipelineResult):
    """A run as one Spark job, which is finished when the constructor returns."""

    def __init__(self, planned: Plan, options: PipelineOptions, session: Session) -> None:
        super().__init__(PipelineState.RUNNING)
        settings = spark_settings(options)
        progress = Progress.of(options, partial(active_tasks, session.spark))
        observation = RunObservers.of(options, planned, "spark", streaming=False)
        self._sinks = DriverSinks(planned, "", streaming=False, progress=progress)
        now = time.time_ns() // 1000
        with (
            observation.running(),
            progress,
            unwrapping(),
            batch_session(session.spark, batch.CONF) as spark,
            described_jobs(spark, ui_label(planned)),
        ):
            groups = settings.key_groups or default_key_groups(session.cores)
            with temporary_files(planned, settings, session.is_local) as files:
                filed = with_side_input_files(planned, files)
                lower = partial(batch.lower, spark, groups, now, observation.sampled)
                lowered = lower(pushed_down(filed, spark))
                self._sinks.open()  # after the unopened sinks were pickled
                self._sinks.deliver(0, _rows_of(lowered, partial(lower, Pushed(filed))))
            observed = self._sinks.observed
            observation.round(now, self.metrics(), observed.state, observed.samples)
            self._sinks.close()
        self._state = PipelineState.DONE

    def metrics(self) -> MetricResults:
        """Return the metrics of the run."""
        return self._sinks.metrics()


def _rows_of(lowered: batch.Lowered, on_elements: Callable[[], batch.Lowered]) -> list[StageRow]:
    """Run a batch; if Spark's plan cannot hold a value of its input, run it on elements."""
    try:
        return lowered.run()
    except Exception as error:
        if not needs_elements(error):
            raise
    return on_elements().run()
