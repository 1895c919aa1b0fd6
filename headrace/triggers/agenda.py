"""An agenda: items with a moment each, of which the earliest is always at hand.

A heap over a dictionary. An item that changes its moment leaves the old entry where it is; an entry counts
only while the dictionary agrees with it, so nothing is ever searched for or removed from the middle.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from headrace.triggers.trigger import NEVER

T = TypeVar("T", bound=Hashable)


class Agenda(Generic[T]):
    """Items by moment, in microseconds; ties in the order in which they were set.

    >>> agenda = Agenda({"b": 20})
    >>> agenda.set("a", 30)
    >>> agenda.set("a", 10)
    >>> agenda.first, agenda.pop(until=20), agenda.first == NEVER
    (10, ['a', 'b'], True)
    """

    __slots__ = ("_heap", "_serial", "moments")

    def __init__(self, moments: dict[T, int] | None = None) -> None:
        self.moments = moments or {}
        self._heap = [(m, n, item) for n, (item, m) in enumerate(self.moments.items())]
        self._serial = len(self._heap)
        heapify(self._heap)

    def set(self, item: T, moment: int) -> None:
        """Give an item its moment, instead of the one it had; NEVER takes it off the agenda."""
        if moment == NEVER:
            self.moments.pop(item, None)
        elif self.moments.get(item) != moment:
            self.moments[item] = moment
            self._serial += 1
            heappush(self._heap, (moment, self._serial, item))

    def get(self, item: T) -> int:
        """Return the moment of an item; NEVER if it has none."""
        return self.moments.get(item, NEVER)

    @property
    def first(self) -> int:
        """The earliest moment; NEVER if there is none."""
        heap, moments = self._heap, self.moments
        while heap:
            moment, _, item = heap[0]
            if moments.get(item) == moment:
                return moment
            heappop(heap)
        return NEVER

    def pop(self, until: int) -> list[T]:
        """Take the items whose moment is no later than this off the agenda, the earliest first."""
        popped = []
        while self.first <= until:
            item = heappop(self._heap)[2]
            del self.moments[item]
            popped.append(item)
        return popped

    def __eq__(self, other: object) -> bool:
        """Compare what is on the agenda."""
        return isinstance(other, Agenda) and self.moments == other.moments
