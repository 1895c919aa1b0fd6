"""The timestamp of a pane that stands for all that its window holds.

In retracting mode a pane replaces the one before it, so its timestamp is the earliest or the latest of all
elements that it holds, not of its news. Contents are then pairs: what the reduction makes, and the
timestamps of the elements. Where the input can hold retractions, a timestamp counts while it came more
often than it went, and all of them are kept; else one is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any, TypeAlias

import attrs

from headrace.triggers.pane_output import Arrival
from headrace.triggers.reduction import Content, Reduction
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER
from headrace.windowing.timestamp_combiner import TimestampCombiner

Stamped: TypeAlias = tuple[Content, Any]
"""A content and the timestamps of its elements."""

Net: TypeAlias = tuple[dict[int, int], list[int]]
"""How often each timestamp counts, and a heap of all that count; those that do not are passed over."""


@attrs.frozen
class Stamping:
    """A reduction whose contents know the timestamps of their elements.

    Attributes:
        inner: what a pane holds.
        sign: 1 where the earliest timestamp counts, -1 where it is the latest.
        changing: whether the input can hold retractions.
    """

    inner: Reduction
    sign: int
    changing: bool

    def stamped(self, arrival: Arrival) -> Arrival:
        """Let the content of an arrival know its timestamps."""
        arrival.content = arrival.content, self._times(arrival)
        return arrival

    def _times(self, arrival: Arrival) -> Any:
        if not self.changing:
            return self.sign * (arrival.earliest if self.sign > 0 else arrival.latest)
        net: Net = {}, []
        for timestamp, count in arrival.times.items():
            _count(net, self.sign * timestamp, count)
        return net

    def timestamp(self, content: Stamped) -> int:
        """Return the timestamp of all elements that are there, in microseconds; NEVER if there are none."""
        times = content[1]
        first = _first(times) if self.changing else times
        return first if first == NEVER else self.sign * first

    def empty(self) -> Stamped:
        """Return a content of nothing."""
        return self.inner.empty(), ({}, []) if self.changing else NEVER

    def of(self, values: list[Any], diffs: list[int] | None = None) -> Stamped:
        """Refuse: what is made of values alone knows no timestamps."""
        raise AssertionError("contents with timestamps are made of arrivals")

    def merge(self, one: Stamped, other: Stamped) -> Stamped:
        """Merge contents and timestamps."""
        merged = self.inner.merge(one[0], other[0])
        return merged, _united(one[1], other[1]) if self.changing else min(one[1], other[1])

    def compact(self, content: Stamped) -> Stamped:
        """Make the content smaller."""
        return self.inner.compact(content[0]), content[1]

    def copy(self, content: Stamped) -> Stamped:
        """Copy content and timestamps."""
        times = content[1]
        copied = (times[0].copy(), times[1].copy()) if self.changing else times
        return self.inner.copy(content[0]), copied

    def is_empty(self, content: Stamped) -> bool:
        """Tell whether retractions have left nothing."""
        return self.inner.is_empty(content[0])

    def can_forget(self, content: Stamped) -> bool:
        """Tell whether the content is surely that of nothing."""
        return self.inner.can_forget(content[0])

    @property
    def folds(self) -> bool:
        """Whether contents stay small when they merge."""
        return self.inner.folds and not self.changing

    def result(self, content: Stamped) -> Any:
        """Return the value of a pane."""
        return self.inner.result(content[0])

    def final(self, content: Stamped) -> Any:
        """Return the value of a window's only pane."""
        return self.inner.final(content[0])

    def deltas(self, content: Stamped) -> Iterable[tuple[Any, int]]:
        """Return what a discarding pane says."""
        return self.inner.deltas(content[0])


def stamping(strategy: WindowingStrategy, reduction: Reduction, changing: bool) -> Stamping | None:
    """Return the reduction of a grouping whose panes are stamped by all that they hold; else None."""
    if not strategy.stamps_all:
        return None
    earliest = strategy.timestamp_combiner is TimestampCombiner.OUTPUT_AT_EARLIEST
    return Stamping(reduction, 1 if earliest else -1, changing)


def _count(net: Net, timestamp: int, change: int) -> None:
    counts, heap = net
    before = counts.get(timestamp, 0)
    after = before + change
    if after:
        counts[timestamp] = after
    else:
        counts.pop(timestamp, None)
    if before <= 0 < after:
        heappush(heap, timestamp)


def _united(one: Net, other: Net) -> Net:
    """Add the counts of the smaller to the larger."""
    if len(one[0]) < len(other[0]):
        one, other = other, one
    for timestamp, count in other[0].items():
        _count(one, timestamp, count)
    return one


def _first(net: Net) -> int:
    counts, heap = net
    while heap and counts.get(heap[0], 0) <= 0:
        heappop(heap)
    return heap[0] if heap else NEVER
