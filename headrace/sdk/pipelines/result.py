"""The result of a run: its state and its metrics."""

from __future__ import annotations

from typing import Any


class PipelineState:
    """The states of a run (Beam's names).

    A run here is STARTING, RUNNING, DONE, FAILED or CANCELLED. The others are for programs that compare with
    all of Beam's.
    """

    UNKNOWN = "UNKNOWN"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    UPDATED = "UPDATED"
    DRAINING = "DRAINING"
    DRAINED = "DRAINED"
    PENDING = "PENDING"
    CANCELLING = "CANCELLING"
    STOPPED = "STOPPED"
    PAUSING = "PAUSING"
    PAUSED = "PAUSED"
    RESOURCE_CLEANING_UP = "RESOURCE_CLEANING_UP"
    UNRECOGNIZED = "UNRECOGNIZED"

    @classmethod
    def is_terminal(cls, state: str) -> bool:
        """Return whether a run in this state has ended.

        >>> PipelineState.is_terminal(PipelineState.DONE)
        True
        """
        return state in (cls.DONE, cls.FAILED, cls.CANCELLED, cls.UPDATED, cls.DRAINED)


class PipelineResult:
    """A run of a pipeline. Runners subclass it.

    Args:
        state: one of the states of :class:`PipelineState`.
    """

    def __init__(self, state: str = PipelineState.DONE) -> None:
        self._state = state

    @property
    def state(self) -> str:
        """The current state of the run."""
        return self._state

    def wait_until_finish(self, duration: float | None = None) -> str:
        """Wait for the end of the run and return its state.

        Args:
            duration: maximum time to wait, in milliseconds; None for no limit.
        """
        return self.state

    def cancel(self) -> str:
        """Stop the run and return its state."""
        return self.state

    def drain(self) -> str:
        """Stop reading, advance the watermark to the end of time, and return the final state.

        Buffered elements are emitted; a run that has ended does not change.
        """
        return self.state

    def metrics(self) -> Any:
        """Return the metrics of the run (:class:`headrace.sdk.metrics.cells.MetricResults`)."""
        raise NotImplementedError(f"{type(self).__name__} has no metrics")
