"""A run as one streaming query."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from headrace.runners.engine.observation import RunObservers
from headrace.runners.engine.progress import Progress
from headrace.runners.plan.planning import Plan
from headrace.runners.spark.cluster.error_transport import unwrapping
from headrace.runners.spark.cluster.session import Session
from headrace.runners.spark.signals import on_signals
from headrace.runners.spark.stream_delivery import StreamDelivery
from headrace.runners.spark.stream_query import POLL, StreamQuery
from headrace.runners.spark.stream_setup import set_up
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.result import PipelineResult, PipelineState
from headrace.sdk.pipelines.tracebacks import HiddenFrames

_LOG: Final = logging.getLogger(__name__)


class StreamRun(PipelineResult):
    """A run as one streaming query.

    Args:
        planned: the plan.
        options: see :mod:`headrace.runners.spark.cluster.options`.
        session: the Spark session.
    """

    def __init__(self, planned: Plan, options: PipelineOptions, session: Session) -> None:
        super().__init__(PipelineState.STARTING)
        standard = options.view_as(StandardOptions)
        self._hidden_frames = HiddenFrames(bool(standard.full_traceback))
        self._observation = RunObservers.of(options, planned, "spark", streaming=True)
        self._progress = Progress.of(options)
        self._ended = threading.Event()
        self._setup = set_up(planned, options, session)
        self._sinks = self._setup.sinks(self._progress)
        self._delivery = StreamDelivery(self._setup, self._sinks, self._observation)
        self._query = StreamQuery(self._setup, self._delivery, self._writer)

    def start(self) -> StreamRun:
        """Start the query; wait for its end if all sources are bounded."""
        if self._setup.manifest.finished:
            _LOG.warning(
                "already finished: the run of the checkpoint %s has read all its input; "
                "start with a new checkpoint to read again",
                self._setup.checkpoint.directory,
            )
            self._state = PipelineState.DONE
            self._clean_up()
            return self
        try:
            self._observation.start()
            self._start_query()
        except BaseException as error:
            self._observation.end(PipelineState.FAILED, error)
            self._clean_up()
            raise
        self._state = PipelineState.RUNNING
        threading.Thread(target=self._watch, name="headrace", daemon=True).start()
        if not self._setup.is_unbounded:
            self.wait_until_finish()
        return self

    def _start_query(self) -> None:
        with unwrapping():
            writer = self._writer()
            self._sinks.open()  # after the unopened sinks were pickled
            self._setup.checkpoint.write(self._setup.manifest)
            self._query.start(writer)

    def _writer(self) -> object:
        sampled = self._observation.sampled
        if sampled is None and self._progress.is_shown:
            sampled = frozenset()  # tasks tell the sizes of states
        return self._setup.writer(self._delivery, sampled)

    def wait_until_finish(self, duration: float | None = None) -> str:
        """Wait for the end of the run and return its state; Ctrl-C and SIGTERM stop it cleanly.

        Args:
            duration: maximum time to wait, in milliseconds; None for no limit.
        """
        limit = None if duration is None else time.monotonic() + duration / 1000
        with on_signals(self._query.stopping.set):
            while not self._ended.wait(POLL):
                if limit is not None and time.monotonic() > limit:
                    break
        if self._delivery.error is not None and self._state == PipelineState.FAILED:
            with self._hidden_frames:
                raise self._delivery.error
        return self.state

    def cancel(self) -> str:
        """Stop after the current batch and return the state; the checkpoint can be resumed."""
        self._query.stopping.set()
        return self.wait_until_finish()

    def drain(self) -> str:
        """Stop reading, advance the watermark to the end of time, and return the state."""
        if self._setup.control.directory.exists():  # else the run has ended
            self._setup.control.drain.touch()
        return self.wait_until_finish()

    def metrics(self) -> MetricResults:
        """Return the metrics since the run was started or resumed."""
        return self._sinks.metrics()

    @property
    def query(self) -> object:
        """Spark's StreamingQuery, with its progress; None if it was not started."""
        return self._query.spark_query

    def _watch(self) -> None:
        """Wait for the end of the query, and end the run."""
        try:
            with self._progress:
                state = self._query.wait()
        except BaseException as error:
            self._delivery.fail(error)
            state = PipelineState.FAILED
        self._end(self._close_sinks() if state == PipelineState.DONE else state)

    def _close_sinks(self) -> str:
        """Close the sinks after the last batch."""
        try:
            self._delivery.check_owner()
            self._sinks.close()
            self._setup.finish()
        except BaseException as error:
            self._delivery.error = error
            return PipelineState.FAILED
        return PipelineState.DONE

    def _end(self, state: str) -> None:
        if state == PipelineState.CANCELLED:
            self._delivery.error = None  # it follows from the stop
        self._state = state
        self._observation.end(state, self._delivery.error)
        self._clean_up()

    def _clean_up(self) -> None:
        with self._delivery.writing:  # a batch that was stopped may still be written
            if self._state != PipelineState.FAILED:
                self._query.unload_state()
            self._setup.release()
        self._ended.set()
