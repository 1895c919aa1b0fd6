"""A grouping over all the keys of one place: who is alive, and whose moment has come.

The grouping knows one key; this is the table of keys around it, with timers over their moments, so that a
step of the watermark costs by the keys that it concerns.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import attrs

from headrace.runners.precombine import Arrivals
from headrace.triggers.bundle import Bundle, Element
from headrace.triggers.grouping import Grouping
from headrace.triggers.key_state import KeyState
from headrace.triggers.pane_output import Panes
from headrace.triggers.timer_queue import TimerQueue
from headrace.triggers.trigger import NEVER, Clock


@attrs.define(eq=False)
class KeyedPanes:
    """The panes of several keys, and the elements that came too late."""

    panes: Panes = attrs.field(factory=Panes)
    late: list[Element] = attrs.field(factory=list)
    dropped: int = 0
    _keys: list[Any] = attrs.field(factory=list)

    def credit(self, key: Any) -> None:
        """Note that whatever came out since the last call belongs to a key."""
        panes = self.panes
        self._keys.extend([key] * (len(panes.values) - len(self._keys)))
        for arrival in panes.dropped:
            self.dropped += arrival.arrived.count
            self.late.extend(
                element._replace(value=(key, element.value), windows=(arrival.window,))
                for element in arrival.elements
            )
        panes.dropped.clear()

    def __len__(self) -> int:
        """Return the number of panes."""
        return len(self._keys)

    def bundle(self) -> Bundle:
        """Return the panes as (key, value) pairs."""
        return self.panes.bundle(self._keys)


@attrs.define(eq=False)
class KeyedGrouping:
    """The live keys of one grouping."""

    grouping: Grouping
    _states: dict[Hashable, tuple[Any, KeyState]] = attrs.field(factory=dict, init=False)
    _event_timers: TimerQueue[Hashable] = attrs.field(factory=TimerQueue, init=False)
    _processing_timers: TimerQueue[Hashable] = attrs.field(factory=TimerQueue, init=False)
    _holds: TimerQueue[Hashable] = attrs.field(factory=TimerQueue, init=False)

    def add(self, arrivals: Arrivals, clock: Clock, out: KeyedPanes) -> None:
        """Take what arrived together, key by key."""
        for identity, key, arrived in arrivals:
            if identity not in self._states:
                self._states[identity] = key, KeyState()
            key, state = self._states[identity]
            self.grouping.add(state, arrived, clock, out.panes)
            out.credit(key)
            self._note(identity, state)

    def wake(self, clock: Clock, out: KeyedPanes) -> None:
        """Wake the keys whose moment has come, the earliest first."""
        due = self._event_timers.pop(clock.watermark)
        alarmed = self._processing_timers.pop(clock.now)
        for identity in dict.fromkeys(due + alarmed):
            key, state = self._states[identity]
            self.grouping.wake(state, clock, out.panes)
            out.credit(key)
            self._note(identity, state)

    @property
    def hold(self) -> int:
        """The moment that the output watermark may not pass; NEVER if there is none."""
        return self._holds.first

    def __len__(self) -> int:
        """Return the number of live keys."""
        return len(self._states)

    def _note(self, identity: Hashable, state: KeyState) -> None:
        """Bring the timers up to what a key's state says now; forget a key that holds nothing."""
        if not state.is_empty:
            self._event_timers.set(identity, state.event_timers.first)
            self._processing_timers.set(identity, state.processing_timers.first)
            self._holds.set(identity, state.hold)
        else:
            del self._states[identity]
            for timers in (self._event_timers, self._processing_timers, self._holds):
                timers.set(identity, NEVER)
