"""WHERE: the windows of an element, (start, end) in microseconds, and which become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import attrs

from tests.oracle.story import GLOBAL, Window


class WindowFn:
    def assign(self, element: Any, timestamp: int) -> list[Window]:
        raise NotImplementedError

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        """What each of a key's windows becomes."""
        return {w: w for w in windows}


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
    gap: int | Callable[[Any], int]

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


@attrs.frozen
class Validity(WindowFn):
    """From an element's own time to that of the next one: windows that shrink."""

    def assign(self, element: Any, timestamp: int) -> list[Window]:
        return [self.for_good(timestamp)]

    def merge(self, windows: Iterable[Window]) -> dict[Window, Window]:
        starts = sorted({start for start, _ in windows})
        become = dict(pairwise(starts))
        return {w: (w[0], become[w[0]]) if w[0] in become else self.for_good(w[0]) for w in windows}

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
