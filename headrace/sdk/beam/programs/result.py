"""The run of a program, as a result of Beam."""

from __future__ import annotations

from typing import Any

from apache_beam.runners.runner import PipelineResult

from headrace.sdk.beam.programs.metrics import HeadraceMetrics
from headrace.sdk.pipelines.result import PipelineResult as OwnResult


class HeadraceResult(PipelineResult):
    """A run of a program on Headrace; its states are Beam's.

    Args:
        own: the run.
    """

    def __init__(self, own: OwnResult) -> None:
        super().__init__(own.state)
        self._own = own

    @property
    def state(self) -> Any:
        """The current state of the run."""
        return self._own.state

    @property
    def own(self) -> OwnResult:
        """The run as Headrace's, which can also be drained."""
        return self._own

    def wait_until_finish(self, duration: Any = None) -> Any:
        """Wait for the end of the run, at most for some milliseconds, and return its state."""
        return self._own.wait_until_finish(duration)

    def cancel(self) -> Any:
        """Stop the run, and return its state."""
        return self._own.cancel()

    def metrics(self) -> HeadraceMetrics:
        """Return the metrics of the run."""
        return HeadraceMetrics(self._own.metrics())
