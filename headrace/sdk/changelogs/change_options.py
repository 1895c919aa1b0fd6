"""The arguments that all transforms of changelogs share: times, lateness, and the fate of bad elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from traceback import format_exception
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.grouping.bundle import IN_GLOBAL_WINDOW
from headrace.sdk.elements.schemas import reader_of
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.pardo.changes import ApplyChanges, Change
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.exception_handling import user_frames
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.triggers.refinement import AccumulationMode
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
    micros,
)
from headrace.windowing.windows import GlobalWindows

GOOD: Final = "good"
BAD: Final = "bad"

Choice: TypeAlias = Literal["error", "dead_letter"]

TimeOf: TypeAlias = "str | Callable[[Any], TimestampTypes] | None"
"""The event time of a value: a column, a function, or None for the timestamp of the element."""

ANY_LATENESS: Final = 2 * MAX_MICROS
"""With this lateness, in microseconds, nothing is ever late."""


class WithDeadLetters(NamedTuple):
    """Two outputs: the collection, and what could not become a part of it.

    Attributes:
        good: the collection.
        bad: dead letters: (element, (type of the exception, its repr, lines of its traceback)).
    """

    good: PCollection[Any]
    bad: PCollection[Any]


def dead_letter(element: object, error: BaseException) -> TaggedOutput:
    """Return the dead letter of an element, for the second output.

    >>> dead_letter("x", ValueError("no number")).value[1][1]
    "ValueError('no number')"
    """
    lines = format_exception(type(error), error, user_frames(error.__traceback__))
    return TaggedOutput(BAD, (element, (type(error), repr(error), lines)))


class Parse(DoFn):
    """Calls a function that returns any number of outputs; an element on which it fails is a dead letter.

    Args:
        fn: takes an element and its timestamp, and returns a list.
        catches: whether exceptions become dead letters.
    """

    def __init__(self, fn: Callable[[Any, Timestamp], list[Any]], catches: bool) -> None:
        self._fn = fn
        self._catches = catches

    def process(self, element: Any, timestamp: Any = DoFn.TimestampParam) -> Iterator[Any]:
        try:
            outputs = self._fn(element, timestamp)
        except Exception as error:
            if not self._catches:
                raise
            yield dead_letter(element, error)
            return
        yield from outputs


@attrs.frozen
class ChangeOptions:
    """How changes become a collection.

    Attributes:
        name: the transform, for errors.
        lateness: how late a change can be, in microseconds; None for no limit.
    """

    name: str
    lateness: int | None

    @classmethod
    def of(cls, name: str, allowed_lateness: DurationTypes | None) -> ChangeOptions:
        """Return options.

        Raises:
            PipelineError: the lateness is negative.
        """
        if allowed_lateness is None:
            return cls(name, None)
        lateness = duration_micros(allowed_lateness)
        if lateness < 0:
            raise PipelineError(
                f"the allowed_lateness of {name} is {allowed_lateness}",
                remedy="use 0 or more seconds, or None for no limit",
            )
        return cls(name, lateness)

    @property
    def limit(self) -> int:
        """How late a change can be, in microseconds."""
        return ANY_LATENESS if self.lateness is None else self.lateness

    def check_input(self, pcoll: PCollection[object]) -> None:
        """Check that the input is a collection of plain data in the global window.

        Raises:
            PipelineError: it is not.
        """
        require_collection(pcoll)
        if pcoll.collection.changing:
            raise PipelineError(
                f"{self.name} is applied to {pcoll!r}, which itself can contain retractions",
                remedy="apply it to plain data; after a grouping with retractions, apply "
                "hr.ToChangelog() first",
            )
        if not isinstance(pcoll.windowing.window_fn, GlobalWindows):
            raise PipelineError(
                f"{self.name} is applied to {pcoll!r}, which is in {pcoll.windowing.window_fn!r}: a change "
                "belongs to the window of its row, and not of its arrival",
                remedy=f"apply hr.WindowInto after {self.name}",
            )

    def applied(
        self, changes: PCollection[Any], origin: PCollection[object], element_type: object
    ) -> PCollection[Any]:
        """Return the collection that changes describe.

        Args:
            changes: :class:`~headrace.sdk.pardo.changes.Change` values.
            origin: the input of the transform.
            element_type: the known type of the values.
        """
        lateness = MAX_MICROS if self.lateness is None else self.lateness
        return changes | "Changes" >> ApplyChanges(
            attrs.evolve(origin.windowing, accumulation_mode=AccumulationMode.RETRACTING),
            element_type,
            changing=True,
            lateness=lateness,
        )


def check_choice(name: str, argument: str, choice: str, choices: tuple[str, ...]) -> None:
    """Refuse an argument that is not one of several names.

    Raises:
        PipelineError: it is not.
    """
    if choice not in choices:
        known = ", ".join(map(repr, choices))
        raise PipelineError(f"{name} has {argument}={choice!r}", remedy=f"use one of {known}")


def changed(diff: int, value: object, time: int) -> Change:
    """Return a change in the global window; the time is in microseconds."""
    return Change(diff, value, time, IN_GLOBAL_WINDOW)


def reads_time(timestamp: TimeOf) -> Callable[[Any, Timestamp], int]:
    """Return the function that returns the event time of a value, in microseconds.

    >>> reads_time("at")({"at": 3}, Timestamp(9)), reads_time(None)({"at": 3}, Timestamp(9))
    (3000000, 9000000)
    """
    if timestamp is None:
        return lambda value, given: given.micros
    read = reads_column(timestamp)
    return lambda value, given: micros(read(value))


def reads_column(what: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function that reads a column of a row; a function itself.

    >>> reads_column("n")({"n": 3}), reads_column("n")(Row(n=4))
    (3, 4)
    """
    return (lambda row: fields_of(row)[what]) if isinstance(what, str) else what


def fields_of(row: Any) -> Any:
    """Return the fields of a row by name.

    Raises:
        ElementError: it has no named fields.
    """
    kind: Any = type(row)
    read = reader_of(kind)
    if read is None:
        raise ElementError(
            f"{shorten(row)} is no row: it has no named fields",
            remedy="use dicts, Rows, named tuples, attrs classes or dataclasses",
        )
    return read(row)
