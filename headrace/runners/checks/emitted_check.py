"""The check that functions do not change what they have emitted (``--check-mutation``).

A step does not copy what it emits, so a value that a function emits and then changes is changed for all who
use it: ``yield self.buffer; self.buffer.clear()`` emits an empty list. The check takes a snapshot of each
output when it is emitted, and compares it with the output after the call and at the end of the bundle.

Later steps can change an output too, for which their own checks blame them. So outputs that changed between
two calls are not compared again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, Final

import attrs

from headrace.errors import MutationError
from headrace.grouping.bundle import Bundle
from headrace.runners.checks.mutation import Snapshot, unchanged
from headrace.sdk.pardo.binding import BoundCall
from headrace.sdk.pipelines.outputs import Outputs

KEPT_OUTPUTS: Final = 256
"""The number of outputs that are compared again after the call that emitted them."""


class EmittedCheck:
    """The outputs of a step that can change, and their snapshots.

    Args:
        culprit: the function that emits them, for errors.
        label: label of the step, for errors.
    """

    def __init__(self, culprit: str, label: str) -> None:
        self._culprit = culprit
        self._label = label
        self._snapshots: list[Snapshot] = []

    def emit(self, output: object) -> Any:
        """Take a snapshot of an output, and return the output."""
        snapshot = Snapshot.of(output)
        if snapshot is not None:
            self._snapshots.append(snapshot)
        return output

    def emit_each(self, result: object) -> object:
        """Return the outputs of one call; each gets its snapshot when it is emitted.

        What is not an iterable of outputs is returned unchanged.
        """
        whole = result is None or isinstance(result, (str, bytes, dict))
        return result if whole or not hasattr(result, "__iter__") else map(self.emit, result)

    def one_result(self, call: BoundCall) -> BoundCall:
        """Return a call of a function that returns one output."""
        return self._recorded(call, self.emit)

    def many_results(self, call: BoundCall) -> BoundCall:
        """Return a call of a function that returns an iterable of outputs."""
        return self._recorded(call, self.emit_each)

    def _recorded(self, call: BoundCall, record: Callable[[Any], object]) -> BoundCall:
        fn = call.fn

        def recorded(*args: object, **kwargs: object) -> Any:
            return record(fn(*args, **kwargs))

        return attrs.evolve(call, fn=recorded)

    def method(self, fn: Callable[..., object]) -> Callable[..., Any]:
        """Return a method that returns an iterable of outputs."""

        @wraps(fn)
        def recorded(*args: object, **kwargs: object) -> Any:
            return self.emit_each(fn(*args, **kwargs))

        return recorded

    def program(self, program: Callable[[Bundle], Outputs]) -> Callable[[Bundle], Outputs]:
        """Return a program that raises an error if it changes the values of a bundle, or its outputs.

        The comparison follows after all outputs are collected, so it covers generators.
        """

        def run(bundle: Bundle) -> Outputs:
            self.resume()
            with unchanged(bundle.values, "the function", self._label):
                outputs = program(bundle)
            self.compare()
            return outputs

        return run

    def compared(self, method: Callable[[], Any]) -> list[Any] | None:
        """Return the outputs of a method, after comparing them and what was emitted before."""
        self.resume()
        given = method()
        outputs = None if given is None else list(given)
        self.compare()
        return outputs

    def resume(self) -> None:
        """Forget the outputs that other steps have changed since the last comparison."""
        self._snapshots = [snapshot for snapshot in self._snapshots if not snapshot.change]

    def compare(self) -> None:
        """Compare the outputs with their snapshots, and keep some for the next comparison.

        Raises:
            MutationError: an output has changed.
        """
        for change in self._changes():
            raise MutationError(
                f"{self._culprit} changed what it had emitted, {change}",
                where=self._label,
                remedy="emit a copy, for example list(values), or begin a new object for the next element; "
                "other steps and retractions use the object that was emitted",
            )
        self._snapshots = self._snapshots[-KEPT_OUTPUTS:]

    def _changes(self) -> Iterator[str]:
        changes: Iterable[str] = (snapshot.change for snapshot in self._snapshots)
        return (change for change in changes if change)
