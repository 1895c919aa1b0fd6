"""The elements of a collection that stand: those that no retraction has removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from headrace.sdk.coders.keys import encode_value


class _Row(Protocol):
    """An element with its metadata."""

    @property
    def value(self) -> Any:
        """The value."""

    @property
    def timestamp(self) -> Any:
        """The event time."""

    @property
    def windows(self) -> Any:
        """The windows."""

    @property
    def diff(self) -> int:
        """+1, or -1 for a retraction."""


R = TypeVar("R", bound=_Row)


def net(rows: Sequence[R]) -> list[R]:
    """Return the elements that remain after each retraction has removed an equal element.

    Elements are equal if their encodings, timestamps and windows are; of equal ones the last is removed.

    >>> from headrace.grouping.bundle import Element
    >>> [
    ...     row.value
    ...     for row in net([Element("a", 0, ()), Element("b", 0, ()), Element("a", 0, (), diff=-1)])
    ... ]
    ['b']
    """
    retracted = Counter(_identity(row) for row in rows if row.diff < 0)
    remaining = []
    for row in reversed(rows):
        if row.diff > 0 and retracted and retracted[_identity(row)] > 0:
            retracted[_identity(row)] -= 1
        elif row.diff > 0:
            remaining.append(row)
    return remaining[::-1]


def _identity(row: _Row) -> object:
    return encode_value(row.value), row.timestamp, row.windows
