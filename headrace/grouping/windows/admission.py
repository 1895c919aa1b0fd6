"""Lateness of elements if windows merge: which elements are accepted, and which windows merge with them.

Lateness is decided after merging: an element whose own window has expired is accepted if it joins a live
window. But it must not reach back to windows that have been removed, so that every window with which an
accepted element merges still exists. A key keeps all windows that end after a certain time
(``closed_until``); an element that reaches back further is accepted only if a live window covers it and does
not grow. An element that would join a closed window is dropped before it merges any windows.

A retraction of an element that was dropped is dropped too, with what arrives together with it in its own
window, also if that window would now accept it. So a key keeps what it has dropped for as long as a window
could accept it.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import attrs

from headrace.grouping.pane_output import Arrival, Panes
from headrace.grouping.state.contents import Contents
from headrace.grouping.state.key_state import KeyState
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Clock
from headrace.windowing.merging import Merge, merges
from headrace.windowing.window import BoundedWindow


class Admitted(NamedTuple):
    """The accepted elements.

    Attributes:
        arrivals: the arrivals, in their own windows.
        merges: the merges of windows that follow from them.
    """

    arrivals: list[Arrival]
    merges: list[Merge]


@attrs.frozen
class Admission:
    """The rules of lateness for a strategy whose windows merge, one key at a time.

    Attributes:
        strategy: where, when and how.
        contents: what windows hold.
        changing: whether the input can hold retractions.
        windows_are_reused: whether a downstream grouping merges the windows again. It keeps its windows back
            to the start of the windows that are kept here, and no further.
    """

    strategy: WindowingStrategy
    contents: Contents
    changing: bool
    windows_are_reused: bool
    may_close: bool = attrs.field(init=False)

    @may_close.default
    def _may_close(self) -> bool:
        return self.strategy.trigger.may_finish(self.strategy)

    def admit(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> Admitted:
        """Return the accepted arrivals, and drop the others."""
        remaining, watermark = arrivals, clock.watermark
        if not key.windows:
            key.closed_until = watermark - self.strategy.allowed_lateness - self.strategy.reach
        if key.dropped:
            remaining = [a for a in arrivals if not self.contents.takes_back(key, a)]
        debts = self._debts(key, remaining, watermark) if self.contents.can_split else []
        if debts:
            remaining = _without(remaining, {a.window for a in debts})
        while True:
            plan = self._plan(key, remaining, watermark)
            closed = self._closed(key, plan, clock) if self.may_close else set()
            if not closed:
                break
            remaining = _without(remaining, closed)
        taken = [*plan.arrivals, *self._in_time(debts, watermark)]
        if len(taken) < len(arrivals):
            self._drop(key, _without(arrivals, {a.window for a in taken}), watermark, out)
        return Admitted(taken, plan.merges)

    def _debts(self, key: KeyState, arrivals: Sequence[Arrival], watermark: int) -> list[Arrival]:
        """Return the arrivals that join no window."""
        in_time = {a.window for a in self._in_time(arrivals, watermark)}
        return [a for a in arrivals if not self.contents.joins(key, a, a.window in in_time)]

    def _drop(self, key: KeyState, arrivals: Sequence[Arrival], watermark: int, out: Panes) -> None:
        """Drop arrivals, and keep their contents until no retraction of them is accepted."""
        out.dropped.extend(arrivals)
        for arrival in arrivals if self.changing else ():
            window, until = arrival.window, self.strategy.cleanup_time(arrival.window.last)
            kept = until > watermark and self.contents.keep_dropped(key, arrival)
            if kept and window not in key.windows:
                key.event_timers.set(window, until)

    def _plan(self, key: KeyState, arrivals: Sequence[Arrival], watermark: int) -> Admitted:
        """Merge arrivals in time with windows that are kept, then add late arrivals that join live ones."""
        in_time = self._in_time(arrivals, watermark)
        late_arrivals = _without(arrivals, {a.window for a in in_time})
        while True:
            plan = self._merges(key.order, in_time)
            late = {w for m in plan if self._is_late(key, m, watermark) for w in m.sources}
            if not late:
                break
            in_time = _without(in_time, late)
        if late_arrivals:
            late_arrivals, plan = self._join_live_windows(key, late_arrivals, plan, watermark)
        return Admitted([*in_time, *late_arrivals], plan)

    def _in_time(self, arrivals: Sequence[Arrival], watermark: int) -> list[Arrival]:
        return [a for a in arrivals if not self.strategy.is_late(a.window.last, watermark)]

    def _merges(self, kept: Sequence[BoundedWindow], arrivals: Iterable[Arrival]) -> list[Merge]:
        return merges(self.strategy.window_fn, kept, [a.window for a in arrivals])

    def _is_late(self, key: KeyState, merge: Merge, watermark: int) -> bool:
        """Return whether the merged window has expired, and so has each source that is kept."""
        if not self.strategy.is_late(merge.target.last, watermark):
            return False
        states = (key.windows[window] for window in merge.sources if window in key.windows)
        return all(state.expired for state in states)

    def _join_live_windows(
        self,
        key: KeyState,
        late_arrivals: list[Arrival],
        plan: list[Merge],
        watermark: int,
    ) -> tuple[list[Arrival], list[Merge]]:
        """Add late arrivals that join live windows to the merges."""
        changed = {window for merge in plan for window in merge.sources}
        targets = {merge.target: merge for merge in plan}
        current = sorted({window for window in key.order if window not in changed} | targets.keys())
        live = {window for window in current if self._is_live(key, window, watermark)}
        while True:
            found = self._merges(current, late_arrivals)
            late = {a.window for a in late_arrivals}
            outside = {
                window
                for merge in found
                for window in late.intersection(merge.sources)
                if not self._accepts(key, merge, window, live, current)
            }
            if not outside:
                break
            late_arrivals = _without(late_arrivals, outside)
        for merge in found:
            sources = {source for w in merge.sources for source in _sources(w, targets, late)}
            for window in merge.sources:
                targets.pop(window, None)
            targets[merge.target] = Merge(sorted(sources), merge.target)
        return late_arrivals, list(targets.values())

    def _is_live(self, key: KeyState, window: BoundedWindow, watermark: int) -> bool:
        """Return whether a current window still takes elements."""
        state = key.windows.get(window)
        return not (self.strategy.is_late(window.last, watermark) or (state and state.expired))

    def _accepts(
        self,
        key: KeyState,
        merge: Merge,
        window: BoundedWindow,
        live: Container[BoundedWindow],
        current: Container[BoundedWindow],
    ) -> bool:
        """Return whether a live window accepts a late one with which no removed window could have merged."""
        current_sources = [source for source in merge.sources if source in current]
        if not any(source in live for source in current_sources):
            return False
        closed_until = current_sources[0][0] - 1 if self.windows_are_reused else key.closed_until
        reaches_back_to = min(window[0], window[1] - self.strategy.reach)
        return current_sources == [merge.target] or bool(reaches_back_to > closed_until)

    def _closed(self, key: KeyState, plan: Admitted, clock: Clock) -> set[BoundedWindow]:
        """Return the own windows of arrivals that would join a window whose trigger has finished."""
        arrived = {arrival.window for arrival in plan.arrivals}
        dropped: set[BoundedWindow] = set()
        for merge in plan.merges:
            if self._finishes(key, merge, clock):
                own = [window for window in merge.sources if window in arrived]
                alone = [w for w in own if self._finishes_alone(key, w, clock)]
                dropped.update(alone or own)
        return dropped

    def _finishes_alone(self, key: KeyState, window: BoundedWindow, clock: Clock) -> bool:
        found = merges(self.strategy.window_fn, key.order, [window])
        return any(window in m.sources and self._finishes(key, m, clock) for m in found)

    def _finishes(self, key: KeyState, merge: Merge, clock: Clock) -> bool:
        """Return whether the trigger of a merged window has finished, given its sources that are kept."""
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
    """Yield the sources of a merged window, or the window itself if it is not merged or is late."""
    if window in targets:
        yield from targets[window].sources
    if window not in targets or window in late:
        yield window


def _without(arrivals: Iterable[Arrival], windows: Collection[BoundedWindow]) -> list[Arrival]:
    """Return the arrivals of other windows."""
    return [arrival for arrival in arrivals if arrival.window not in windows]
