"""FromChangelog: pairs of a diff and a value, or rows with a diff, as values and retractions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.changelogs.change_options import (
    BAD,
    GOOD,
    ChangeOptions,
    Parse,
    TimeOf,
    WithDeadLetters,
    changed,
    check_choice,
    fields_of,
    reads_time,
)
from headrace.sdk.changelogs.matched_retractions import MatchRetractions
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.elements.row import Row
from headrace.sdk.pardo.changes import Change
from headrace.sdk.pardo.flatten import Flatten
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import DurationTypes, Timestamp

Unmatched: TypeAlias = Literal["error", "dead_letter", "pass"]

_CHOICES: Final = ("error", "dead_letter", "pass")


class FromChangelog(PTransform[PCollection[Any], Any]):
    """Turns (diff, value) pairs into values and retractions; undoes ToChangelog (not in Beam).

    A diff of 1 is a value, and -1 the retraction of an equal value. A diff of 3 is three values, -2 two
    retractions, and 0 is nothing. With ``diff_column`` the elements are rows, and the value is the row
    without this column. A retraction must have the timestamp of its value, because this decides in which
    windows it is: give ``timestamp`` if the elements do not have it.

    Retractions are matched with values of the same encoding and timestamp. One that arrives before its value
    waits until the watermark has passed its timestamp and the allowed lateness (at the end of the input, if
    there is no limit, once the watermark has passed its timestamp). Then it is unmatched. The number of
    present equal values is kept as state: until they are retracted, or with a limit until they are too old
    to be. With ``on_unmatched="pass"`` nothing is checked or kept.

    Args:
        diff_column: the column with the diff, of elements that are rows; None if the elements are pairs.
        timestamp: the event time of a value: a column of a row, or a function. By default the timestamp of
            the element.
        on_unmatched: what happens to the retraction of what was never added, and to an element without a
            diff: ``"error"`` stops the pipeline. ``"dead_letter"`` makes two outputs, ``good`` and ``bad``,
            of which the second has (element, (type of the exception, its repr, lines of its traceback)); the
            element of an unmatched retraction is (-1, value). ``"pass"`` passes all retractions on; a
            grouping then keeps a debt until the value arrives.
        allowed_lateness: how far behind the watermark a value or a retraction can be, in seconds; None for no
            limit. Later ones are dropped, and counted as ``late_dropped``, except with ``"pass"``. A
            grouping after it must allow as much lateness: without a limit ``hr.window.FOREVER``, unless it
            is in the global window.

    Raises:
        PipelineError: an argument is not valid, or the input is not in the global window.

    >>> with Pipeline() as p:
    ...     log = p | Create([(1, ("ann", 5)), (1, ("bob", 3)), (-1, ("ann", 5)), (1, ("ann", 8))])
    ...     _ = log | FromChangelog() | CombinePerKey(sum) | Map(print)
    ('ann', 8)
    ('bob', 3)
    """

    def __init__(
        self,
        diff_column: str | None = None,
        timestamp: TimeOf = None,
        on_unmatched: Unmatched = "error",
        allowed_lateness: DurationTypes | None = None,
    ) -> None:
        super().__init__()
        check_choice("FromChangelog", "on_unmatched", on_unmatched, _CHOICES)
        if diff_column is not None and not isinstance(diff_column, str):
            raise PipelineError(
                f"the diff_column of FromChangelog is {shorten(diff_column)}",
                remedy="give the name of a column",
            )
        self._options = ChangeOptions.of("FromChangelog", allowed_lateness)
        self._letters = on_unmatched == "dead_letter"
        self._matches = on_unmatched != "pass"
        read = _pair if diff_column is None else partial(_row, diff_column)
        self._read = partial(_changes, read, reads_time(timestamp))

    def expand(self, pcoll: PCollection[object]) -> Any:
        self._options.check_input(pcoll)
        read: Any = ParDo(Parse(self._read, catches=self._letters))
        if not self._letters:
            changes = pcoll | "Diffs" >> read
            return self._applied(self._matched(changes), pcoll)
        parsed = pcoll | "Diffs" >> read.with_outputs(BAD, main=GOOD)
        good, unmatched = self._matched(parsed[GOOD])
        letters = (parsed[BAD], unmatched) | "Dead letters" >> Flatten()
        return WithDeadLetters(self._applied(good, pcoll), letters)

    def _applied(self, changes: PCollection[Any], pcoll: PCollection[object]) -> PCollection[Any]:
        return self._options.applied(changes, pcoll, Any)

    def _matched(self, changes: PCollection[Any]) -> Any:
        if not self._matches:
            return changes
        keyed = changes | "Identities" >> ParDo(Parse(_identified, catches=False))
        match: Any = ParDo(MatchRetractions(self._options.lateness, self._letters))
        if not self._letters:
            return keyed | "Match" >> match
        return keyed | "Match" >> match.with_outputs(BAD, main=GOOD)


def _changes(
    read: Callable[[Any], tuple[int, Any]],
    time: Callable[[Any, Timestamp], int],
    element: object,
    timestamp: Timestamp,
) -> list[Change]:
    diff, value = read(element)
    if type(diff) is not int:
        raise ElementError(
            f"the diff of {shorten(element)} is {shorten(diff)}, and no whole number",
            remedy="use 1 for a value and -1 for its retraction",
        )
    if not diff:
        return []
    sign = 1 if diff > 0 else -1
    return [changed(sign, value, time(value, timestamp))] * abs(diff)


def _pair(element: object) -> tuple[int, Any]:
    if not isinstance(element, tuple) or len(element) != 2:
        raise ElementError(
            f"the element {shorten(element)} is not a (diff, value) pair",
            remedy="make pairs before FromChangelog, or name the column of the diff: diff_column=…",
        )
    return element


def _row(column: str, element: object) -> tuple[int, Any]:
    fields = fields_of(element)
    if column not in fields:
        raise ElementError(
            f"the row {shorten(element)} has no column {column!r}",
            remedy=f"use one of its columns as diff_column: {', '.join(fields)}",
        )
    rest = {name: value for name, value in fields.items() if name != column}
    return fields[column], rest if isinstance(element, dict) else Row(**rest)


def _identified(change: Change, timestamp: Timestamp) -> list[tuple[bytes, Change]]:
    """Return a change with the identity of its value, by which a retraction finds it."""
    return [(b"%d:%b" % (change.timestamp, encode_value(change.value)), change)]
