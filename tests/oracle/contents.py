"""WHAT a pane says: sums and bags of all that came, retractions taken off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.oracle.story import Element


class Sum:
    """The sum of what came less the sum of what went."""

    def all(self, elements: Iterable[Element]) -> int:
        return sum(e.diff * e.value for e in elements)

    def changes(self, elements: Iterable[Element]) -> list[tuple[Any, int]]:
        """What a pane says that holds only what is new."""
        return [(self.all(elements), 1)]

    def vanished(self, elements: Iterable[Element]) -> bool:
        """Whether retractions have left nothing."""
        return sum(e.diff for e in elements) <= 0


class Bag:
    """The values themselves, in order of their spelling, as order means nothing."""

    def all(self, elements: Iterable[Element]) -> list[Any]:
        return part(elements, 1)

    def changes(self, elements: Iterable[Element]) -> list[tuple[Any, int]]:
        come, gone = part(elements, 1), part(elements, -1)
        return [(come, 1)] * (bool(come) or not gone) + [(gone, -1)] * bool(gone)

    def vanished(self, elements: Iterable[Element]) -> bool:
        return not part(elements, 1)


class Largest(Bag):
    """A combination that cannot take a value out again: of those that are there, the largest."""

    def all(self, elements: Iterable[Element]) -> int:
        return max(part(elements, 1), default=0)

    def changes(self, elements: Iterable[Element]) -> list[tuple[Any, int]]:
        return [(self.all(elements), 1)]


def part(elements: Iterable[Element], sign: int) -> list[Any]:
    """The values that came more often than they went (sign 1), or the other way round (-1)."""
    counts: Counter[str] = Counter()
    values = {repr(e.value): e.value for e in elements}
    for e in elements:
        counts[repr(e.value)] += sign * e.diff
    return [values[name] for name in sorted(counts) for _ in range(counts[name])]
