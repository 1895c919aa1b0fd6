"""The local runner: in memory, in this process; the reference for all other runners.

In batch mode there is one round. In streaming mode there are rounds by the wall clock, until all sources end
or the run is cancelled or drained; with test streams there is one round for each event of their scripts,
which also set the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial
from threading import Event, Thread
from time import perf_counter
from typing import Final

from headrace.grouping.bundle import Bundle
from headrace.runners.checks.timestamp_checks import TimestampWarnings
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.engine.executor import Executor
from headrace.runners.engine.gc_tuning import infrequent_gc
from headrace.runners.engine.observation import RunObservers
from headrace.runners.engine.operators import operators_of
from headrace.runners.engine.progress import Progress
from headrace.runners.engine.stored_elements import checked
from headrace.runners.local.clock import WallClock
from headrace.runners.plan.execution_mode import is_streaming, is_unbounded, round_size
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_fields import reads_of
from headrace.runners.plan.table_steps import tables_read, with_tables
from headrace.runners.sources.source_bundles import all_bundles_of
from headrace.runners.sources.source_positions import Position, drained
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.observing.options import check_run
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.graph import Graph, Read
from headrace.sdk.pipelines.result import PipelineResult, PipelineState
from headrace.sdk.pipelines.tracebacks import HiddenFrames
from headrace.sdk.sources.source import BoundedSource
from headrace.triggers.trigger import NEVER
from headrace.windowing.time.timestamps import MAX_MICROS

IDLE_SECONDS: Final = 0.05
"""The pause after a round without records, in seconds."""


def run(graph: Graph, options: PipelineOptions) -> PipelineResult:
    """Run a graph; return when it ends, or at once if a source is unbounded.

    Args:
        graph: the graph to run.
        options: this runner uses ``--streaming``, ``--progress``, ``--max_records_per_batch``,
            ``--batch_seconds`` and ``--until_caught_up``.

    Raises:
        UnsupportedError: the graph has a kind of node that this runner does not support.
        PipelineError: an option is invalid.
    """
    check_run(options)
    return LocalRun(graph, options).start()


class LocalRun(PipelineResult):
    """A run in this process.

    Args:
        graph: the graph to run.
        options: see :func:`run`.
    """

    def __init__(self, graph: Graph, options: PipelineOptions) -> None:
        super().__init__(PipelineState.STARTING)
        standard = options.view_as(StandardOptions)
        self._unbounded = is_unbounded(graph)
        self._batch = not is_streaming(graph, options)
        self._clock = WallClock()
        planned = with_tables(
            plan(graph, bool(standard.check_mutation), bool(standard.no_pickle)),
            Execution.BATCH if self._batch else Execution.STREAMING,
        )
        self._reads = reads_of(planned)
        self._tables = tables_read(planned)
        self._observation = RunObservers.of(options, planned, "local", not self._batch)
        operators = operators_of(planned, self._batch)
        self._executor = Executor(
            graph.nodes,
            operators,
            self._observation.sampled or (),
            partial(checked, planned=planned, batch=self._batch),
        )
        self._warnings = TimestampWarnings()
        self._size = round_size(options, seconds=0.0)
        self._until_caught_up = bool(standard.until_caught_up)
        self._progress = Progress.of(options)
        self._rounds: int | None = None
        self._hidden_frames = HiddenFrames(bool(standard.full_traceback))
        self._cancelled, self._drained = Event(), Event()
        self._began = 0.0
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def start(self) -> LocalRun:
        """Run to the end, or in the background if a source is unbounded."""
        self._observation.start()
        self._state = PipelineState.RUNNING
        if self._unbounded:
            self._thread = Thread(target=self._run_in_thread, name="headrace", daemon=True)
            self._thread.start()
        else:
            self._run()
        return self

    def wait_until_finish(self, duration: float | None = None) -> str:
        """Wait for the end of the run, and return its state.

        Args:
            duration: maximum time to wait, in milliseconds; None to wait until the end.
        """
        if self._thread is not None:
            self._thread.join(None if duration is None else duration / 1000)
        if self._error is not None:
            with self._hidden_frames:
                raise self._error
        return self.state

    def cancel(self) -> str:
        """Stop after the current round, and return the state; elements that were not fired are lost."""
        self._cancelled.set()
        return self.wait_until_finish()

    def drain(self) -> str:
        """Stop reading, advance the watermark to the end of time, and return the state."""
        self._drained.set()
        return self.wait_until_finish()

    def metrics(self) -> MetricResults:
        """Return the metrics so far."""
        return self._executor.metrics()

    def _run_in_thread(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self._error = error

    def _run(self) -> None:
        try:
            self._executor.open()
            with self._progress, infrequent_gc():
                (self._read_all if self._batch else self._read_rounds)()
            if not self._cancelled.is_set():
                self._executor.finish()
            self._state = self._final_state()
        except BaseException as error:
            self._state = PipelineState.FAILED
            self._observation.end(self._state, error)
            raise
        finally:
            self._executor.release()
        self._observation.end(self._state)

    def _end_round(self, watermarks: Mapping[str, int], now: int) -> None:
        executor = self._executor
        executor.end_round(watermarks, now)
        executor.finalize()
        if self._progress.is_due:
            sizes = executor.state().values()
            self._progress.end_batch(
                self._rounds, min(watermarks.values(), default=None), sum(sizes)
            )
        self._warnings.warn(executor.steps)
        if self._observation.is_on:
            samples, state = executor.take_samples(now), executor.state()
            took = perf_counter() - self._began
            self._observation.round(now, executor.metrics(), state, samples, seconds=took)

    def _final_state(self) -> str:
        return PipelineState.CANCELLED if self._cancelled.is_set() else PipelineState.DONE

    def _read_all(self) -> None:
        """Read all sources in one round."""
        self._began = perf_counter()
        for node in self._reads:
            assert isinstance(node.source, BoundedSource)  # batch mode has no others
            bundles = all_bundles_of(node.source, tables=node.label in self._tables)
            self._feed(node, self._executor.reading(node, bundles))
        ends = {node.label: MAX_MICROS for node in self._reads}
        self._end_round(ends, self._clock.now())

    def _read_rounds(self) -> None:
        """Run rounds until all sources are finished, or the run is cancelled."""
        rounds = SourceRounds(
            self._reads,
            self._size.bound,
            heartbeat=0,
            until_caught_up=self._until_caught_up,
            wall=self._clock.now,
            seconds=self._size.seconds,
            tables=self._tables,
        )
        with closing(rounds):
            self._run_rounds(rounds)

    def _run_rounds(self, rounds: SourceRounds) -> None:
        position = rounds.start()
        while not self._cancelled.is_set():
            self._began = perf_counter()
            drain = self._drained.is_set()
            position, bundles = (drained(position), {}) if drain else rounds.read(position)
            self._executor.note_drain(drain)
            lags = rounds.lags()
            fed = sum(self._feed(node, bundles.get(node.label, ())) for node in self._reads)
            self._rounds = position.round
            self._executor.note_recorded(rounds.recorded())
            for node in self._reads:
                self._executor.note_lags(node, lags.get(node.label, ()))
            self._end_round(position.watermarks, position.now)
            rounds.committed(position)
            if rounds.is_finished(position):
                self._finish_restrictions(position, rounds.scripted)
                return
            if not (fed or rounds.scripted or self._executor.resumes_at <= position.now):
                self._clock.idle(IDLE_SECONDS)

    def _finish_restrictions(self, position: Position, scripted: bool) -> None:
        """Run rounds without sources until all restrictions have ended, or the run is cancelled.

        After a script the clock goes to the time at which the next restriction goes on. A run until it has
        caught up is drained as soon as all restrictions wait.
        """
        now, draining = position.now, position.draining
        while self._executor.resumes_at != NEVER and not self._cancelled.is_set():
            self._began = perf_counter()
            resumes = self._executor.resumes_at
            now = max(now, resumes if scripted else self._clock.now())
            waits = resumes > now
            drain = self._drained.is_set() or (self._until_caught_up and waits)
            if waits and (draining or not drain):
                self._clock.idle(IDLE_SECONDS)
                continue
            draining = draining or drain
            self._executor.note_drain(draining)
            self._end_round(position.watermarks, now)

    def _feed(self, node: Read, bundles: Iterable[Bundle]) -> int:
        """Feed bundles of a source, and return the number of elements."""
        fed = 0
        for bundle in bundles:
            self._executor.feed(node, bundle)
            self._progress.advance(len(bundle))
            fed += len(bundle)
        return fed
