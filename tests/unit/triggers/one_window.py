"""One window under a trigger, driven by hand: the smallest thing that can have a trigger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from headrace.triggers import Trigger
from headrace.triggers.trigger import Arrived, Clock, TriggerState, Wake

LAST = 99
"""Last instant of the window, unless a test says otherwise: it ends at 100."""


@attrs.define
class OneWindow:
    """A window; every method that lets something happen tells whether the trigger fired on it."""

    trigger: Trigger
    last: int = LAST
    clock: Clock = attrs.field(default=Clock(0, 0))
    state: TriggerState = attrs.Factory(lambda self: self.trigger.start, takes_self=True)

    def arrive(self, count: int = 1, size: int = 0, matched_predicates: Iterable[Any] = ()) -> bool:
        """Let elements arrive together; a window whose trigger has finished takes none."""
        if not self.finished:
            self.take(count, size, matched_predicates)
        return self.ask()

    def take(self, count: int = 1, size: int = 0, matched_predicates: Iterable[Any] = ()) -> None:
        """Take elements without asking the trigger."""
        arrived = Arrived(count, size, frozenset(matched_predicates))
        self.state = self.trigger.on_elements(self.state, arrived, self.clock.now)

    def watermark(self, watermark: int) -> bool:
        """Let the watermark advance."""
        self.clock = self.clock._replace(watermark=max(watermark, self.clock.watermark))
        return self.ask()

    def now(self, now: int) -> bool:
        """Let processing time advance."""
        self.clock = self.clock._replace(now=max(now, self.clock.now))
        return self.ask()

    def merge(self, *others: OneWindow, last: int = LAST) -> bool:
        """Let this window and others become one that ends after ``last``."""
        self.state = merged(self, *others, last=last)
        self.last = last
        return self.ask()

    def ask(self) -> bool:
        """Ask the trigger once, as it is asked after every event."""
        if self.finished or not self.trigger.should_fire(self.state, self.last, self.clock):
            return False
        self.state = self.trigger.on_fire(self.state, self.last, self.clock)
        return True

    @property
    def finished(self) -> bool:
        return self.trigger.finished(self.state)

    @property
    def wake(self) -> Wake:
        return self.trigger.wake(self.state, self.last, self.clock)


def merged(*windows: OneWindow, last: int = LAST) -> TriggerState:
    """The state of what windows become together."""
    first = windows[0]
    return first.trigger.on_merge([window.state for window in windows], last, first.clock)
