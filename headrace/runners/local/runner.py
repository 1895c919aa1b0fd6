"""The local runner: in memory, in this process, the reference for every other runner.

A pipeline with bounded sources alone runs in one round, unless it is told to stream. A pipeline with test
streams runs a round for each event of their scripts, by the scripts' clock. Anything else runs round after
round by the wall's clock, until its sources end or it is told to stop.
"""

from __future__ import annotations

from threading import Event, Thread
from typing import Final

from headrace.runners.error_context import failing_in_each
from headrace.runners.execution_mode import (
    has_test_stream,
    is_streaming,
    is_unbounded,
    records_at_once,
)
from headrace.runners.executor import Executor
from headrace.runners.gc_tuning import rarely_collected
from headrace.runners.local.clock import ProcessingClock, ScriptedClock, WallClock
from headrace.runners.local.feeding import feed_for
from headrace.runners.operators import operators_of
from headrace.runners.planning import plan
from headrace.runners.progress import Progress
from headrace.sdk.graph import Graph, Read
from headrace.sdk.metrics import MetricResults
from headrace.sdk.options import PipelineOptions, StandardOptions
from headrace.sdk.result import PipelineResult, PipelineState

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
        reads = [node for node in graph if isinstance(node, Read)]
        self._endless = is_unbounded(graph)
        batch = not is_streaming(graph, options)
        self._clock: ProcessingClock = ScriptedClock() if has_test_stream(graph) else WallClock()
        planned = plan(graph)
        self._executor = Executor(graph.nodes, operators_of(planned, batch))
        limit = records_at_once(options)
        self._feeds = [(node, feed_for(node, batch, self._clock, limit)) for node in reads]
        self._progress = Progress(standard.progress)
        self._cancelled = Event()
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
        for _, feed in self._feeds:
            feed.drain()
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
                self._rounds()
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

    def _rounds(self) -> None:
        """Run rounds until all sources are done, or the run is cancelled."""
        while not self._cancelled.is_set():
            heard = self._hear_all()
            done = all(feed.done for _, feed in self._feeds)  # before its watermark is looked at
            watermarks = {node.label: feed.watermark for node, feed in self._feeds}
            self._executor.end_round(watermarks, self._clock.now())
            if done:
                return
            if not heard:
                self._clock.idle(IDLE_SECONDS)

    def _hear_all(self) -> int:
        """Ask all sources what they have for a round, and return how many elements that was."""
        heard = 0
        for node, feed in self._feeds:
            for bundle in failing_in_each(node.label, feed.poll(self._clock.now())):
                self._executor.feed(node, bundle)
                self._progress.advance(len(bundle))
                heard += len(bundle)
        return heard
