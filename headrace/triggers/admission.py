"""Which elements a grouping takes whose windows merge, and what merges on their account.

Lateness is decided when windows have merged: an element whose own window has expired is taken where it
joins a live one. But it must not reach back to windows that are gone, so that what is taken always finds
what it merges with. A key knows since when nothing of it is gone; what begins earlier is taken only where a
live window holds it without becoming larger. And an element that would come into a closed window is dropped
before it merges anything.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import attrs

from headrace.triggers.contents import Contents
from headrace.triggers.emission import is_late
from headrace.triggers.key_state import KeyState
from headrace.triggers.pane_output import Arrival, Panes
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Clock
from headrace.windowing.merging import Merge, merges
from headrace.windowing.window import BoundedWindow


class Admitted(NamedTuple):
    """What is taken.

    Attributes:
        arrivals: the arrivals, in their own windows.
        merges: the merges that they make.
    """

    arrivals: list[Arrival]
    merges: list[Merge]


@attrs.frozen
class Admission:
    """The rules of lateness for a strategy whose windows merge, one key at a time.

    Attributes:
        strategy: where, when and how.
        contents: what windows hold.
        hands_on_windows: whether a grouping behind merges the windows again. It knows as much as there may
            be before the start of those that are kept here, and no more.
    """

    strategy: WindowingStrategy
    contents: Contents
    hands_on_windows: bool
    may_close: bool = attrs.field(init=False)

    @may_close.default
    def _may_close(self) -> bool:
        return self.strategy.trigger.may_finish(self.strategy)

    def admit(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> Admitted:
        """Decide what is taken; the rest is dropped."""
        owing = [a for a in arrivals if self.contents.parted and not self.contents.joins(key, a)]
        left = _without(arrivals, {a.window for a in owing}) if owing else arrivals
        while True:
            plan = self._plan(key, left, clock.watermark)
            closed = self._closed(key, plan, clock) if self.may_close else set()
            if not closed:
                break
            left = _without(left, closed)
        taken = [*plan.arrivals, *self._in_time(owing, clock.watermark)]
        if len(taken) < len(arrivals):
            out.dropped.extend(_without(arrivals, {a.window for a in taken}))
        return Admitted(taken, plan.merges)

    def _plan(self, key: KeyState, arrivals: Sequence[Arrival], watermark: int) -> Admitted:
        """Merge what is in time with the windows that are kept, then see what these take of the rest."""
        in_time = self._in_time(arrivals, watermark)
        behind = (
            [] if len(in_time) == len(arrivals) else _without(arrivals, {a.window for a in in_time})
        )
        while True:
            plan = self._merges(key.order, in_time)
            late = {w for m in plan if self._is_late(key, m, watermark) for w in m.sources}
            if not late:
                break
            in_time = _without(in_time, late)
        if behind:
            behind, plan = self._joining(key, behind, plan, watermark)
        return Admitted([*in_time, *behind], plan)

    def _in_time(self, arrivals: Sequence[Arrival], watermark: int) -> list[Arrival]:
        return [a for a in arrivals if not is_late(self.strategy, a.window.last, watermark)]

    def _merges(self, live: Sequence[BoundedWindow], arrivals: Iterable[Arrival]) -> list[Merge]:
        return merges(self.strategy.window_fn, live, [a.window for a in arrivals])

    def _is_late(self, key: KeyState, merge: Merge, watermark: int) -> bool:
        """Tell whether a merge makes a window that has expired, and none of its sources lives."""
        if not is_late(self.strategy, merge.target.last, watermark):
            return False
        states = (key.windows[window] for window in merge.sources if window in key.windows)
        return all(state.expired for state in states)

    def _joining(
        self,
        key: KeyState,
        behind: list[Arrival],
        plan: list[Merge],
        watermark: int,
    ) -> tuple[list[Arrival], list[Merge]]:
        """Find live windows that take what is behind, and let it join the merges."""
        changing = {window for merge in plan for window in merge.sources}
        targets = {merge.target: merge for merge in plan}
        stand = sorted({window for window in key.order if window not in changing} | targets.keys())
        live = {window for window in stand if self._is_live(key, window, watermark)}
        while True:
            found = self._merges(stand, behind)
            late = {a.window for a in behind}
            outside = {
                window
                for merge in found
                for window in late.intersection(merge.sources)
                if not self._takes(key, merge, window, live, stand)
            }
            if not outside:
                break
            behind = _without(behind, outside)
        for merge in found:
            sources = {source for w in merge.sources for source in _sources(w, targets, late)}
            for window in merge.sources:
                targets.pop(window, None)
            targets[merge.target] = Merge(sorted(sources), merge.target)
        return behind, list(targets.values())

    def _is_live(self, key: KeyState, window: BoundedWindow, watermark: int) -> bool:
        """Tell whether a window that stands still takes elements."""
        state = key.windows.get(window)
        return not (is_late(self.strategy, window.last, watermark) or (state and state.expired))

    def _takes(
        self,
        key: KeyState,
        merge: Merge,
        window: BoundedWindow,
        live: Container[BoundedWindow],
        stand: Container[BoundedWindow],
    ) -> bool:
        """Tell whether live windows take what is behind, and nothing that is gone can have been near."""
        standing = [source for source in merge.sources if source in stand]
        if not any(source in live for source in standing):
            return False
        known_since = standing[0][0] - 1 if self.hands_on_windows else key.since
        reaches_back_to = min(window[0], window[1] - self.strategy.reach)
        return standing == [merge.target] or bool(reaches_back_to > known_since)

    def _closed(self, key: KeyState, plan: Admitted, clock: Clock) -> set[BoundedWindow]:
        """Return the own windows of arrivals that would come into a window whose trigger has finished."""
        arrived = {arrival.window for arrival in plan.arrivals}
        dropped: set[BoundedWindow] = set()
        for merge in plan.merges:
            if self._finishes(key, merge, clock):
                mine = [window for window in merge.sources if window in arrived]
                alone = [w for w in mine if self._finishes_alone(key, w, clock)]
                dropped.update(alone or mine)
        return dropped

    def _finishes_alone(self, key: KeyState, window: BoundedWindow, clock: Clock) -> bool:
        found = merges(self.strategy.window_fn, key.order, [window])
        return any(window in m.sources and self._finishes(key, m, clock) for m in found)

    def _finishes(self, key: KeyState, merge: Merge, clock: Clock) -> bool:
        """Tell whether the trigger of a merged window has finished, given its sources that are kept."""
        trigger = self.strategy.trigger
        kept = sorted(window for window in merge.sources if window in key.windows)
        if not kept:
            return False
        states = [key.windows[window].trigger for window in kept]
        if kept == [merge.target]:
            return trigger.finished(states[0])
        return trigger.finished(trigger.on_merge(states, merge.target.last, clock))


def _sources(
    window: BoundedWindow, targets: Mapping[BoundedWindow, Merge], late: Container[BoundedWindow]
) -> Iterator[BoundedWindow]:
    """Yield what a window that stands is made of, or what is behind itself."""
    if window in targets:
        yield from targets[window].sources
    if window not in targets or window in late:
        yield window


def _without(arrivals: Iterable[Arrival], windows: Collection[BoundedWindow]) -> list[Arrival]:
    """Return the arrivals of other windows."""
    return [arrival for arrival in arrivals if arrival.window not in windows]
