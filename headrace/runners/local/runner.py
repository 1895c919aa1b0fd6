"""The local runner: in memory, in this process, the reference for every other runner.

A pipeline with bounded sources alone runs in one round, unless it is told to stream. A pipeline with test
streams runs a round for each event of their scripts, by the scripts' clock. Anything else runs round after
round by the wall's clock, until its sources end or it is told to stop.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event, Thread
from typing import Final

from headrace.runners.error_context import failing_in_each
from headrace.runners.execution_mode import is_streaming, is_unbounded, records_at_once
from headrace.runners.executor import Executor
from headrace.runners.gc_tuning import rarely_collected
from headrace.runners.local.clock import WallClock
from headrace.runners.operators import operators_of
from headrace.runners.planning import plan
from headrace.runners.progress import Progress
from headrace.runners.source_bundles import all_bundles_of
from headrace.runners.source_positions import drained
from headrace.runners.source_rounds import SourceRounds
from headrace.sdk.graph import Graph, Read
from headrace.sdk.metrics import MetricResults
from headrace.sdk.options import PipelineOptions, StandardOptions
from headrace.sdk.result import PipelineResult, PipelineState
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import MAX_MICROS

IDLE_SECONDS: Final = 0.05
"""How long to wait before sources that had nothing are asked again."""


def run(graph: Graph, options: PipelineOptions) -> PipelineResult:
    """Run a graph; return at its end, or at once if one of its sources need not end.

    Args:
        graph: what to run.
        options: of these, ``--streaming``, ``--progress`` and ``--max-records-per-batch`` count here.

    Raises:
        UnsupportedError: the graph holds a node that this runner does not know.
        PipelineError: an option makes no sense.
    """
    return LocalRun(graph, options).start()


class LocalRun(PipelineResult):
    """A run in this process.

    Args:
        graph: what to run.
        options: see :func:`run`.
    """

    def __init__(self, graph: Graph, options: PipelineOptions) -> None:
        super().__init__(PipelineState.STARTING)
        standard = options.view_as(StandardOptions)
        self._reads = tuple(node for node in graph if isinstance(node, Read))
        self._endless = is_unbounded(graph)
        self._batch = not is_streaming(graph, options)
        self._clock = WallClock()
        self._executor = Executor(graph.nodes, operators_of(plan(graph), self._batch))
        self._limit = records_at_once(options)
        self._progress = Progress(standard.progress)
        self._cancelled, self._drained = Event(), Event()
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def start(self) -> LocalRun:
        """Run: to the end, or in the background if a source need not end."""
        self._state = PipelineState.RUNNING
        if self._endless:
            self._thread = Thread(target=self._run_aside, name="headrace", daemon=True)
            self._thread.start()
        else:
            self._run()
        return self

    def wait_until_finish(self, duration: float | None = None) -> str:
        """Wait for the end of the run and return its state.

        Args:
            duration: milliseconds to wait at most; None for as long as it takes.
        """
        if self._thread is not None:
            self._thread.join(None if duration is None else duration / 1000)
        if self._error is not None:
            raise self._error
        return self.state

    def cancel(self) -> str:
        """Stop after the running round and return the state; what has not been fired is lost."""
        self._cancelled.set()
        return self.wait_until_finish()

    def drain(self) -> str:
        """Read no further, let the watermark go to the end of time, and return the state."""
        self._drained.set()
        return self.wait_until_finish()

    def metrics(self) -> MetricResults:
        """Return what has been counted until now."""
        return self._executor.metrics()

    def _run_aside(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self._error = error

    def _run(self) -> None:
        try:
            self._executor.open()
            with self._progress, rarely_collected():
                (self._read_all if self._batch else self._read_rounds)()
            if not self._cancelled.is_set():
                self._executor.finish()
            self._state = self._final_state()
        except BaseException:
            self._state = PipelineState.FAILED
            raise
        finally:
            self._executor.release()

    def _final_state(self) -> str:
        return PipelineState.CANCELLED if self._cancelled.is_set() else PipelineState.DONE

    def _read_all(self) -> None:
        """Read all sources in one round."""
        for node in self._reads:
            self._feed(node, failing_in_each(node.label, all_bundles_of(node.source)))
        ends = {node.label: MAX_MICROS for node in self._reads}
        self._executor.end_round(ends, self._clock.now())

    def _read_rounds(self) -> None:
        """Run rounds until all sources have come to their ends, or the run is cancelled."""
        rounds = SourceRounds(self._reads, self._limit, heartbeat=0, wall=self._clock.now)
        position = rounds.start()
        while not self._cancelled.is_set():
            position, bundles = (
                (drained(position), {}) if self._drained.is_set() else rounds.read(position)
            )
            fed = sum(self._feed(node, bundles.get(node.label, ())) for node in self._reads)
            self._executor.end_round(position.watermarks, position.now)
            if rounds.is_finished(position):
                return
            if not fed and not rounds.scripted:
                self._clock.idle(IDLE_SECONDS)

    def _feed(self, node: Read, bundles: Iterable[Bundle]) -> int:
        """Feed bundles of a source, and return the number of elements."""
        fed = 0
        for bundle in bundles:
            self._executor.feed(node, bundle)
            self._progress.advance(len(bundle))
            fed += len(bundle)
        return fed
