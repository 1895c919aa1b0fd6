"""The error for a broken law: the law, the case, and the results on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent
from typing import Any, Final, TypeAlias

from headrace.errors import shorten

LIKE_ITS_BATCH: Final = "a stream has the same result as a batch of the same elements"
VALUES_UNCHANGED: Final = "values are not changed"
IN_ANY_ORDER: Final = "the final result does not depend on the order of arrival"

Violation: TypeAlias = tuple[str, dict[str, Any], str]
"""A broken law, what was seen, and the remedy."""


class LawBroken(AssertionError):
    """A law does not hold.

    Args:
        law: the law, as a sentence.
        given: the case, possibly as a program.
        sides: the results by name, usually two that should be equal.
        remedy: what the reader can do about it.

    >>> print(LawBroken("1 + 1 is 2", "1 and 1", {"found": 3, "expected": 2}, "count again"))
    broken law: 1 + 1 is 2
      for: 1 and 1
      found: 3
      expected: 2
      what to do: count again
    """

    def __init__(self, law: str, given: str, sides: Mapping[str, Any], remedy: str) -> None:
        self.law = law
        self.given = given
        self.sides = dict(sides)
        self.remedy = remedy
        super().__init__(law, given, self.sides, remedy)

    def __str__(self) -> str:
        """Join all parts, one per line; longer parts are indented below their names."""
        parts = [part("for", self.given)]
        parts += [part(name, formatted(side)) for name, side in self.sides.items()]
        return "\n".join(
            [
                f"broken law: {self.law}",
                *parts,
                f"  what to do: {self.remedy}",
            ]
        )


class Unquoted(str):
    """Text that is shown without quotes.

    >>> Unquoted("a")
    a
    """

    __repr__ = str.__str__


def part(name: str, text: str) -> str:
    """Return a part of a message: its name and its text, which can have several lines."""
    return f"  {name}:\n{indent(text, '    ')}" if "\n" in text else f"  {name}: {text}"


def formatted(side: object) -> str:
    """Return a result as text; a long list has one entry per line."""
    text = repr(side)
    if isinstance(side, list) and len(text) > 80:
        return "\n" + "\n".join(map(repr, side))
    return text if len(text) <= 1_000 else shorten(side)
