"""Merging of windows: which windows become one, and what becomes of what they held.

Windows that hold state unite their states; elements that have just arrived only follow their window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from operator import attrgetter

from headrace.triggers.key_state import KeyState, Output, WindowState, recall
from headrace.triggers.panes import Arrival, Panes, united
from headrace.triggers.reduction import Reduction
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.merging import Merge, merges
from headrace.windowing.window import BoundedWindow

_window_of = attrgetter("window")

Source = tuple[BoundedWindow, WindowState, int]
"""A live window that merges: the window, its state, its hold."""


class Merging:
    """The merging of one grouping's windows, one key at a time.

    Args:
        strategy: its window function merges.
        reduction: how contents merge.
    """

    def __init__(self, strategy: WindowingStrategy, reduction: Reduction) -> None:
        self._strategy = strategy
        self._reduction = reduction

    def merge(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> tuple[list[Arrival], list[BoundedWindow]]:
        """Merge the windows of new elements with each other and with those that live.

        Returns:
            The arrivals in their merged windows, and the windows that took over the state of others.
        """
        kept, plan = self._plan(key, arrivals, clock.watermark, out)
        arrived = {arrival.window: arrival for arrival in kept}
        unions = [(merge.target, _take_out(key, merge)) for merge in plan]
        united = [target for target, sources in unions if sources]
        for target, sources in unions:
            if sources:
                self._unite(key, target, sources, clock)
        landed = [
            self._land(merge.target, [arrived[w] for w in merge.sources if w in arrived])
            for merge in plan
            if not arrived.keys().isdisjoint(merge.sources)
        ]
        return landed, united

    def _plan(
        self, key: KeyState, arrivals: Sequence[Arrival], watermark: int, out: Panes
    ) -> tuple[Sequence[Arrival], list[Merge]]:
        """Plan the merges; new elements that are too late even so are dropped and merge nothing."""
        while True:
            plan = merges(self._strategy.window_fn, key.order, [a.window for a in arrivals])
            late = {w for m in plan if self._is_late(key, m, watermark) for w in m.sources}
            if not late:
                return arrivals, plan
            out.dropped.extend(a for a in arrivals if a.window in late)
            arrivals = [a for a in arrivals if a.window not in late]

    def _is_late(self, key: KeyState, merge: Merge, watermark: int) -> bool:
        expired = self._strategy.expiry(merge.target.last) <= watermark
        return expired and key.windows.keys().isdisjoint(merge.sources)

    def _unite(
        self, key: KeyState, target: BoundedWindow, sources: list[Source], clock: Clock
    ) -> None:
        """Make one state of those of several windows; the count of panes goes on only in place."""
        windows, states, holds = zip(*sources, strict=True)
        in_place = states[windows.index(target)] if target in windows else None
        outputs = list(chain.from_iterable(state.outputs for state in states))
        state = WindowState(
            trigger=self._strategy.trigger.on_merge(
                [state.trigger for state in states], target.last, clock
            ),
            content=reduce(self._reduction.merge, (state.content for state in states)),
            fresh=sum(state.fresh for state in states) + _moved(outputs, target),
            index=in_place.index if in_place else 0,
            nonspeculative=in_place.nonspeculative if in_place else 0,
            past_early=any(state.past_early for state in states),
            outputs=tuple(sorted(outputs, key=_window_of)),
        )
        key.enlist(target, state)
        key.holds.set(target, self._united_hold(target.last, holds, clock.watermark))
        key.recalls.set(target, recall(state, target.last, self._strategy))

    def _united_hold(self, last: int, holds: Sequence[int], watermark: int) -> int:
        """Hold on for what is held and has not come out; a window that shrank into the past cannot."""
        held = [hold for hold in holds if hold != NEVER]
        if not held or last < min(*held, watermark):
            return NEVER
        return min(self._strategy.output_time(last, min(held), max(held)), last)

    def _land(self, target: BoundedWindow, arrivals: list[Arrival]) -> Arrival:
        """Put arrivals together in the window that theirs have become."""
        if len(arrivals) == 1 and arrivals[0].window == target:
            return arrivals[0]
        return united(target, arrivals, self._reduction.merge)


def _take_out(key: KeyState, merge: Merge) -> list[Source]:
    """Take the live sources of a merge out of a key, in order; none where nothing changes."""
    live = sorted(window for window in merge.sources if window in key.windows)
    if live == [merge.target]:
        return []
    sources = [(window, key.windows[window], key.holds.get(window)) for window in live]
    for window in live:
        key.strike(window)
    return sources


def _moved(outputs: list[Output], target: BoundedWindow) -> int:
    """Count the panes that stand in windows which are no more; to take them back is news."""
    return sum(pane.window != target for pane in outputs)
