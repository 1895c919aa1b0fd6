"""A timer queue: items with the time of their timers, the earliest first.

A heap over a dictionary. If the time of an item changes, its old entry stays in the heap. An entry is valid
only while it is in the dictionary, so no entry is searched for or removed from the middle. If most entries
of the heap are invalid, the heap is rebuilt from the valid ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

from headrace.triggers.trigger import NEVER

T = TypeVar("T", bound=Hashable)

_SLACK: Final = 16
"""A heap may have at most twice as many entries as items, and this many more."""


class TimerQueue(Generic[T]):
    """Items by time, in microseconds; items with the same time in the order in which they were set.

    >>> timers = TimerQueue({"b": 20})
    >>> timers.set("a", 30)
    >>> timers.set("a", 10)
    >>> timers.first, timers.pop(until=20), timers.first == NEVER
    (10, ['a', 'b'], True)
    """

    __slots__ = ("_entries", "_heap", "_serial")

    def __init__(self, moments: dict[T, int] | None = None) -> None:
        self._entries: dict[T, tuple[int, int, T]] = {}
        self._heap: list[tuple[int, int, T]] = []
        self._serial = 0
        for item, moment in (moments or {}).items():
            self.set(item, moment)

    @property
    def moments(self) -> dict[T, int]:
        """The time of each item, in the order in which they were set."""
        return {item: entry[0] for item, entry in self._entries.items()}

    def set(self, item: T, moment: int) -> None:
        """Set the time of an item, in place of any earlier one; NEVER removes its timer."""
        before = self._entries.get(item)
        if before is None:
            if moment == NEVER:
                return
        elif before[0] == moment:
            return
        else:
            del self._entries[item]
        if moment != NEVER:
            self._serial += 1
            entry = self._entries[item] = (moment, self._serial, item)
            heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._entries) + _SLACK:
            self._heap = list(self._entries.values())
            heapify(self._heap)

    def get(self, item: T) -> int:
        """Return the time of an item; NEVER if it has no timer."""
        entry = self._entries.get(item)
        return NEVER if entry is None else entry[0]

    @property
    def first(self) -> int:
        """The earliest time; NEVER if there are no timers."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heap[0]
            if entries.get(entry[2]) is entry:
                return entry[0]
            heappop(heap)
        return NEVER

    def in_order(self, items: Iterable[T]) -> list[T]:
        """Return those of some items that have timers, the earliest first."""
        entries = self._entries
        return sorted(
            (item for item in items if item in entries), key=lambda item: entries[item][:2]
        )

    def pop(self, until: int) -> list[T]:
        """Remove the timers that are due and return their items, the earliest first."""
        popped = []
        while self.first <= until:
            item = heappop(self._heap)[2]
            del self._entries[item]
            popped.append(item)
        return popped

    def pop_first(self) -> T:
        """Remove the earliest timer and return its item; there must be one."""
        assert self.first != NEVER
        item = heappop(self._heap)[2]
        del self._entries[item]
        return item

    def __eq__(self, other: object) -> bool:
        """Compare the timers."""
        return isinstance(other, TimerQueue) and self.moments == other.moments
