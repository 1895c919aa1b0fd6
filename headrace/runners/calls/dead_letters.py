"""Dead letters: elements on which a user's function fails, collected while the other elements pass.

A bundle without failures costs nothing extra, since its results are collected in one call. After an
exception, collection continues with the next element, so every element is processed once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from traceback import format_exception
from typing import Any, Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.sdk.pardo.exception_handling import DeadLetter, user_frames
from headrace.sdk.pipelines.elementwise import CatchEach
from headrace.sdk.pipelines.outputs import CallingStep, Outputs, check_iterable

_LOG: Final = logging.getLogger(__name__)

_END: Final = object()


@attrs.define(eq=False)
class DeadLetterCollector:
    """Collects the results of a function on the rows of a bundle, and the rows on which it fails.

    Args:
        kind: the exceptions to catch, and the tag for dead letters.
        bundle: the rows.
        step: the step, for errors.
    """

    kind: CatchEach
    bundle: Bundle
    step: CallingStep
    letters: dict[int, DeadLetter[Any]] = attrs.field(factory=dict, init=False)
    """The dead letters, by row."""

    def collect(self, results: Iterator[object]) -> list[Any]:
        """Return the results of the rows that do not fail."""
        found: list[Any] = []
        rows = len(self.bundle)
        while len(found) + len(self.letters) < rows:
            try:
                found.extend(results)
                _check_ended(len(found) + len(self.letters), rows)
            except self.kind.caught as error:
                self.fail(len(found) + len(self.letters), error)
        return found

    def gather(self, results: Iterator[object]) -> tuple[list[Any], list[int]]:
        """Return the items of all results, and the number of items up to the end of each row."""
        gathered = _Gathered(self)
        for first in self._first(results, gathered):
            check_iterable(first, self.step)
            gathered.take(iter([first]), len(gathered.ends) + 1)
        gathered.take(results, len(self.bundle))
        return gathered.values, gathered.ends

    def _first(self, results: Iterator[Any], gathered: _Gathered) -> Iterator[Any]:
        """Yield the first result, after rows on which the call itself fails."""
        for row in range(len(self.bundle)):
            try:
                first = next(results, _END)
                _check_ended(row + (first is not _END), row + 1)
            except self.kind.caught as error:
                self.fail(row, error)
                gathered.ends.append(0)
            else:
                yield first
                return

    def survivors(self) -> Bundle:
        """Return the rows that did not fail."""
        if not self.letters:
            return self.bundle
        return self.bundle.where([row not in self.letters for row in range(len(self.bundle))])

    def with_letters(self, outputs: Outputs) -> Outputs:
        """Add the dead letters to the outputs."""
        if not self.letters:
            return outputs
        failed = self.bundle.where([row in self.letters for row in range(len(self.bundle))])
        letters = failed.with_values([self.letters[row] for row in sorted(self.letters)])
        own = outputs.get(self.kind.tag)
        return {**outputs, self.kind.tag: letters if own is None else Bundle.concat([own, letters])}

    def fail(self, row: int, error: BaseException) -> None:
        """Make a dead letter of a row."""
        element = self.bundle.values[row]
        lines = format_exception(type(error), error, user_frames(error.__traceback__))
        self.letters[row] = element, (type(error), repr(error), lines)
        if self.kind.on_failure is not None:
            try:
                self.kind.on_failure(error, element)  # type: ignore[arg-type]  # Beam's signature
            except Exception:
                _LOG.warning("on_failure_callback failed in %s", self.step.label, exc_info=True)


@attrs.define(eq=False)
class _Gathered:
    """The items of results collected so far."""

    collector: DeadLetterCollector
    values: list[Any] = attrs.field(factory=list)
    ends: list[int] = attrs.field(factory=list)

    def take(self, results: Iterator[Any], until: int) -> None:
        """Collect results until ``until`` rows are complete."""
        values, ends, extend = self.values, self.ends, self.values.extend
        while len(ends) < until:
            try:
                ends.extend(
                    extend(() if result is None else result) or len(values) for result in results
                )
                _check_ended(len(ends), until)
            except self.collector.kind.caught as error:
                self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.collector.fail(len(self.ends), error)
        if not self.collector.kind.partial:
            del self.values[self.ends[-1] if self.ends else 0 :]
        self.ends.append(len(self.values))


def _check_ended(row: int, rows: int) -> None:
    """Raise an error if the function raised StopIteration, which ends collection early (as in PEP 479)."""
    if row < rows:
        raise RuntimeError("the function raised StopIteration")
