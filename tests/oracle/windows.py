"""WHERE: the windows of an element, (start, end) in microseconds, and which become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import attrs

from tests.oracle.story import GLOBAL, MAX, Window


class WindowFn:
    def assign(self, element: Any, timestamp: int) -> list[Window]:
        raise NotImplementedError

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        """What each of a key's windows becomes."""
        return {w: w for w in windows}

    def merges(self) -> bool:
        """Whether windows may become others."""
        return type(self).merge is not WindowFn.merge

    def reach(self) -> int:
        """How far back before its own end the window of one element can meet another window."""
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
    """``max_gap`` is the largest gap, where it depends on the element."""

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
    """So long for each element; those that touch, or lie at most ``near`` apart, become one."""

    size: int
    near: int

    def assign(self, element: Any, timestamp: int) -> list[Window]:
        start = min(timestamp, MAX - 1)
        return [(start, min(start + self.size, MAX))]

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        return {w: self.cover(self.linked({w}, set(windows))) for w in windows}

    def linked(self, found: set[Window], windows: set[Window]) -> set[Window]:
        """All windows that are linked to some, directly or through others."""
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
    """From an element's own time to that of the next one: windows that shrink."""

    def assign(self, element: Any, timestamp: int) -> list[Window]:
        return [self.for_good(timestamp)]

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        starts = sorted({start for start, _ in windows})
        become = dict(pairwise(starts))
        return {w: (w[0], become[w[0]]) if w[0] in become else self.for_good(w[0]) for w in windows}

    def reach(self) -> int:
        return 1

    def for_good(self, start: int) -> Window:
        return start, max(GLOBAL[1], start + 1)


@attrs.frozen
class Calendar(WindowFn):
    """So many days or months from a first day on, from midnight to midnight in a zone."""

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
