"""Splittable DoFns of Beam, run to the end of each element.

What a call leaves for later is a residual. The bundle is finished before a residual is processed, since a
DoFn may wait for what it registered for the end of its bundle.
"""

from __future__ import annotations

from typing import Any

from headrace.sdk.beam.programs.step import Worker


class SplittableCalls:
    """Calls of a splittable DoFn.

    Args:
        worker: the DoFn in this process.
        signature: Beam's signature of it.
        drains: whether restrictions are cut to what must be done.
    """

    def __init__(self, worker: Worker, signature: Any, drains: bool) -> None:
        self._worker = worker
        self._provider = signature.get_restriction_provider()
        self._estimators = signature.get_watermark_estimator_provider()
        self._drains = drains

    def process(self, row: Any) -> None:
        """Process all restrictions of an element."""
        element = row.value
        whole = self._provider.initial_restriction(element)
        waiting = [self._sized(row, part, size) for part, size in self._parts(element, whole)]
        rounds = 0
        while waiting:
            if rounds:
                self._next_bundle()
            rounds += 1
            waiting = [left for one in waiting for left in self._left(one)]

    def _parts(self, element: Any, whole: Any) -> list[tuple[Any, int]]:
        """Return the restrictions of an element, with their sizes."""
        parts = list(self._provider.split_and_size(element, whole))
        if not self._drains:
            return parts
        cut = [(self._provider.truncate(element, part), size) for part, size in parts]
        return [(part, size) for part, size in cut if part is not None]

    def _sized(self, row: Any, part: Any, size: int) -> Any:
        return row.with_value(((row.value, (part, self._state(row.value, part))), size))

    def _left(self, sized: Any) -> list[Any]:
        """Process a restriction, and return what is left of it."""
        residuals = self._worker.runner.process_with_sized_restriction(sized)
        return [residual.residual_value for residual in residuals]

    def _state(self, element: Any, restriction: Any) -> Any:
        return self._estimators.initial_estimator_state(element, restriction)

    def _next_bundle(self) -> None:
        runner = self._worker.runner
        runner.finish()
        runner.finalize()
        runner.start()
