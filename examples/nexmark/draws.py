"""Random numbers that depend on a seed only, and cost little to begin: the digits of a hash."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Draws numbers, at most about ten: a hash has 512 bits.

    >>> Draws("a seed").below(1000) == Draws("a seed").below(1000)
    True
    """

    def __init__(self, *seed: object) -> None:
        digest = blake2b(repr(seed).encode()).digest()
        self._left = int.from_bytes(digest, "big")

    def below(self, end: int) -> int:
        """Return a number from 0 to ``end``, without it."""
        self._left, drawn = divmod(self._left, end)
        return drawn

    def between(self, first: int, last: int) -> int:
        """Return one of some numbers in a row."""
        return first + self.below(last - first + 1)

    def part(self) -> float:
        """Return a number from 0 to 1, without 1."""
        return self.below(1 << 32) / (1 << 32)

    def one_of(self, choices: Sequence[T]) -> T:
        """Return one of some things."""
        return choices[self.below(len(choices))]
