"""One key under a grouping, driven by hand: no pipeline, no runner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from headrace.grouping.grouping import Grouping
from headrace.grouping.pane_output import Arrival, Panes
from headrace.grouping.reduction import Reduction
from headrace.grouping.state.key_state import KeyState
from headrace.runners.contents.reductions import reduction_of
from headrace.triggers import WindowingStrategy
from headrace.triggers.trigger import Arrived, Clock
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow

Row = tuple[Any, ...]
"""A value, its timestamp in microseconds, and -1 if it is a retraction."""

Event = tuple[str, Any]
"""("elements", rows), ("watermark", microseconds) or ("clock", microseconds)."""


def same(key: KeyState) -> KeyState:
    return key


def arrival(window: BoundedWindow, values: Sequence[Any], reduction: Reduction) -> Arrival:
    """Elements that arrived together in a window, all at its last instant."""
    return Arrival(
        window, reduction.of(list(values)), Arrived(len(values)), window.last, window.last
    )


@attrs.define
class OneKey:
    """A key; whatever happens to it goes through ``between`` first, which may store its state away.

    Attributes:
        strategy: where, when and how.
        reduction: what its panes hold; lists, if nothing else is said.
        between: makes of the state of the key the one to go on with.
        changing: whether retractions may come.
    """

    strategy: WindowingStrategy
    reduction: Reduction = attrs.field(factory=lambda: reduction_of(None, changing=False))
    between: Callable[[KeyState], KeyState] = same
    changing: bool = False
    clock: Clock = attrs.field(factory=lambda: Clock(MIN_MICROS, 0))
    state: KeyState = attrs.field(factory=KeyState)
    panes: Panes = attrs.field(factory=Panes)
    grouping: Grouping = attrs.field(init=False)

    @grouping.default
    def _grouping(self) -> Grouping:
        return Grouping(self.strategy, self.reduction, self.changing)

    def arrive(self, rows: Iterable[Row]) -> None:
        """Elements arrive together."""
        self.take(list(self._arrivals(list(rows))))

    def take(self, arrivals: Sequence[Arrival]) -> None:
        """Arrivals come, one for each window."""
        self.state = self.between(self.state)
        self.grouping.process(self.state, arrivals, self.clock, self.panes)

    def watermark(self, watermark: int) -> None:
        self._reach(self.clock._replace(watermark=watermark))

    def now(self, now: int) -> None:
        self._reach(self.clock._replace(now=now))

    def play(self, script: Iterable[Event]) -> OneKey:
        """Let all happen that a script says."""
        happen: dict[str, Callable[[Any], None]] = {
            "elements": self.arrive,
            "watermark": self.watermark,
            "clock": self.now,
        }
        for kind, what in script:
            happen[kind](what)
        return self

    @property
    def said(self) -> list[tuple[Any, ...]]:
        """All that came out, in order: diff, value, timestamp, window and pane."""
        out = self.panes
        columns = zip(out.diffs, out.values, out.timestamps, out.windows, out.panes, strict=True)
        return [tuple(column) for column in columns]

    @property
    def dropped(self) -> int:
        return sum(arrival.arrived.count for arrival in self.panes.dropped)

    def _reach(self, clock: Clock) -> None:
        self.clock = clock
        self.state = self.between(self.state)
        self.grouping.wake(self.state, clock, self.panes)

    def _arrivals(self, rows: list[Row]) -> Iterable[Arrival]:
        values = [value for value, *_ in rows]
        times = [time for _, time, *_ in rows]
        pairs = [("k", value) for value in values]
        columns = self.strategy.window_fn.assign_column(pairs, times)
        placed: dict[BoundedWindow, list[Row]] = {}
        for row, windows in zip(rows, columns, strict=False):
            for window in windows:
                placed.setdefault(window, []).append((*row, 1)[:3])
        for window, members in placed.items():
            values, times, diffs = map(list, zip(*members, strict=True))
            content = self.reduction.of(values, diffs if self.changing else None)
            net: Counter[int] = Counter()
            for time, diff in zip(times, diffs, strict=True):
                net[time] += diff
            arrived = self._arrived(values)
            yield Arrival(window, content, arrived, min(times), max(times), times=net)

    def _arrived(self, values: list[Any]) -> Arrived:
        matched_predicates = (p for p in self.strategy.trigger.predicates if any(map(p, values)))
        return Arrived(len(values), len(values), frozenset(matched_predicates))
