"""What is raised where a law does not hold: which law, for what, what came out on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent
from typing import Any, Final

from headrace.errors import shorten

LIKE_ITS_BATCH: Final = "a stream comes to what a batch of the same elements comes to"
IN_ANY_ORDER: Final = "the order of arrival means nothing in the end"


class LawBroken(AssertionError):
    """A law does not hold.

    Args:
        law: the law, as a sentence.
        given: what it was tried on, perhaps as a program.
        sides: what came out, by where it came from; in general two sides that should be equal.
        remedy: what the reader can do about it.

    >>> print(LawBroken("1 + 1 is 2", "1 and 1", {"found": 3, "expected": 2}, "count again"))
    the law does not hold that 1 + 1 is 2
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
        """Join all parts, one a line; what is longer stands under its name."""
        said = [part("for", self.given)]
        said += [part(name, spelt(side)) for name, side in self.sides.items()]
        return "\n".join(
            [
                f"the law does not hold that {self.law}",
                *said,
                f"  what to do: {self.remedy}",
            ]
        )


def part(name: str, text: str) -> str:
    """Return a part of a message: its name and its text, which may have several lines."""
    return f"  {name}:\n{indent(text, '    ')}" if "\n" in text else f"  {name}: {text}"


def spelt(side: Any) -> str:
    """Return what came out in words: a list an entry a line, if it is long."""
    whole = repr(side)
    if isinstance(side, list) and len(whole) > 80:
        return "\n" + "\n".join(map(repr, side))
    return whole if len(whole) <= 1_000 else shorten(side)
