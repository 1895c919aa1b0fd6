"""Contents by window and key, of windows that take late elements after their first pane.

This is the state of a grouping whose windows do not merge, if each of them fires first at its end
(:mod:`headrace.triggers.first_pane`). Until then a window has contents only, and one timer for all keys.
After that it has the panes that may have to be retracted. A key with a late element gets the full state of a
:class:`~headrace.triggers.grouping.Grouping` for this window.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from operator import itemgetter
from typing import Any

import attrs

from headrace.runners.keyed_operators import FirstPaneOutput, KeyArrivals, KeyedTable
from headrace.runners.planning import KeyedStep
from headrace.runners.window_state import WindowContents, window_of
from headrace.sdk.encoding import identities
from headrace.triggers.bundle import Bundle
from headrace.triggers.emission import is_late
from headrace.triggers.first_pane import FirstPaneWindow
from headrace.triggers.grouping import Grouping
from headrace.triggers.key_state import KeyState, Output
from headrace.triggers.keyed_operator import Moments
from headrace.triggers.pane import PaneInfo
from headrace.triggers.pane_output import Arrival, ArrivalColumns
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.timer_queue import TimerQueue
from headrace.triggers.trigger import NEVER, Arrived, Clock
from headrace.windowing.time import MAX_MICROS, MIN_MICROS
from headrace.windowing.window import BoundedWindow


@attrs.frozen(eq=False)
class FiredWindow:
    """A window after its first pane, with the keys that have had no late elements.

    Attributes:
        window: the window.
        pane: the first pane.
        contents: the contents by key identity; None in discarding mode.
        values: the values of panes that may have to be retracted, by key identity.
    """

    window: BoundedWindow
    pane: PaneInfo
    contents: dict[Hashable, Any]
    values: dict[Hashable, Any]

    def take(self, identity: Hashable) -> FirstPaneWindow:
        """Remove a key, and return its window."""
        content, output = self.contents.pop(identity), None
        if self.values:
            value = self.values.pop(identity)
            output = Output(value, self.window.last, self.window, self.pane)
        return FirstPaneWindow(self.window, content, fired=True, output=output)


@attrs.define(eq=False)
class LatePaneTable:
    """The windows of a grouping in which each window fires first at its end, and again for late elements.

    Args:
        step: the grouping.
    """

    step: KeyedStep
    grouping: Grouping = attrs.field(init=False)
    _contents: WindowContents = attrs.field(init=False)
    _ends: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue, init=False)
    _fired: dict[BoundedWindow, FiredWindow] = attrs.field(factory=dict, init=False)
    _expiries: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue, init=False)
    _full: KeyedTable = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.grouping = self.step.grouping()
        self._contents = WindowContents(self.step)
        self._full = KeyedTable(self.grouping)

    def process(
        self, arrivals: Iterable[ArrivalColumns], clock: Clock, out: FirstPaneOutput
    ) -> None:
        """Add contents to their windows; each set of columns belongs to one window."""
        for columns in arrivals:
            window = window_of(columns)
            if is_late(self.step.strategy, window.last, clock.watermark):
                out.panes.dropped += columns.count
            elif clock.watermark > window.last:
                self._full.process(self._late(window, columns, clock), clock, out.panes)
            else:
                self._contents.add(window, columns.keys, columns.contents)
                self._ends.set(window, min(window.last + 1, MAX_MICROS))

    def _late(
        self, window: BoundedWindow, columns: ArrivalColumns, clock: Clock
    ) -> Iterator[KeyArrivals]:
        """Yield late elements for windows with full states."""
        fired, last = self._fired.get(window), window.last
        rows = zip(
            identities(columns.keys), columns.keys, columns.contents, columns.counts, strict=True
        )
        for identity, key, content, count in rows:
            if fired is not None and identity in fired.contents:
                state = self._full_state(fired.take(identity), clock)
                self._full.put((window, identity), key, state)
            arrival = Arrival(window, content, Arrived(count), last, last)
            yield (window, identity), key, [arrival]

    def _full_state(self, found: FirstPaneWindow, clock: Clock) -> KeyState:
        return self.grouping.key_state([found], MIN_MICROS, clock)

    def wake(self, clock: Clock, out: FirstPaneOutput) -> None:
        """Fire the windows that have ended, and remove those that have expired."""
        self._full.wake(clock, out.panes)
        for window in self._ends.pop(clock.watermark):
            contents = self._contents.table(window)
            columns = self._contents.take(window)
            bundle = self.grouping.first_panes(columns, clock.watermark)
            out.bundles.append(bundle)
            if not is_late(self.step.strategy, window.last, clock.watermark):
                self._keep(window, contents, bundle)
        for window in self._expiries.pop(clock.watermark):
            del self._fired[window]

    def _keep(self, window: BoundedWindow, contents: dict[Hashable, Any], panes: Bundle) -> None:
        """Keep what a second pane of a window needs."""
        strategy, values = self.step.strategy, {}
        if strategy.accumulation_mode is AccumulationMode.DISCARDING:
            contents = dict.fromkeys(contents)
        elif strategy.accumulation_mode is AccumulationMode.RETRACTING:
            values = dict(zip(contents, map(itemgetter(1), panes.values), strict=True))
        self._fired[window] = FiredWindow(window, next(iter(panes.panes)), contents, values)
        self._expiries.set(window, strategy.expiry(window.last))

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold of all windows."""
        event, processing, hold = self._full.moments
        end = self._ends.first
        if end != NEVER:
            hold = min(hold, end - 1)
        return Moments(min(event, end, self._expiries.first), processing, hold)

    def __len__(self) -> int:
        """Return the number of contents."""
        fired = sum(len(window.contents) for window in self._fired.values())
        return len(self._contents) + fired + len(self._full)
