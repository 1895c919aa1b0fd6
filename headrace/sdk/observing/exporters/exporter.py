"""Exporters of metrics: observers that pass the metrics of a run on, at most every few seconds."""

from __future__ import annotations

import math
from time import monotonic

from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.metrics.run_records import Round, RunOutline


class MetricsExporter(RunObserver):
    """Exports the metrics of a run; subclass it and define :meth:`export`.

    Attributes:
        interval: minimum number of seconds between two exports.
        run: the run; None before its start.
        last: the last round; None before the end of the first one.
        rounds: number of rounds.

    >>> class Printer(MetricsExporter):
    ...     interval = 60
    ...
    ...     def export(self, metrics, run):
    ...         print(run.runner, metrics.steps["Double"].elements_out)
    >>> with Pipeline(observers=[Printer()]) as p:  # one round, and the end
    ...     _ = p | Create([3, 4]) | "Double" >> Map(lambda x: 2 * x)
    local 2
    local 2
    """

    interval: float = 10.0
    run: RunOutline | None = None
    last: Round | None = None
    rounds: int = 0
    _due: float = -math.inf

    def start(self, run: RunOutline) -> None:
        """Begin a run."""
        self.run, self.last, self.rounds, self._due = run, None, 0, -math.inf

    def round(self, done: Round) -> None:
        """Note a round; export if the interval is over."""
        self.last = done
        self.rounds += 1
        now = self.clock()
        if now >= self._due:
            self._due = now + self.interval
            self._export()

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Export the metrics of the whole run."""
        self._export()

    def clock(self) -> float:
        """Return the seconds of a clock that never goes back."""
        return monotonic()

    def _export(self) -> None:
        if self.run is not None and self.last is not None:
            self.export(self.last.totals, self.run)

    def export(self, metrics: MetricResults, run: RunOutline) -> None:
        """Export metrics; called after the first round, then every ``interval`` seconds at most, and last.

        It is called between two rounds, so it should return soon. An error is logged, and the run goes on.

        Args:
            metrics: the metrics since the start of the run. The next rounds change them, so a thread must
                not use them after the call.
            run: the run.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define export")
