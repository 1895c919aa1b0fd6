"""The value of a pane: a sum, a list or a maximum of the elements that are not retracted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import attrs

from headrace.sdk.coders.keys import encode_value
from tests.laws.oracle.window_history import Element


class Sum:
    """The sum of the insertions minus that of the retractions."""

    def all(self, elements: Iterable[Element]) -> int:
        return sum(e.diff * e.value for e in elements)

    def changes(self, elements: Iterable[Element]) -> list[tuple[Any, int]]:
        """The elements of a discarding pane."""
        return [(self.all(elements), 1)]

    def is_empty(self, elements: Iterable[Element]) -> bool:
        """Whether retractions have removed everything."""
        return sum(e.diff for e in elements) <= 0

    def takes_back(
        self, dropped: Iterable[Element], held: Iterable[Element], new: Iterable[Element]
    ) -> bool:
        """Whether there are more retractions than elements held, and something was dropped."""
        retractions = sum(e.diff < 0 for e in new)
        return sum(e.diff for e in dropped) > 0 and sum(e.diff for e in held) < retractions


class Bag:
    """A list of the values, sorted by their representation."""

    def all(self, elements: Iterable[Element]) -> list[Any]:
        return difference(elements, 1)

    def changes(self, elements: Iterable[Element]) -> list[tuple[Any, int]]:
        inserted, retracted = difference(elements, 1), difference(elements, -1)
        return [(inserted, 1)] * (bool(inserted) or not retracted) + [(retracted, -1)] * bool(
            retracted
        )

    def is_empty(self, elements: Iterable[Element]) -> bool:
        return not difference(elements, 1)

    def takes_back(
        self, dropped: Iterable[Element], held: Iterable[Element], new: Iterable[Element]
    ) -> bool:
        """Whether a value that was dropped is retracted more often than it is held."""
        new = [*new]
        retracted = set(map(repr, difference(new, -1)))
        missing = set(map(repr, difference([*held, *new], -1)))
        return bool(retracted & missing & set(map(repr, difference(dropped, 1))))


class Largest(Bag):
    """A maximum, which cannot subtract; 0 if there are no values."""

    def all(self, elements: Iterable[Element]) -> int:  # type: ignore[override]
        return max(difference(elements, 1), default=0)

    def changes(self, elements: Iterable[Element]) -> list[tuple[Any, int]]:
        return [(self.all(elements), 1)]


class Count(Sum):
    """The number of insertions minus that of retractions."""

    def all(self, elements: Iterable[Element]) -> int:
        return sum(e.diff for e in elements)


class Mean(Sum):
    """The mean of the values."""

    def all(self, elements: Iterable[Element]) -> Any:
        found = [*elements]
        return super().all(found) / sum(e.diff for e in found)


class Spread(Sum):
    """The variance of N values times N²; 0 if there are none."""

    def all(self, elements: Iterable[Element]) -> int:
        found = [*elements]
        number, total, squares = (sum(e.diff * e.value**p for e in found) for p in (0, 1, 2))
        return number * squares - total**2 if number > 0 else 0


class Max(Largest):
    """A maximum; None if there are no values."""

    def all(self, elements: Iterable[Element]) -> int | None:  # type: ignore[override]
        return max(difference(elements, 1), default=None)


class Several(Largest):
    """The sum and the maximum of the values."""

    def all(self, elements: Iterable[Element]) -> tuple[int, int | None]:  # type: ignore[override]
        values = difference(elements, 1)
        return sum(values), max(values, default=None)


class Distinct(Bag):
    """The number of distinct values, which cannot subtract."""

    def all(self, elements: Iterable[Element]) -> int:  # type: ignore[override]
        return len(set(map(repr, difference(elements, 1))))


class Last(Bag):
    """The last values by event time, and then by encoding; they cannot subtract."""

    def __init__(self, number: int) -> None:
        self.number = number

    def all(self, elements: Iterable[Element]) -> list[Any]:
        left = difference([_stamped(e) for e in elements], 1)
        left.sort(key=lambda pair: (pair[0], encode_value(pair[1])))
        return sorted((value for _, value in left[-self.number :]), key=repr)

    def is_empty(self, elements: Iterable[Element]) -> bool:
        return super().is_empty([_stamped(e) for e in elements])

    def takes_back(
        self, dropped: Iterable[Element], held: Iterable[Element], new: Iterable[Element]
    ) -> bool:
        return super().takes_back(
            *([_stamped(e) for e in elements] for elements in (dropped, held, new))
        )


class ByTime(Last):
    """The latest value, or the earliest one; None if there are no values."""

    def __init__(self, direction: int) -> None:
        super().__init__(1)
        self.direction = direction

    def all(self, elements: Iterable[Element]) -> Any:
        left = difference([_stamped(e) for e in elements], 1)
        left.sort(key=lambda pair: (pair[0] * self.direction, encode_value(pair[1])))
        return left[-1][1] if left else None

    def changes(self, elements: Iterable[Element]) -> list[tuple[Any, int]]:
        return [(self.all(elements), 1)]


def _stamped(e: Element) -> Element:
    return attrs.evolve(e, value=(e.timestamp, e.value))


def difference(elements: Iterable[Element], sign: int) -> list[Any]:
    """The values that were inserted more often than retracted (sign 1), or the reverse (sign -1)."""
    counts: Counter[str] = Counter()
    values = {repr(e.value): e.value for e in elements}
    for e in elements:
        counts[repr(e.value)] += sign * e.diff
    return [values[name] for name in sorted(counts) for _ in range(counts[name])]
