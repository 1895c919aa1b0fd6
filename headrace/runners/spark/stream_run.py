"""A run as one streaming query: its start, its end and its checkpoint."""

from __future__ import annotations

import logging
import math
import shutil
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
from pyspark.sql import DataFrame

from headrace.errors import LeaseLostError
from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.engine.observation import Observation
from headrace.runners.engine.progress import Progress
from headrace.runners.plan.execution_mode import has_test_stream, is_unbounded, round_size
from headrace.runners.plan.planning import Plan, with_side_input_files
from headrace.runners.spark import streaming
from headrace.runners.spark.cluster.driver_sinks import DriverSinks
from headrace.runners.spark.cluster.error_transport import WorkerStartError, unwrap, unwrapping
from headrace.runners.spark.cluster.job_labels import ui_label
from headrace.runners.spark.cluster.options import (
    SparkSettings,
    default_key_groups,
    spark_settings,
)
from headrace.runners.spark.cluster.session import (
    Session,
    session_of_run,
)
from headrace.runners.spark.query_progress import batch_numbers
from headrace.runners.spark.shuffle.wire import rows_of
from headrace.runners.spark.signals import on_signals
from headrace.runners.spark.sources.caught_up import CaughtUp
from headrace.runners.spark.sources.data_source import SourcePlan, source_frame
from headrace.runners.spark.sources.native import native_reads
from headrace.runners.spark.sources.worker_reads import worker_reads
from headrace.runners.spark.stage import stage_plans
from headrace.runners.spark.state.acquire_lease import acquire
from headrace.runners.spark.state.checkpoint_manifest import (
    Checkpoint,
    Manifest,
    manifest_of,
    resumed,
)
from headrace.runners.spark.state.lease import Lease
from headrace.runners.spark.state.run_directory import new_run_directory
from headrace.runners.spark.state.side_input_directory import (
    files_of_run,
    remove,
    retention_of,
)
from headrace.runners.spark.state.unloading import unload_state
from headrace.runners.spark.stopped_queries import (
    await_end_with_session,
    stop_by_error,
    stop_of_session,
)
from headrace.sdk.coders.stored.registered import Registrations
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.options.output_paths import check_directory
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.pipelines.result import PipelineResult, PipelineState
from headrace.sdk.pipelines.tracebacks import HiddenFrames

_LOG: Final = logging.getLogger(__name__)

BATCH_SECONDS: Final = 2.0
"""The target time of a micro-batch by default, in seconds, unless ``--trigger-interval`` is longer."""

HEARTBEAT: Final = 1.0
"""Maximum idle time between micro-batches, in seconds, unless ``--trigger-interval`` is longer."""

POLL: Final = 0.05
"""Seconds between checks of a query's progress."""

_GRACE: Final = 10.0
"""Maximum number of seconds in which a run that is replaced can end its batch."""


class StreamRun(PipelineResult):
    """A run as one streaming query.

    Args:
        planned: the plan.
        options: see :mod:`headrace.runners.spark.cluster.options`.
        session: the Spark session.
    """

    def __init__(self, planned: Plan, options: PipelineOptions, session: Session) -> None:
        super().__init__(PipelineState.STARTING)
        self._plan = planned
        self._unbounded = is_unbounded(planned.graph)
        self._session = session
        self._settings: SparkSettings = spark_settings(options)
        self._size = round_size(options, max(BATCH_SECONDS, self._settings.trigger_interval or 0))
        standard = options.view_as(StandardOptions)
        self._until_caught_up = bool(standard.until_caught_up)
        self._hidden_frames = HiddenFrames(bool(standard.full_traceback))
        self._observation = Observation.of(options, planned, "spark", streaming=True)
        self._progress = Progress.of(options)
        self._natives = native_reads(planned, session.spark, self._size.fixed)
        self._context: Any = session.spark.sparkContext._jsc
        self._query: Any = None
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._ended = threading.Event()
        self._stopping = threading.Event()
        self._delivering = threading.Lock()
        self._files: SideInputFiles | None = None
        self._lease: Lease | None = None
        self._directory = new_run_directory()
        self._checkpoint = Checkpoint(
            session.spark, self._settings.checkpoint or str(self._directory / "checkpoint")
        )
        try:
            self._lease = self._take_lease()
            self._manifest = self._resume()
            self._sinks = self._prepare_sinks()
        except BaseException:
            self._clean_up()
            raise

    def _take_lease(self) -> Lease | None:
        """Take the checkpoint; a run that cannot be resumed has one of its own."""
        if not self._settings.checkpoint:
            return None
        jvm: Any = self._session.spark._jvm
        lease = acquire(
            self._checkpoint.lease_files(),
            self._checkpoint.directory,
            replace=self._settings.replace_run,
            jvm=jvm.java.lang.ProcessHandle.current().pid(),
        )
        lease.is_active = self._is_active
        lease.keep()
        return lease

    def _prepare_sinks(self) -> DriverSinks:
        """Choose where side inputs have their files, and return the sinks."""
        planned, settings, session = self._plan, self._settings, self._session
        resumable = self._checkpoint if settings.checkpoint else None
        self._files = files_of_run(planned, settings, session.is_local, resumable)
        self._plan = with_side_input_files(planned, self._files)
        retention = retention_of(planned, self._files, self._manifest.key_groups, session.spark)
        return DriverSinks(
            planned, self._run_name, streaming=True, progress=self._progress, retention=retention
        )

    def start(self) -> StreamRun:
        """Start the query; wait for its end if all sources are bounded."""
        if self._manifest.finished:
            _LOG.warning(
                "already finished: the run of the checkpoint %s has read all its input; "
                "start with a new checkpoint to read again",
                self._checkpoint.directory,
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
        if not self._unbounded:
            self.wait_until_finish()
        return self

    def _start_query(self) -> None:
        with unwrapping():
            writer = self._writer()
            self._sinks.open()  # after the unopened sinks were pickled
            self._checkpoint.write(self._manifest)
            self._query = writer.start()

    def wait_until_finish(self, duration: float | None = None) -> str:
        """Wait for the end of the run and return its state; Ctrl-C and SIGTERM stop it cleanly.

        Args:
            duration: maximum time to wait, in milliseconds; None for no limit.
        """
        limit = None if duration is None else time.monotonic() + duration / 1000
        with on_signals(self._stopping.set):
            while not self._ended.wait(POLL):
                if limit is not None and time.monotonic() > limit:
                    break
        if self._error is not None and self._state == PipelineState.FAILED:
            with self._hidden_frames:
                raise self._error
        return self.state

    def cancel(self) -> str:
        """Stop after the current batch and return the state; the checkpoint can be resumed."""
        self._stopping.set()
        return self.wait_until_finish()

    def drain(self) -> str:
        """Stop reading, advance the watermark to the end of time, and return the state."""
        if self._directory.exists():  # else the run has ended
            self._drain_file.touch()
        return self.wait_until_finish()

    def metrics(self) -> MetricResults:
        """Return the metrics since the run was started or resumed."""
        return self._sinks.metrics()

    @property
    def query(self) -> Any:
        """Spark's StreamingQuery, with its progress; None if it was not started."""
        return self._query

    @property
    def _run_name(self) -> str:
        """The name of the run for sinks; empty without a checkpoint, because it cannot be resumed then."""
        return self._manifest.run if self._settings.checkpoint else ""

    @property
    def _drains_when_caught_up(self) -> bool:
        """Whether sources that Spark reads must be drained, since they do not end by themselves."""
        return self._until_caught_up and bool(self._natives)

    @property
    def _drain_file(self) -> Path:
        return self._directory / "drain"

    @property
    def _pause_file(self) -> Path:
        return self._directory / "pause"

    @property
    def _delivered_file(self) -> Path:
        """The size of what workers have read in the last batch, for the process that reads the sources."""
        return self._directory / "delivered"

    def _resume(self) -> Manifest:
        if self._checkpoint.local_directory is not None:
            check_directory(self._checkpoint.local_directory, "--checkpoint")
        before = self._checkpoint.read()
        groups, spark = self._settings.key_groups, self._session.spark.version
        if before is None:
            cores = self._session.cores
            groups = groups or (default_key_groups(cores) if self._settings.checkpoint else cores)
            return manifest_of(self._plan, groups, min(groups, cores), spark)
        now = manifest_of(self._plan, groups or before.key_groups, before.partitions, spark)
        return resumed(before, now, self._checkpoint.directory)

    def _conf(self) -> dict[str, str]:
        return {
            "spark.sql.shuffle.partitions": str(self._manifest.partitions),
            **self._checkpoint.conf,
        }

    def _writer(self) -> Any:
        spark, settings = session_of_run(self._session.spark, self._conf()), self._settings
        labels = tuple(native.read.label for native in self._natives)
        nodes = enumerate(self._plan.graph)
        interval = settings.trigger_interval or 0
        workers = worker_reads(self._plan, self._manifest.observed)
        plan = SourcePlan(
            reads=tuple(
                (index, node)
                for index, node in nodes
                if isinstance(node, Read) and node.label not in labels
            ),
            limit=self._size.bound,
            seconds=self._size.seconds,
            delivered=str(self._delivered_file),
            waits=bool(interval),
            heartbeat=int(max(HEARTBEAT, interval) * 1_000_000),
            width=self._session.cores,
            drain=str(self._drain_file),
            pause=str(self._pause_file),
            natives=labels,
            until_caught_up=self._until_caught_up,
            workers=workers,
            no_pickle=self._plan.no_pickle,
            classes=Registrations.of_this_process(),
        )
        groups, sampled = self._manifest.key_groups, self._observation.sampled
        if sampled is None and self._progress.is_shown:
            sampled = frozenset()  # tasks tell the sizes of states
        stages = stage_plans(self._plan, groups, batch=False, sampled=sampled)
        rows = streaming.lower(
            partial(source_frame, spark, plan),
            stages,
            self._manifest.place,
            self._run_name,
            self._natives,
            workers.observed,
        )
        writer = rows.writeStream.queryName(ui_label(self._plan)).foreachBatch(self._deliver)
        writer = writer.option("checkpointLocation", self._checkpoint.directory)
        if interval:
            writer = writer.trigger(processingTime=f"{int(interval * 1000)} milliseconds")
        return writer

    def _deliver(self, frame: DataFrame, number: int) -> None:
        """Write a batch to the sinks; called by Spark."""
        with self._delivering:
            self._deliver_as_owner(frame, number)

    def _deliver_as_owner(self, frame: DataFrame, number: int) -> None:
        try:
            if self._lease is not None:
                self._lease.check()
            control = self._sinks.deliver(number, rows_of(frame.toArrow().to_batches()))
        except BaseException as error:
            self._error = self._error or unwrap(error) or error
            raise
        self._delivered_file.write_text(str(self._sinks.read_size))
        if control is not None:
            self._observe(control.now)
            if control.done:
                self._done.set()

    def _observe(self, now: int) -> None:
        """Tell the observers of a batch."""
        if self._observation.is_on:
            observed, progress = self._sinks.observed, self._query and self._query.lastProgress
            engine = batch_numbers(progress) if progress else {}
            took = engine.get("batch seconds", 0.0)
            state, samples = observed.state, observed.samples
            self._observation.round(now, self.metrics(), state, samples, engine, took)

    def _watch(self) -> None:
        """Wait for the end of the query, or stop it."""
        try:
            with self._progress:
                self._await_query()
        except BaseException as error:
            stop = None if self._lost_lease(error) else stop_by_error(error, self._context)
            if stop is None:
                self._error = self._error or unwrap(error) or error
                self._end(PipelineState.FAILED)
            else:
                self._cancelled(stop)
                self._end(PipelineState.CANCELLED)
        else:
            self._end(self._state)

    def _lost_lease(self, error: BaseException) -> bool:
        return isinstance(self._error or error, LeaseLostError)

    def _await_query(self) -> None:
        """Wait for the end of the query; start it again if a worker did not start in time."""
        tried = 0
        while True:
            try:
                self._await_running_query()
                return
            except Exception as error:
                tried = tried + 1 if self._batch() is None else 1
                if tried > self._settings.batch_retries or not _can_be_tried_again(error):
                    raise
                _LOG.warning("%s; the batch is tried again", unwrap(error))
            self._error = None
            self._query = self._writer().start()

    def _await_running_query(self) -> None:
        caught_up = CaughtUp(frozenset(native.read.label for native in self._natives))
        if has_test_stream(self._plan.graph) and not self._unbounded:
            script = partial(self._await_end_of_script, self._query)
            threading.Thread(target=script, name="headrace-script", daemon=True).start()
        while not self._query.awaitTermination(POLL):
            session_stop = stop_of_session(self._context)
            if session_stop is not None:
                self._cancelled(session_stop)
                await_end_with_session(self._query)
                return
            progress = self._query.lastProgress if self._drains_when_caught_up else None
            if caught_up.observe(progress and progress.json):
                self._drain_file.touch()
            if self._must_stop():
                return
            if self._done.is_set():
                self._finish_query()
                return
        if not self._done.is_set():
            self._cancelled(stop_of_session(self._context) or "its query was stopped")

    def _await_end_of_script(self, query: Any) -> None:
        """Note that a script has ended: one without the end of time does not finish its source."""
        with suppress(Exception):  # the other thread reports errors of the query
            query.processAllAvailable()
            if query.isActive:
                self._done.set()

    def _must_stop(self) -> bool:
        """Stop the query if this was asked for; return whether it was.

        Raises:
            LeaseLostError: another run has taken the checkpoint.
        """
        if self._lease is not None and self._lease.lost is not None:
            self._query.stop()
            raise self._lease.lost
        if self._lease is not None and self._lease.asked.is_set():
            self._stop(_GRACE)
            self._cancelled("another run has replaced it")
            return True
        if self._stopping.is_set():
            self._stop()
            self._state = PipelineState.CANCELLED
            return True
        return False

    def _cancelled(self, reason: str) -> None:
        """Note that the run was stopped, but not by this program's call of ``cancel``."""
        self._state = PipelineState.CANCELLED
        _LOG.warning("the run was cancelled from outside: %s", reason)

    def _finish_query(self) -> None:
        """Stop the query after its last batch."""
        if not self._manifest.natives:  # a source that Spark reads can be unbounded
            self._query.processAllAvailable()
            self._query.stop()
            return
        self._stop()

    def _stop(self, limit: float = math.inf) -> None:
        """Stop the query between two batches, or after a number of seconds."""
        self._pause_file.touch()
        running, end = self._batch(), time.monotonic() + limit
        while self._query.isActive and self._query.status["isTriggerActive"]:
            if self._batch() != running:  # sources that Spark reads do not pause
                break
            if time.monotonic() > end:
                break
            time.sleep(POLL)
        if not self._query.isActive:
            self._query.awaitTermination(POLL)  # raises the error of the failed batch
        self._query.stop()

    def _is_active(self) -> bool:
        """Return whether the run goes on; False as soon as it is stopped from outside."""
        query = self._query
        return query is None or (query.isActive and stop_of_session(self._context) is None)

    def _batch(self) -> int | None:
        """Return the number of the last completed batch."""
        progress = self._query.lastProgress
        return None if progress is None else progress["batchId"]

    def _end(self, state: str) -> None:
        if state == PipelineState.RUNNING:
            state = self._close_sinks()
        if state == PipelineState.CANCELLED:
            self._error = None  # it follows from the stop
        self._state = state
        self._observation.end(self._state, self._error)
        self._clean_up()

    def _clean_up(self) -> None:
        with self._delivering:  # a batch that was stopped may still be written
            self._unload_state()
            shutil.rmtree(self._directory, ignore_errors=True)
            if not self._settings.checkpoint:
                remove(self._files)
            if self._lease is not None:
                self._lease.release()
        self._ended.set()

    def _unload_state(self) -> None:
        """Keep Spark from writing state into the directory after it was deleted.

        The state of a failed query may still be in use; that of a stopped session cannot be unloaded.
        """
        if self._settings.checkpoint or self._query is None or self._state == PipelineState.FAILED:
            return
        levels, partitions = self._manifest.levels, self._manifest.partitions
        directory = self._checkpoint.directory
        with suppress(
            Exception
        ):  # the names are private to Spark; the directory is deleted at exit too
            unload_state(self._session.spark, self._query, directory, levels, partitions)

    def _close_sinks(self) -> str:
        """Close the sinks after the last batch."""
        try:
            if self._lease is not None:
                self._lease.check()
            self._sinks.close()
            if self._settings.checkpoint:
                self._checkpoint.write(attrs.evolve(self._manifest, finished=True))
                remove(self._files)  # a finished run is not resumed
        except BaseException as error:
            self._error = error
            return PipelineState.FAILED
        return PipelineState.DONE


def _can_be_tried_again(error: Exception) -> bool:
    return isinstance(unwrap(error), WorkerStartError)
