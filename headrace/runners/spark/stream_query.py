"""Spark's query of a streaming run: its start, further tries of a batch, and its end."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from headrace.errors import LeaseLostError
from headrace.runners.plan.execution_mode import has_test_stream
from headrace.runners.spark.cluster.error_transport import WorkerStartError, unwrap
from headrace.runners.spark.sources.caught_up import CaughtUp
from headrace.runners.spark.state.unloading import unload_state
from headrace.runners.spark.stopped_queries import (
    await_end_with_session,
    stop_by_error,
    stop_of_session,
)
from headrace.runners.spark.stream_delivery import StreamDelivery
from headrace.runners.spark.stream_setup import StreamSetup
from headrace.sdk.pipelines.result import PipelineState

_LOG: Final = logging.getLogger(__name__)

POLL: Final = 0.05
"""Seconds between checks of a query's progress."""

_GRACE: Final = 10.0
"""Maximum number of seconds in which a run that is replaced can end its batch."""


class StreamQuery:
    """Spark's query of a run.

    Args:
        setup: the set-up of the run.
        delivery: writes the batches.
        writer: makes the writer of the query.

    Attributes:
        spark_query: Spark's StreamingQuery; None before the start.
        stopping: set by the program to end the query after the current batch.
    """

    def __init__(
        self, setup: StreamSetup, delivery: StreamDelivery, writer: Callable[[], Any]
    ) -> None:
        self._setup = setup
        self._delivery = delivery
        self._writer = writer
        self._context: Any = setup.session.spark.sparkContext._jsc
        self.spark_query: Any = None
        self.stopping = threading.Event()
        if setup.lease is not None:
            setup.lease.is_active = self._is_active

    def start(self, writer: Any) -> None:
        """Start the query."""
        self.spark_query = self._delivery.query = writer.start()

    def wait(self) -> str:
        """Wait for the end of the query, or stop it; return the state of the run, DONE or CANCELLED.

        Raises:
            BaseException: the query has failed.
        """
        try:
            return self._wait_with_retries()
        except BaseException as error:
            lost = isinstance(self._delivery.error or error, LeaseLostError)
            reason = None if lost else stop_by_error(error, self._context)
            if reason is None:
                raise
            return _cancelled(reason)

    def _wait_with_retries(self) -> str:
        """Wait for the end of the query; start it again if a worker did not start in time."""
        tried = 0
        while True:
            try:
                return self._wait()
            except Exception as error:
                tried = tried + 1 if self._batch() is None else 1
                can_try_again = isinstance(unwrap(error), WorkerStartError)
                if tried > self._setup.settings.batch_retries or not can_try_again:
                    raise
                _LOG.warning("%s; the batch is tried again", unwrap(error))
            self._delivery.error = None
            self.start(self._writer())

    def _wait(self) -> str:
        query, setup = self.spark_query, self._setup
        caught_up = CaughtUp(frozenset(native.read.label for native in setup.natives))
        if has_test_stream(setup.plan.graph) and not setup.is_unbounded:
            script = partial(self._await_end_of_script, query)
            threading.Thread(target=script, name="headrace-script", daemon=True).start()
        while not query.awaitTermination(POLL):
            session_stop = stop_of_session(self._context)
            if session_stop is not None:
                await_end_with_session(query)
                return _cancelled(session_stop)
            progress = query.lastProgress if setup.drains_when_caught_up else None
            if caught_up.observe(progress and progress.json):
                setup.control.drain.touch()
            if self._is_told_to_stop():
                return PipelineState.CANCELLED
            if self._delivery.done.is_set():
                self._finish()
                return PipelineState.DONE
        if self._delivery.done.is_set():
            return PipelineState.DONE
        return _cancelled(stop_of_session(self._context) or "its query was stopped")

    def _await_end_of_script(self, query: Any) -> None:
        """Note that a script has ended: one without the end of time does not finish its source."""
        with suppress(Exception):  # the other thread reports errors of the query
            query.processAllAvailable()
            if query.isActive:
                self._delivery.done.set()

    def _is_told_to_stop(self) -> bool:
        """Stop the query if this was asked for; return whether it was.

        Raises:
            LeaseLostError: another run has taken the checkpoint.
        """
        lease = self._setup.lease
        if lease is not None and lease.lost is not None:
            self.spark_query.stop()
            raise lease.lost
        if lease is not None and lease.asked.is_set():
            self._stop(_GRACE)
            _cancelled("another run has replaced it")
            return True
        if self.stopping.is_set():
            self._stop()
            return True
        return False

    def _finish(self) -> None:
        """Stop the query after its last batch."""
        if self._setup.manifest.natives:  # a source that Spark reads can be unbounded
            self._stop()
        else:
            self.spark_query.processAllAvailable()
            self.spark_query.stop()

    def _stop(self, limit: float = math.inf) -> None:
        """Stop the query between two batches, or after a number of seconds."""
        self._setup.control.pause.touch()
        query = self.spark_query
        running, end = self._batch(), time.monotonic() + limit
        while query.isActive and query.status["isTriggerActive"]:
            if self._batch() != running:  # sources that Spark reads do not pause
                break
            if time.monotonic() > end:
                break
            time.sleep(POLL)
        if not query.isActive:
            query.awaitTermination(POLL)  # raises the error of the failed batch
        query.stop()

    def _is_active(self) -> bool:
        """Return whether the run goes on; False as soon as it is stopped from outside."""
        query = self.spark_query
        return query is None or (query.isActive and stop_of_session(self._context) is None)

    def _batch(self) -> int | None:
        """Return the number of the last completed batch."""
        progress = self.spark_query.lastProgress
        return None if progress is None else progress["batchId"]

    def unload_state(self) -> None:
        """Keep Spark from writing state into the checkpoint of this run after it was deleted.

        The state of a stopped session cannot be unloaded.
        """
        if self._setup.is_resumable or self.spark_query is None:
            return
        manifest, directory = self._setup.manifest, self._setup.checkpoint.directory
        # The names are private to Spark; the directory is deleted at exit too.
        with suppress(Exception):
            unload_state(
                self._setup.session.spark,
                self.spark_query,
                directory,
                manifest.levels,
                manifest.partitions,
            )


def _cancelled(reason: str) -> str:
    """Log that the run was stopped, but not by this program's call of ``cancel``."""
    _LOG.warning("the run was cancelled from outside: %s", reason)
    return PipelineState.CANCELLED
