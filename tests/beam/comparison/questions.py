"""The questions: which sales arrive, which results are right at first and at the end, and who gave them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import attrs

MINUTE = 60
LATENESS = 600
DROPPED = "late sale of"


class Sale(NamedTuple):
    """A sale: who, for how much, and at which second of event time."""

    who: str
    amount: int
    second: int


IN_ORDER = (Sale("ann", 5, 10), Sale("bob", 3, 20), Sale("bob", 4, 70), Sale("cay", 1, 130))
"""The watermark is at the newest sale, so the second minute completes the first."""

IN_ONE_MINUTE = (Sale("ann", 5, 10), Sale("bob", 3, 20), Sale("ann", 3, 30), Sale("cay", 1, 130))
"""Ann sells twice before the minute is complete."""

LATE = (*IN_ORDER[:3], Sale("dan", 2, 80), Sale("ann", 3, 30), IN_ORDER[3])
"""Ann's second sale arrives after the watermark has passed its minute. Another sale has arrived in between,
so that each system has emitted the minute."""

LATE_BETWEEN = (
    Sale("ann", 5, 10),
    Sale("ann", 4, 110),
    Sale("bob", 1, 210),
    Sale("bob", 1, 220),
    Sale("ann", 3, 60),
)
"""Ann's third sale joins two sessions, with a gap of a minute, that the watermark has passed."""


class Change(NamedTuple):
    """An output: whether it is inserted or retracted, what it is about, and its value."""

    diff: int
    key: str
    value: int

    def __str__(self) -> str:
        return f"{'+' if self.diff > 0 else '-'} {self.key}: {self.value}"


@attrs.frozen
class Answer:
    """What a system gave.

    Attributes:
        changes: its output, in order.
        stopped: the error with which the system refused the program, if it did.
        note: which of several ways to write the program was taken, such as an output mode.
    """

    changes: tuple[Change, ...] = ()
    stopped: str = ""
    note: str = ""


@attrs.frozen
class Question:
    """A question, and the results that are right.

    Attributes:
        name: the name of a program in each module.
        title: what is asked, as a row of the table.
        text: what the program computes.
        sales: what arrives, in order.
        at_first: results that must be emitted at some time, though they are replaced later.
        finally_: the content at the end: what a table has that applies each change by key.
    """

    name: str
    title: str
    text: str
    sales: tuple[Sale, ...]
    finally_: Mapping[str, int]
    at_first: Sequence[tuple[str, int]] = ()


def is_right(question: Question, answer: Answer) -> bool:
    """Tell whether the results are right, before and at the end."""
    inserted = {(change.key, change.value) for change in answer.changes if change.diff > 0}
    seen_first = set(question.at_first) <= inserted
    return not answer.stopped and seen_first and content(answer.changes) == question.finally_


def content(changes: Iterable[Change]) -> dict[str, int]:
    """Return the content of a table that applies each change by key: inserts replace, retractions remove.

    >>> content(
    ...     [Change(1, "ann", 5), Change(-1, "ann", 5), Change(1, "ann", 8), Change(1, "bob", 3)]
    ... )
    {'ann': 8, 'bob': 3}
    """
    table: dict[str, int] = {}
    for diff, key, value in changes:
        if diff > 0:
            table[key] = value
        elif table.get(key) == value:
            del table[key]
    return table


def minute_of(start: float, _end: float = 0) -> str:
    """Return the name of the minute that begins at an event time.

    >>> minute_of(60)
    'minute 1'
    """
    return f"minute {int(start) // MINUTE}"


def session_of(start: float, end: float) -> str:
    """Return the name of a session.

    >>> session_of(10, 170)
    'session 10-170'
    """
    return f"session {int(start)}-{int(end)}"


ON_TIME = {
    "minute 0 ann": 5,
    "minute 0 bob": 3,
    "minute 1 bob": 4,
    "minute 1 dan": 2,
    "minute 2 cay": 1,
}
CORRECTED_SELLERS = {
    "minute 0 sum 8": 1,
    "minute 0 sum 3": 1,
    "minute 1 sum 4": 1,
    "minute 1 sum 2": 1,
    "minute 2 sum 1": 1,
}

QUESTIONS = (
    Question(
        "chain",
        "Group the results of windows again",
        "Sums by seller and minute, then the number of sellers of each sum in the minute. No sale is late.",
        IN_ORDER,
        {"minute 0 sum 5": 1, "minute 0 sum 3": 1, "minute 1 sum 4": 1, "minute 2 sum 1": 1},
    ),
    Question(
        "early",
        "Emit early results of a window",
        "Sums by seller and minute. Ann's sum is 5 at first, and 8 before the minute is complete.",
        IN_ONE_MINUTE,
        {"minute 0 ann": 8, "minute 0 bob": 3, "minute 2 cay": 1},
        at_first=[("minute 0 ann", 5)],
    ),
    Question(
        "late",
        "Correct a result when a late element arrives",
        "Sums by seller and minute. Ann's sale of 3 arrives when the watermark has passed its minute.",
        LATE,
        {**ON_TIME, "minute 0 ann": 8},
        at_first=[("minute 0 ann", 5)],
    ),
    Question(
        "late_output",
        "Send dropped late elements to an output",
        "The same sales without allowed lateness. The late sale is dropped, and is an output of its own.",
        LATE,
        {**ON_TIME, f"{DROPPED} ann": 3},
    ),
    Question(
        "regroup",
        "Apply the correction in a second grouping",
        "The number of sellers of each sum in a minute. At first one seller has a sum of 5, at last nobody.",
        LATE,
        CORRECTED_SELLERS,
        at_first=[("minute 0 sum 5", 1)],
    ),
    Question(
        "sessions",
        "Replace two sessions that a late element joins",
        "Sums by session, with a gap of a minute. Ann's sale of 3 joins two sessions that have been emitted.",
        LATE_BETWEEN,
        {"session 10-170 ann": 12, "session 210-280 bob": 2},
        at_first=[("session 10-70 ann", 5), ("session 110-170 ann", 4)],
    ),
)
