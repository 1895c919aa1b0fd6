"""Observers: what a run calls at its start, after each round and at its end."""

from __future__ import annotations

from typing import ClassVar

from headrace.sdk.metrics.run_records import Round, RunOutline


class RunObserver:
    """Is told what happens in a run; the methods do nothing unless a subclass overrides them.

    All methods are called in the process that runs the pipeline, one at a time. An error in ``check`` or
    ``start`` ends the run; other errors are logged, and the run goes on.

    Attributes:
        wants_samples: whether the rounds shall have samples of elements and panes, which cost time.

    >>> class Rounds(RunObserver):
    ...     def round(self, done):
    ...         print("round", done.number, done.steps["Create"].elements_out)
    ...
    ...     def end(self, state, error=None):
    ...         print(state)
    >>> with Pipeline(argv=[], observers=[Rounds()]) as p:
    ...     _ = p | Create(["a", "b"])
    round 0 2
    DONE
    """

    wants_samples: ClassVar[bool] = False

    def check(self) -> None:
        """Check what the observer needs, before a session or anything else of the run is started.

        An error ends the run.
        """

    def start(self, run: RunOutline) -> None:
        """Begin; called before anything is read."""

    def round(self, done: Round) -> None:
        """Note a round; called after its results have been written."""

    def end(self, state: str, error: BaseException | None = None) -> None:
        """End; called once, after the last round.

        Args:
            state: one of the states of :class:`~headrace.PipelineState`.
            error: the error of a failed run.
        """
