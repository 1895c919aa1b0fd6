"""Tables of keyed operators: keys with their states, timers and holds.

A keyed operator (:class:`~headrace.grouping.keyed_operator.KeyedOperator`) works on one key. A table holds
many keys, with timer queues, so that the cost of a round depends only on the keys that it touches or wakes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeAlias

import attrs

from headrace.grouping.keyed_operator import KeyedOperator, Moments
from headrace.grouping.state.timer_queue import TimerQueue
from headrace.runners.error_context import note_key
from headrace.runners.grouping.output import KeyedOutput
from headrace.triggers.trigger import Clock

KeyArrivals: TypeAlias = tuple[Hashable, Any, Any]
"""The identity of a key, the key, and the elements that arrived for it."""

Entry: TypeAlias = tuple[Any, tuple[int, int, int], bytes]
"""A key, its next timers and hold (see :class:`Moments`), and its frozen state."""


@attrs.define(eq=False)
class KeyedTable:
    """The keys of one keyed operator.

    Args:
        operator: the operator of each key.
        loads: reads a stored state; required if there are stored entries.
        stored: stored entries of keys, by identity. A state is thawed, and its timers enter the queues, when
            it is first needed.
    """

    operator: KeyedOperator[Any, Any, Any]
    loads: Callable[[bytes], Any] | None = None
    stored: dict[Hashable, Entry] = attrs.field(factory=dict)
    _states: dict[Hashable, tuple[object, object]] = attrs.field(factory=dict, init=False)
    _event_timers: TimerQueue[Hashable] = attrs.field(factory=TimerQueue, init=False)
    _processing_timers: TimerQueue[Hashable] = attrs.field(factory=TimerQueue, init=False)
    _holds: TimerQueue[Hashable] = attrs.field(factory=TimerQueue, init=False)

    def process(self, arrivals: Iterable[KeyArrivals], clock: Clock, out: KeyedOutput) -> None:
        """Process elements that arrived together, key by key."""
        for identity, key, elements in arrivals:
            self._apply(identity, key, out, self.operator.process, elements, clock)

    def wake(self, clock: Clock, out: KeyedOutput) -> None:
        """Wake the keys whose timers are due, the earliest first."""
        self._set_due_timers(clock)
        due = self._event_timers.pop(clock.watermark)
        due += self._processing_timers.pop(clock.now)
        for identity in dict.fromkeys(due):
            self._apply(identity, None, out, self.operator.wake, clock)

    def _apply(
        self,
        identity: Hashable,
        key: object,
        out: KeyedOutput,
        act: Callable[..., None],
        *given: Any,
    ) -> None:
        """Let the operator act on a key: on a stored one, or on a new one with this key."""
        key, state = self._states.get(identity) or self._state(identity, key)
        try:
            act(state, *given, out.panes)
        except Exception as error:
            note_key(error, key)
            raise
        out.assign_key(key)
        self._update_timers(identity, state)

    def _set_due_timers(self, clock: Clock) -> None:
        """Set the timers of the stored keys that are due."""
        for identity, (_, (event_timer, processing_timer, hold), _) in self.stored.items():
            if event_timer <= clock.watermark or processing_timer <= clock.now:
                self._set_timers(identity, Moments(event_timer, processing_timer, hold))

    def __contains__(self, identity: Hashable) -> bool:
        """Return whether a key is live."""
        return identity in self._states or identity in self.stored

    def put(self, identity: Hashable, key: object, state: object) -> None:
        """Add a key with its state."""
        self._states[identity] = key, state
        self._update_timers(identity, state)

    def get(self, identity: Hashable) -> tuple[Any, Any]:
        """Return a live key with its state."""
        return self._states[identity]

    def remove(self, identity: Hashable) -> None:
        """Remove a live key."""
        del self._states[identity]
        self._set_timers(identity, Moments())

    def _state(self, identity: Hashable, key: object) -> tuple[object, object]:
        """Return a key with its state, either a stored state or a new one."""
        entry = self.stored.pop(identity, None)
        if entry is None:
            state = self.operator.new_state()
        else:
            assert self.loads is not None
            key, state = entry[0], self.operator.thaw(self.loads(entry[2]))
        known = self._states[identity] = key, state
        return known

    def _update_timers(self, identity: Hashable, state: object) -> None:
        """Update the timers and the hold of a key; remove the key if its state is empty."""
        moments = self.operator.moments(state)
        if moments is None:
            del self._states[identity]
            moments = Moments()
        self._set_timers(identity, moments)

    def _set_timers(self, identity: Hashable, moments: Moments) -> None:
        self._event_timers.set(identity, moments.event_timer)
        self._processing_timers.set(identity, moments.processing_timer)
        self._holds.set(identity, moments.hold)

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold of all keys."""
        queues = self._event_timers.first, self._processing_timers.first, self._holds.first
        stored = (moments for _, moments, _ in self.stored.values())
        return Moments(*map(min, zip(queues, *stored, strict=True)))

    def __len__(self) -> int:
        """Return the number of live keys."""
        return len(self._states) + len(self.stored)

    def entries(self, dumps: Callable[[Any], bytes]) -> Iterator[tuple[Hashable, Entry]]:
        """Yield the entries of all keys by identity, to store them."""
        yield from self.stored.items()
        for identity, (key, state) in self._states.items():
            moments = self.operator.moments(state)
            assert moments is not None
            yield identity, (key, moments.plain, dumps(self.operator.freeze(state)))
