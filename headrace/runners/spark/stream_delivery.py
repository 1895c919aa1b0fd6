"""The delivery of the batches of a streaming run: to the sinks, to observers, and back to the sources."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from headrace.runners.engine.observation import RunObservers
from headrace.runners.spark.cluster.driver_sinks import DriverSinks
from headrace.runners.spark.cluster.error_transport import unwrap
from headrace.runners.spark.query_progress import batch_numbers
from headrace.runners.spark.shuffle.wire import rows_of
from headrace.runners.spark.sources.watermarks_before import write_observed
from headrace.runners.spark.stream_setup import StreamSetup
from headrace.triggers.trigger import NEVER


class StreamDelivery:
    """Writes the batches of a run; Spark calls it with each.

    Args:
        setup: the set-up of the run.
        sinks: the sinks.
        observation: the observers.

    Attributes:
        error: the first error; it has the user's frames, which Spark's error of the query has not.
        done: set after the last batch.
        writing: held while a batch is written.
    """

    def __init__(self, setup: StreamSetup, sinks: DriverSinks, observation: RunObservers) -> None:
        self._setup = setup
        self._sinks = sinks
        self._observation = observation
        self.error: BaseException | None = None
        self.done = threading.Event()
        self.writing = threading.Lock()
        self.query: Any = None

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Write a batch."""
        with self.writing:
            try:
                self.check_owner()
                control = self._sinks.deliver(number, rows_of(frame.toArrow().to_batches()))
            except BaseException as error:
                self.fail(error)
                raise
            pa.default_memory_pool().release_unused()  # else it keeps what the largest batches needed
            self._setup.control.delivered.write_text(str(self._sinks.read_size))
            if control is not None:
                self._setup.control.resumes.write_text(str(control.resumes_at))
                write_observed(self._setup.control.observed, control, self._setup.manifest.observed)
                self._observe(control.now)
                if control.done and control.resumes_at == NEVER:
                    self.done.set()

    def check_owner(self) -> None:
        """Check that no other run has taken the checkpoint.

        Raises:
            LeaseLostError: another run has taken it.
        """
        if self._setup.lease is not None:
            self._setup.lease.check()

    def fail(self, error: BaseException) -> None:
        """Note an error, unless one is known already."""
        self.error = self.error or unwrap(error) or error

    def _observe(self, now: int) -> None:
        """Tell the observers of a batch."""
        if self._observation.is_on:
            observed, progress = self._sinks.observed, self.query and self.query.lastProgress
            engine = batch_numbers(progress) if progress else {}
            took = engine.get("batch seconds", 0.0)
            self._observation.round(
                now, self._sinks.metrics(), observed.state, observed.samples, engine, took
            )
