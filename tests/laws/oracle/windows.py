"""Window functions: the windows (start, end) of an element in microseconds, and how windows merge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import attrs

from tests.laws.oracle.window_history import GLOBAL, MAX, Window


class WindowFn:
    def assign(self, element: Any, timestamp: int) -> list[Window]:
        raise NotImplementedError

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        """The merged window of each of a key's windows."""
        return {w: w for w in windows}

    def merges(self) -> bool:
        """Whether windows can merge or change."""
        return type(self).merge is not WindowFn.merge

    def reach(self) -> int:
        """The maximum distance from the end of an element's window back to a window that it merges with."""
        return 0


@attrs.frozen
class Global(WindowFn):
    def assign(self, element: Any, timestamp: int) -> list[Window]:
        return [GLOBAL]


@attrs.frozen
class Sliding(WindowFn):
    size: int
    period: int
    offset: int = 0

    def assign(self, element: Any, timestamp: int) -> list[Window]:
        newest = timestamp - (timestamp - self.offset) % self.period
        starts = range(newest, timestamp - self.size, -self.period)
        return [(start, start + self.size) for start in starts]


def fixed(size: int, offset: int = 0) -> Sliding:
    return Sliding(size, size, offset)


@attrs.frozen
class Sessions(WindowFn):
    """``max_gap`` is the maximum gap, if the gap depends on the element."""

    gap: int | Callable[[Any], int]
    max_gap: int | None = None

    def assign(self, element: Any, timestamp: int) -> list[Window]:
        gap = self.gap(element) if callable(self.gap) else self.gap
        return [(timestamp, timestamp + gap)]

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        sessions: list[Window] = []
        for start, end in sorted(windows):
            if sessions and start < sessions[-1][1]:
                sessions[-1] = (sessions[-1][0], max(sessions[-1][1], end))
            else:
                sessions.append((start, end))
        return {w: next(s for s in sessions if s[0] <= w[0] < s[1]) for w in windows}

    def reach(self) -> int:
        if not callable(self.gap):
            return self.gap
        if self.max_gap is None:
            raise ValueError("a gap that depends on the element needs max_gap")
        return self.max_gap


@attrs.frozen
class Linked(WindowFn):
    """Windows of a fixed size; those at most ``near`` apart merge."""

    size: int
    near: int

    def assign(self, element: Any, timestamp: int) -> list[Window]:
        start = min(timestamp, MAX - 1)
        return [(start, min(start + self.size, MAX))]

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        return {w: self.cover(self.linked({w}, set(windows))) for w in windows}

    def linked(self, found: set[Window], windows: set[Window]) -> set[Window]:
        """All windows that are linked to some windows, directly or through others."""
        more = {w for w in windows if any(self.are_near(w, f) for f in found)}
        return found if more <= found else self.linked(found | more, windows)

    def are_near(self, one: Window, other: Window) -> bool:
        return one[0] <= other[1] + self.near and other[0] <= one[1] + self.near

    def cover(self, windows: set[Window]) -> Window:
        return min(start for start, _ in windows), max(end for _, end in windows)

    def reach(self) -> int:
        return self.size + self.near


@attrs.frozen
class Validity(WindowFn):
    """From the timestamp of an element to that of the next one: these windows shrink."""

    def assign(self, element: Any, timestamp: int) -> list[Window]:
        return [self.unbounded(timestamp)]

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        starts = sorted({start for start, _ in windows})
        next_start = dict(pairwise(starts))
        return {
            w: (w[0], next_start[w[0]]) if w[0] in next_start else self.unbounded(w[0])
            for w in windows
        }

    def reach(self) -> int:
        return 1

    def unbounded(self, start: int) -> Window:
        return start, max(GLOBAL[1], start + 1)


@attrs.frozen
class Calendar(WindowFn):
    """Windows of N days or months from a first day on, from midnight to midnight in a time zone."""

    days: int
    months: int
    zone: str
    first: date

    def assign(self, element: Any, timestamp: int) -> list[Window]:
        return [next(w for w in self.around(timestamp) if w[0] <= timestamp < w[1])]

    def around(self, timestamp: int) -> Iterator[Window]:
        step = 1 if timestamp >= self.midnight(0) else -1
        for n in count(0, step):
            yield self.midnight(n), self.midnight(n + 1)

    def midnight(self, n: int) -> int:
        years, month = divmod(self.first.month - 1 + n * self.months, 12)
        day = date(self.first.year + years, month + 1, self.first.day) + timedelta(n * self.days)
        start = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(self.zone))
        return (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
