"""The light tier for windows that do not merge, if each of them fires first at its end.

Until its end a window has contents only, and one timer for all keys. If it takes late elements after that, it
has what its first pane leaves: the contents, and the values that may have to be retracted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from operator import itemgetter
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.first_pane import FirstPaneWindow
from headrace.grouping.grouping import Grouping
from headrace.grouping.keyed_operator import Moments
from headrace.grouping.pane_output import Arrival, ArrivalColumns
from headrace.grouping.panes.emission import is_late
from headrace.grouping.state.key_state import Output
from headrace.grouping.state.timer_queue import TimerQueue
from headrace.runners.grouping.keyed_table import KeyArrivals, KeyedTable
from headrace.runners.grouping.light_tier import LightState, Rows
from headrace.runners.grouping.output import KeyedPanes
from headrace.runners.grouping.window_contents import WindowContents, window_of
from headrace.runners.plan.planning import KeyedStep
from headrace.sdk.coders.keys import identities
from headrace.triggers.pane import PaneInfo
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Arrived, Clock
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.window import BoundedWindow


@attrs.define(eq=False)
class FiredWindow:
    """A window after its first pane, with the keys that have had no late elements since.

    Attributes:
        window: the window.
        pane: the first pane; None if no key has a pane that may have to be retracted.
        contents: the contents by key identity; None in discarding mode.
        values: the values of panes that may have to be retracted, by key identity.
    """

    window: BoundedWindow
    pane: PaneInfo | None = None
    contents: dict[Hashable, Any] = attrs.field(factory=dict)
    values: dict[Hashable, Any] = attrs.field(factory=dict)

    def take(self, identity: Hashable) -> FirstPaneWindow:
        """Remove a key, and return its window."""
        content, output = self.contents.pop(identity), None
        if self.values:
            assert self.pane is not None
            value = self.values.pop(identity)
            output = Output(value, self.window.last, self.window, self.pane)
        return FirstPaneWindow(self.window, content, fired=True, output=output)

    def put(self, identity: Hashable, found: FirstPaneWindow) -> None:
        """Add a key whose window has had its first pane."""
        self.contents[identity] = found.content
        if found.output is not None:
            self.pane, self.values[identity] = found.output.pane, found.output.value


@attrs.define(eq=False)
class WindowTier:
    """The contents of windows by window and key; an item of the full tier is a key in a window.

    Args:
        step: the grouping.
        grouping: makes panes.
    """

    step: KeyedStep
    grouping: Grouping
    contents: WindowContents = attrs.field(init=False)
    _ends: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue, init=False)
    _fired: dict[BoundedWindow, FiredWindow] = attrs.field(factory=dict, init=False)
    _expiries: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue, init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.contents = WindowContents(self.step)

    def process(
        self, arrivals: Iterable[ArrivalColumns], clock: Clock, full: KeyedTable
    ) -> Iterator[KeyArrivals]:
        """Add contents to windows that have not ended; each set of columns belongs to one window."""
        for columns in arrivals:
            window = window_of(columns)
            if clock.watermark > window.last:
                yield from _by_key(window, columns)
            else:
                self.add(window, columns.keys, columns.contents)

    def add(self, window: BoundedWindow, keys: list[Any], contents: list[Any]) -> None:
        """Add the contents of keys to a window that has not ended."""
        self.contents.add(window, keys, contents)
        self._ends.set(window, min(window.last + 1, MAX_MICROS))

    def take(self, identity: Hashable) -> LightState | None:
        """Remove a key of a window that has fired."""
        window, own = _parts(identity)
        fired = self._fired.get(window)
        if fired is None or own not in fired.contents:
            return None
        return LightState([fired.take(own)], MIN_MICROS)

    def put(self, identity: Hashable, key: object, state: LightState) -> None:
        """Add a key of a window that has fired."""
        window, own = _parts(identity)
        if own is not key:
            self.contents.names[own] = key
        self._fired_window(window).put(own, *state.windows)

    def wake(self, clock: Clock, out: KeyedPanes) -> None:
        """Fire the windows that have ended, and remove those that have expired."""
        expired: list[ArrivalColumns] = []
        for window in self._ends.pop(clock.watermark):
            contents, columns = self.contents.table(window), self.contents.take(window)
            if is_late(self.step.strategy, window.last, clock.watermark):
                expired.append(columns)
            else:
                bundle = self.grouping.first_panes(columns, clock.watermark)
                out.on_time.append((bundle,))
                self._keep(window, contents, bundle)
        out.on_time.append(map(self.grouping.final_panes, expired))
        for window in self._expiries.pop(clock.watermark):
            del self._fired[window]

    def _keep(self, window: BoundedWindow, contents: dict[Hashable, object], panes: Bundle) -> None:
        """Keep what a second pane of a window needs."""
        mode, fired = self.step.strategy.accumulation_mode, self._fired_window(window)
        discarding = mode is AccumulationMode.DISCARDING
        fired.contents |= dict.fromkeys(contents) if discarding else contents
        if mode is AccumulationMode.RETRACTING:
            fired.pane = next(iter(panes.panes))
            fired.values |= zip(contents, map(itemgetter(1), panes.values), strict=True)

    def _fired_window(self, window: BoundedWindow) -> FiredWindow:
        """Return a window that has fired, and remember when it expires."""
        self._expiries.set(window, self.step.strategy.expiry(window.last))
        return self._fired.setdefault(window, FiredWindow(window))

    def freeze(self) -> list[Rows]:
        """Return the windows with their contents, and those that have fired with what they leave."""
        frozen: list[Rows] = [((w,), keys, (held,)) for w, keys, held in self.contents.columns()]
        return frozen + [self._frozen(fired) for fired in self._fired.values() if fired.contents]

    def _frozen(self, fired: FiredWindow) -> Rows:
        names, contents = self.contents.names, fired.contents
        keys = [names.get(own, own) for own in contents]
        values = ([fired.values[own] for own in contents],) if fired.values else ()
        return (fired.window, fired.pane), keys, (list(contents.values()), *values)

    def thaw(self, frozen: Iterable[Rows]) -> None:
        """Add windows, which may have fired."""
        for (window, *pane), keys, (contents, *values) in frozen:
            if not pane:
                self.add(window, keys, contents)
                continue
            found = self.contents.identify(keys)
            fired = self._fired_window(window)
            fired.pane, fired.contents = pane[0], dict(zip(found, contents, strict=True))
            fired.values = dict(zip(found, *values, strict=True)) if values else {}

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold of all windows."""
        end = self._ends.first
        hold = end if end == NEVER else end - 1
        return Moments(min(end, self._expiries.first), NEVER, hold)

    def __len__(self) -> int:
        """Return the number of contents."""
        fired = sum(len(window.contents) for window in self._fired.values())
        return len(self.contents) + fired


def _by_key(window: BoundedWindow, columns: ArrivalColumns) -> Iterator[KeyArrivals]:
    """Yield late elements of a window, key by key."""
    last = window.last
    rows = zip(
        identities(columns.keys), columns.keys, columns.contents, columns.counts, strict=True
    )
    for identity, key, content, count in rows:
        yield (window, identity), key, [Arrival(window, content, Arrived(count), last, last)]


def _parts(identity: Any) -> tuple[BoundedWindow, Hashable]:
    """Return the window and the identity of the key of an item."""
    window, own = identity
    return window, own


def in_time(
    arrivals: Iterable[ArrivalColumns],
    strategy: WindowingStrategy,
    watermark: int,
    out: KeyedPanes,
) -> Iterator[ArrivalColumns]:
    """Yield columns of one window each, and drop those whose window has expired."""
    for columns in arrivals:
        if is_late(strategy, next(iter(columns.lasts)), watermark):
            out.dropped += columns.count
        else:
            yield columns
