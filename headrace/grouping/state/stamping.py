"""Timestamps of panes that depend on all elements of their window.

In retracting mode a pane replaces the one before it, so its timestamp is the earliest or latest of all its
elements, not only of the new ones. Contents are then pairs: the content of the reduction, and the timestamps
of its elements. If the input can hold retractions, all timestamps are kept, with the number of insertions
less the number of retractions; a timestamp counts while this is positive. Otherwise one timestamp is enough.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, TypeAlias

import attrs

from headrace.grouping.pane_output import Arrival
from headrace.grouping.reduction import Content, Reduction
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER
from headrace.windowing.timestamp_combiner import TimestampCombiner

Stamped: TypeAlias = tuple[Content, Any]
"""A content and the timestamps of its elements."""

Net: TypeAlias = tuple[dict[int, int], list[int]]
"""The count of each timestamp, and a heap of those with a positive count; the heap may hold others, too."""


@attrs.frozen
class Stamping(Reduction):
    """A reduction whose contents include the timestamps of their elements.

    Attributes:
        inner: what a pane holds.
        sign: 1 for the earliest timestamp, -1 for the latest.
        changing: whether the input can hold retractions.
    """

    inner: Reduction
    sign: int
    changing: bool

    def add_timestamps(self, arrival: Arrival) -> Arrival:
        """Add the timestamps of an arrival to its content."""
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
        """Return the timestamp of a content, in microseconds; NEVER if the content is empty."""
        times = content[1]
        first = _first(times) if self.changing else times
        return first if first == NEVER else self.sign * first

    def empty(self) -> Stamped:
        """Return an empty content."""
        return self.inner.empty(), ({}, []) if self.changing else NEVER

    def of(self, values: list[Any], diffs: list[int] | None = None) -> Stamped:
        """Not supported: values alone have no timestamps."""
        raise AssertionError("contents with timestamps are made of arrivals, not of values")

    def merge(self, one: Stamped, other: Stamped) -> Stamped:
        """Merge contents and timestamps."""
        merged = self.inner.merge(one[0], other[0])
        return merged, _merged(one[1], other[1]) if self.changing else min(one[1], other[1])

    def copy(self, content: Stamped) -> Stamped:
        """Copy content and timestamps."""
        times = content[1]
        copied = (times[0].copy(), times[1].copy()) if self.changing else times
        return self.inner.copy(content[0]), copied

    def is_empty(self, content: Stamped) -> bool:
        """Return whether no value is left in the content."""
        return self.inner.is_empty(content[0])

    def can_forget(self, content: Stamped) -> bool:
        """Return whether the content can be dropped."""
        return self.inner.can_forget(content[0])

    def takes_back(self, dropped: Stamped, held: Stamped, change: Stamped, count: int) -> bool:
        """Return whether a change retracts values that were dropped, and that are not held."""
        return self.inner.takes_back(dropped[0], held[0], change[0], count)

    @property
    def folds(self) -> bool:
        """Whether contents stay small when they merge."""
        return self.inner.folds and not self.changing

    def result(self, content: Stamped) -> Any:
        """Return the value of a pane."""
        return self.inner.result(content[0])

    def copy_result(self, value: object) -> object:
        """Return a copy of the value of a pane."""
        return self.inner.copy_result(value)


def stamping(strategy: WindowingStrategy, reduction: Reduction, changing: bool) -> Stamping | None:
    """Return the stamping of a grouping; None if the timestamps of panes do not depend on all elements."""
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


def _merged(one: Net, other: Net) -> Net:
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
