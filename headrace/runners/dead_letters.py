"""Elements on which a user's function fails, set aside as dead letters, while the others go on.

A bundle in which nothing fails is as fast as ever: results are taken in one go. An exception interrupts
that, and it goes on behind the element that failed, so every element is processed once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from traceback import format_exception
from types import TracebackType
from typing import Any, Final

import attrs

from headrace.sdk.elementwise import CatchEach
from headrace.sdk.outputs import Outputs, check_iterable
from headrace.triggers.bundle import Bundle

_LOG: Final = logging.getLogger(__name__)

_END: Final = object()

DeadLetter = tuple[Any, tuple[type[BaseException], str, list[str]]]
"""An element, and the type, the repr and the traceback of the exception (Beam's form)."""


@attrs.define(eq=False)
class DeadLetterCollector:
    """A function tried on the rows of one bundle.

    Args:
        kind: what to catch, and where dead letters go.
        bundle: the rows.
        label: where, for errors.
    """

    kind: CatchEach
    bundle: Bundle
    label: str
    letters: dict[int, DeadLetter] = attrs.field(factory=dict, init=False)
    """The dead letters by their rows."""

    def collect(self, results: Iterator[Any]) -> list[Any]:
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

    def gather(self, results: Iterator[Any]) -> tuple[list[Any], list[int]]:
        """Return the items of results, and how many of them there are after each row."""
        gathered = _Gathered(self)
        for first in self._first(results, gathered):
            check_iterable(first, self.label)
            gathered.take(iter([first]), len(gathered.ends) + 1)
        gathered.take(results, len(self.bundle))
        return gathered.values, gathered.ends

    def _first(self, results: Iterator[Any], gathered: _Gathered) -> Iterator[Any]:
        """Give out the first result that there is, behind rows whose call itself fails."""
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
        lines = format_exception(type(error), error, _of_the_user(error.__traceback__))
        self.letters[row] = element, (type(error), repr(error), lines)
        if self.kind.on_failure is not None:
            try:
                self.kind.on_failure(error, element)  # type: ignore[arg-type]  # Beam's signature
            except Exception:
                _LOG.warning("on_failure_callback failed in %s", self.label, exc_info=True)


@attrs.define(eq=False)
class _Gathered:
    """Items of results as they are taken."""

    collector: DeadLetterCollector
    values: list[Any] = attrs.field(factory=list)
    ends: list[int] = attrs.field(factory=list)

    def take(self, results: Iterator[Any], until: int) -> None:
        """Take results until so many rows have come to their ends."""
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
    """Turn StopIteration, which ends the taking of results too early, into an error (as in PEP 479)."""
    if row < rows:
        raise RuntimeError("the function raised StopIteration")


def _of_the_user(traceback: TracebackType | None) -> TracebackType | None:
    """Leave out how Headrace called the function, which may differ for a value and its retraction."""
    while traceback is not None and _is_ours(traceback):
        traceback = traceback.tb_next
    return traceback


def _is_ours(traceback: TracebackType) -> bool:
    return str(traceback.tb_frame.f_globals.get("__name__")).startswith(
        ("headrace.runners.", "headrace.sdk.")
    )
