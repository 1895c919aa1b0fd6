"""What a run gives back: its state and its metrics."""

from __future__ import annotations

from typing import Any


class PipelineState:
    """States of a run, by Beam's names."""

    UNKNOWN = "UNKNOWN"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @classmethod
    def is_terminal(cls, state: str) -> bool:
        """Tell whether a run in this state is over.

        >>> PipelineState.is_terminal(PipelineState.DONE)
        True
        """
        return state in (cls.DONE, cls.FAILED, cls.CANCELLED)


class PipelineResult:
    """A run of a pipeline. Runners subclass it.

    Args:
        state: one of the states of :class:`PipelineState`.
    """

    def __init__(self, state: str = PipelineState.DONE) -> None:
        self._state = state

    @property
    def state(self) -> str:
        """The state that the run is in."""
        return self._state

    def wait_until_finish(self, duration: float | None = None) -> str:
        """Wait for the end of the run and return its state.

        Args:
            duration: milliseconds to wait at most; None for as long as it takes.
        """
        return self.state

    def cancel(self) -> str:
        """Stop the run and return its state."""
        return self.state

    def drain(self) -> str:
        """Read no further, let the watermark go to the end of time, and return the state at the end.

        What is buffered comes out; a run that is over stays as it is.
        """
        return self.state

    def metrics(self) -> Any:
        """Return what was counted (:class:`headrace.sdk.metrics.MetricResults`)."""
        raise NotImplementedError(f"{type(self).__name__} keeps no metrics")
