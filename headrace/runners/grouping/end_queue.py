"""A timer queue for many items that end at different times, with one cheap entry for each.

Items are in buckets by their end. Only the items of the first bucket are in a heap. A bucket that has ended
as a whole is sorted once, so most items never enter the heap. If an item grows or is removed, its entry is
corrected when its bucket comes first.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from operator import attrgetter
from typing import Final, Generic, Protocol, TypeVar

import attrs

from headrace.triggers.trigger import NEVER
from headrace.windowing.time.timestamps import MIN_MICROS

REMOVED: Final = MIN_MICROS - 1
"""The end of an item that has been removed."""


class HasEnd(Protocol):
    """An item of a queue: its end is in microseconds, and may become later."""

    end: int


T = TypeVar("T", bound=HasEnd)

_end_of: Final = attrgetter("end")


@attrs.define(slots=True, eq=False)
class EndQueue(Generic[T]):
    """Items by end, the earliest first.

    Args:
        width: the width of a bucket, in microseconds.
    """

    width: int
    _buckets: dict[int, list[T]] = attrs.field(factory=dict, init=False)
    _numbers: list[int] = attrs.field(factory=list, init=False)
    _first: list[tuple[int, int, T]] = attrs.field(factory=list, init=False)
    _first_number: int = attrs.field(default=REMOVED, init=False)
    _serial: int = attrs.field(default=0, init=False)

    def add(self, item: T) -> None:
        """Add an item."""
        self.extend((item,))

    def extend(self, items: Iterable[T]) -> None:
        """Add items."""
        width, bucket_of = self.width, self._buckets.get
        for item in items:
            number = item.end // width
            bucket = bucket_of(number)
            if bucket is not None:
                bucket.append(item)
            elif number <= self._first_number:
                self._push(item)
            else:
                self._buckets[number] = [item]
                heappush(self._numbers, number)

    @property
    def first(self) -> int:
        """The earliest end; NEVER if there are no items."""
        while not self._correct():
            if not self._numbers:
                return NEVER
            self._load()
        return self._first[0][0]

    def pop(self, until: int) -> list[T]:
        """Remove the items that end by a time, and return them, the earliest first."""
        popped: list[T] = []
        while True:
            while self._correct() and self._first[0][0] <= until:
                popped.append(heappop(self._first)[2])
            if self._first or not self._numbers or self._numbers[0] * self.width > until:
                return popped
            if (self._numbers[0] + 1) * self.width <= until + 1:
                popped += sorted(self._take(), key=_end_of)
            else:
                self._load()

    def _correct(self) -> bool:
        """Correct the entries at the top of the heap; return whether there is a valid one."""
        entries = self._first
        while entries:
            end, _, item = entries[0]
            if item.end == end:
                return True
            heappop(entries)
            if item.end != REMOVED:
                self.add(item)
        return False

    def _load(self) -> None:
        """Move the items of the first bucket to the heap, which is empty."""
        self._first_number = self._numbers[0]
        for item in self._take():
            self._push(item)

    def _take(self) -> list[T]:
        """Remove the first bucket and return its items, without those that have grown or been removed."""
        number, width = heappop(self._numbers), self.width
        taken: list[T] = []
        grown: list[T] = []
        for item in self._buckets.pop(number):
            if item.end // width == number:
                taken.append(item)
            elif item.end != REMOVED:
                grown.append(item)
        self.extend(grown)
        return taken

    def _push(self, item: T) -> None:
        self._serial += 1
        heappush(self._first, (item.end, self._serial, item))
