"""Triggers, as functions of the complete history of a window: ready, finished, and due to be evaluated.

A trigger inside another one has its own history, derived from the outer one: what it has seen since it was
last started (:func:`part_history`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import attrs

from tests.laws.oracle.window_history import (
    Arrival,
    Firing,
    History,
    Merge,
    WindowClock,
    arrivals,
    pending_arrivals,
)


class Trigger:
    has_on_time = False

    def ready(self, history: History, clock: WindowClock) -> bool:
        raise NotImplementedError

    def done(self, history: History) -> bool:
        return False

    def becomes_ready(self, history: History, before: WindowClock, now: WindowClock) -> bool:
        """Whether it became ready between two times, without new elements."""
        return self.ready(history, now) and not self.ready(history, before)


def fired(history: History) -> bool:
    """Whether it has fired, here or in a merged window."""
    return any(
        any(fired(source) for _, source in h.sources)
        if isinstance(h, Merge)
        else isinstance(h, Firing)
        for h in history
    )


class Once(Trigger):
    """Fires once; after that it is finished, also in a merged window."""

    def done(self, history: History) -> bool:
        return fired(history)


@attrs.frozen
class AfterCount(Once):
    count: int

    def ready(self, history: History, clock: WindowClock) -> bool:
        return sum(len(a.elements) for a in arrivals(history)) >= self.count


@attrs.frozen
class AfterBytes(Once):
    """``measure`` returns the size of a value in bytes, as the engine does."""

    size: int
    measure: Callable[[Any], int]

    def ready(self, history: History, clock: WindowClock) -> bool:
        return (
            sum(self.measure(e.value) for a in arrivals(history) for e in a.elements) >= self.size
        )


@attrs.frozen
class AfterElement(Once):
    predicate: Callable[[Any], bool]

    def ready(self, history: History, clock: WindowClock) -> bool:
        return any(self.predicate(e.value) for a in arrivals(history) for e in a.elements)


@attrs.frozen
class AfterProcessingTime(Once):
    delay: int = 0

    def ready(self, history: History, clock: WindowClock) -> bool:
        return any(clock.now >= a.now + self.delay for a in arrivals(history))


@attrs.frozen
class AtPeriod(Once):
    period: int
    offset: int = 0

    def ready(self, history: History, clock: WindowClock) -> bool:
        return any(self.number(clock.now) > self.number(a.now) for a in arrivals(history))

    def number(self, instant: int) -> int:
        return (instant - self.offset) // self.period


@attrs.frozen
class Always(Trigger):
    def ready(self, history: History, clock: WindowClock) -> bool:
        return bool(pending_arrivals(history))


@attrs.frozen
class Never(Trigger):
    def ready(self, history: History, clock: WindowClock) -> bool:
        return False


@attrs.frozen
class Default(Trigger):
    has_on_time = True

    def ready(self, history: History, clock: WindowClock) -> bool:
        return clock.past_window


class Composite(Trigger):
    """A trigger that consists of other triggers, its parts."""

    @property
    def parts(self) -> tuple[Trigger, ...]:
        raise NotImplementedError

    @property
    def has_on_time(self) -> bool:  # type: ignore[override]
        return any(part.has_on_time for part in self.parts)

    def on_arrival(self, i: int, own: History, arrival: Arrival, before: History) -> History:
        return (*own, arrival)

    def on_firing(self, i: int, own: History, firing: Firing, before: History) -> History:
        return (*own, firing)

    def on_merge(self, i: int, merge: Merge) -> History:
        own = tuple((window, part_history(self, i, source)) for window, source in merge.sources)
        return (attrs.evolve(merge, sources=own),)

    def active_parts(self, history: History) -> Iterable[int]:
        """The indexes of the parts that can become ready."""
        return [i for i in range(len(self.parts)) if not self.part_done(i, history)]

    def becomes_ready(self, history: History, before: WindowClock, now: WindowClock) -> bool:
        return any(
            self.parts[i].becomes_ready(part_history(self, i, history), before, now)
            for i in self.active_parts(history)
        )

    def part_ready(self, i: int, history: History, clock: WindowClock) -> bool:
        return self.parts[i].ready(part_history(self, i, history), clock)

    def part_done(self, i: int, history: History) -> bool:
        return self.parts[i].done(part_history(self, i, history))


@lru_cache(maxsize=1 << 14)
def part_history(whole: Composite, i: int, history: History) -> History:
    """The history of a part, from the history of the whole."""
    if not history:
        return ()
    *earlier, entry = history
    before = tuple(earlier)
    own = part_history(whole, i, before)
    if isinstance(entry, Arrival):
        return whole.on_arrival(i, own, entry, before)
    if isinstance(entry, Firing):
        return whole.on_firing(i, own, entry, before)
    assert isinstance(entry, Merge), "no trigger sees a forced firing"
    return whole.on_merge(i, entry)


def restarted(trigger: Trigger, own: History) -> History:
    """The history of a repeated trigger; empty once the trigger is finished."""
    return () if trigger.done(own) else own


@attrs.frozen
class Repeatedly(Composite):
    repeated: Trigger

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return (self.repeated,)

    def on_firing(self, i: int, own: History, firing: Firing, before: History) -> History:
        return restarted(self.repeated, (*own, firing))

    def on_merge(self, i: int, merge: Merge) -> History:
        return restarted(self.repeated, super().on_merge(i, merge))

    def ready(self, history: History, clock: WindowClock) -> bool:
        return self.part_ready(0, history, clock)


@attrs.frozen
class AfterWatermark(Composite):
    early: Trigger = attrs.field(factory=Never, converter=lambda t: t or Never())
    late: Trigger | None = None
    has_on_time = True

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return (self.early, self.late or Never())

    def is_late(self, history: History) -> bool:
        """Whether it has fired after the end of the window; for a merged window, in all sources."""
        late = False
        for entry in history:
            if isinstance(entry, Firing):
                late = late or entry.clock.past_window
            elif isinstance(entry, Merge):
                late = entry.clock.past_window and all(
                    self.is_late(source) for _, source in entry.sources
                )
        return late

    def is_active(self, i: int, history: History) -> bool:
        return self.is_late(history) == (i == 1)

    def on_arrival(self, i: int, own: History, arrival: Arrival, before: History) -> History:
        return (*own, arrival) if self.is_active(i, before) else own

    def on_firing(self, i: int, own: History, firing: Firing, before: History) -> History:
        active = self.is_active(i, before) and self.is_active(i, (*before, firing))
        return restarted(self.parts[i], (*own, firing)) if active else ()

    def on_merge(self, i: int, merge: Merge) -> History:
        merged = super().on_merge(i, merge) if self.is_active(i, (merge,)) else ()
        return restarted(self.parts[i], merged)

    def ready(self, history: History, clock: WindowClock) -> bool:
        if self.is_late(history):
            return self.part_ready(1, history, clock)
        return clock.past_window or self.part_ready(0, history, clock)

    def active_parts(self, history: History) -> Iterable[int]:
        return [1 if self.is_late(history) else 0]

    def becomes_ready(self, history: History, before: WindowClock, now: WindowClock) -> bool:
        passed = now.past_window and not before.past_window
        return (passed and not self.is_late(history)) or super().becomes_ready(history, before, now)

    def done(self, history: History) -> bool:
        return self.late is None and self.is_late(history)


@attrs.frozen
class AfterAny(Composite):
    triggers: tuple[Trigger, ...]

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers

    def on_firing(self, i: int, own: History, firing: Firing, before: History) -> History:
        return (*own, firing) if self.parts[i].ready(own, firing.clock) else ()

    def ready(self, history: History, clock: WindowClock) -> bool:
        return any(self.part_ready(i, history, clock) for i in range(len(self.parts)))

    def done(self, history: History) -> bool:
        return any(self.part_done(i, history) for i in range(len(self.parts)))


@attrs.frozen
class AfterAll(Composite):
    triggers: tuple[Trigger, ...]

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers

    def on_firing(self, i: int, own: History, firing: Firing, before: History) -> History:
        return own if self.parts[i].done(own) else (*own, firing)

    def ready(self, history: History, clock: WindowClock) -> bool:
        return all(
            self.part_done(i, history) or self.part_ready(i, history, clock)
            for i in range(len(self.parts))
        )

    def done(self, history: History) -> bool:
        return all(self.part_done(i, history) for i in range(len(self.parts)))


@attrs.frozen
class AfterEach(Composite):
    triggers: tuple[Trigger, ...]

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers

    def current(self, history: History) -> int:
        """The index of the first part that is not finished."""
        n = len(self.parts)
        return next((i for i in range(n) if not self.part_done(i, history)), n)

    def on_arrival(self, i: int, own: History, arrival: Arrival, before: History) -> History:
        return (*own, arrival) if i == self.current(before) else own

    def on_firing(self, i: int, own: History, firing: Firing, before: History) -> History:
        return (*own, firing) if i == self.current(before) else own

    def on_merge(self, i: int, merge: Merge) -> History:
        earlier_done = all(self.part_done(j, (merge,)) for j in range(i))
        return super().on_merge(i, merge) if earlier_done else ()

    def ready(self, history: History, clock: WindowClock) -> bool:
        return self.part_ready(self.current(history), history, clock)

    def active_parts(self, history: History) -> Iterable[int]:
        return [self.current(history)]

    def done(self, history: History) -> bool:
        return self.current(history) == len(self.parts)


@attrs.frozen
class OrFinally(Composite):
    trigger: Trigger
    until: Trigger

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return (self.trigger, self.until)

    def on_firing(self, i: int, own: History, firing: Firing, before: History) -> History:
        over = self.part_ready(1, before, firing.clock)
        if i == 1:
            return (*own, firing) if over else own
        return () if over else (*own, firing)

    def ready(self, history: History, clock: WindowClock) -> bool:
        return self.part_ready(0, history, clock) or self.part_ready(1, history, clock)

    def done(self, history: History) -> bool:
        return self.part_done(0, history) or self.part_done(1, history)
