"""The light tier for windows that do not merge, if most of them fire first at their ends.

Until its end a window has contents only, and one timer for all keys. If it takes late elements after that, it
has what its first pane leaves: the contents, and the values that may have to be retracted.

If windows can fire early after a number of elements, a key in a window also has the number of its elements.
It is promoted to the full tier when it has as many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import compress
from operator import itemgetter
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.first_pane import FirstPaneWindow
from headrace.grouping.grouping import Grouping
from headrace.grouping.keyed_operator import Moments
from headrace.grouping.pane_output import Arrival, ArrivalColumns, columns_in
from headrace.grouping.state.key_state import Output
from headrace.grouping.state.timer_queue import TimerQueue
from headrace.runners.contents.number_tables import Numbers
from headrace.runners.grouping.keyed_table import KeyArrivals, KeyedTable
from headrace.runners.grouping.output import KeyedPanes
from headrace.runners.grouping.table import LightState, Rows
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.precombine.key_index import KeyIndex, arrivals_of
from headrace.triggers.pane import PaneInfo
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Arrived, Clock
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.window import BoundedWindow


@attrs.define(eq=False)
class WindowContents:
    """The contents of one window of a grouping whose windows do not merge.

    Attributes:
        step: the grouping.
        window: the window.
        keys: the keys by identity.
        contents: the contents by key identity.
    """

    step: KeyedStep
    window: BoundedWindow
    keys: KeyIndex = attrs.field(factory=KeyIndex)
    contents: Numbers = attrs.field(init=False)

    @contents.default
    def _no_contents(self) -> Numbers:
        number_table = self.step.number_table
        return number_table.table() if number_table else {}

    def add(self, keys: list[Any], contents: list[Any]) -> Sequence[Hashable]:
        """Merge contents of keys into the window, and return the identities of the keys.

        The contents must not be used afterwards.
        """
        found, table = self.keys.identify(keys), self.contents
        number_table, merge = self.step.number_table, self.step.reduction.merge
        if number_table is not None:
            number_table.merge(table, found, contents, self.keys.__getitem__)
        elif not table:
            table.update(zip(found, contents, strict=True))
        else:
            for key, content in zip(found, contents, strict=True):
                table[key] = merge(table[key], content) if key in table else content
        return found

    def columns(self) -> ArrivalColumns:
        """Return the keys and their contents."""
        keys, contents = self.keys.named(self.contents), list(self.contents.values())
        return columns_in(self.window, keys, contents)


@attrs.define(eq=False)
class TierWindow(WindowContents):
    """A window of the tier; after its first pane, with the keys that have had no late elements since.

    In discarding mode the contents are None after the first pane.

    Attributes:
        pane: the first pane; None if no key has a pane that may have to be retracted.
        values: the values of panes that may have to be retracted, by key identity.
        counts: the number of elements by key identity, if a window can fire early after some of them.
    """

    pane: PaneInfo | None = None
    values: dict[Hashable, Any] = attrs.field(factory=dict)
    counts: Counter[Hashable] = attrs.field(factory=Counter)

    def count(self, found: Iterable[Hashable], counts: Iterable[int], until: int) -> list[Hashable]:
        """Count elements of keys, and return the keys that have as many as a window needs to fire early."""
        own, ready = self.counts, []
        for key, count in zip(found, counts, strict=True):
            own[key] += count
            if own[key] >= until:
                ready.append(key)
        return ready

    def pop(self, identity: Hashable) -> tuple[Any, Arrival]:
        """Remove a key before the first pane, and return it with its elements."""
        key, content = self.keys[identity], self.contents.pop(identity)
        self.keys.names.pop(identity, None)
        last, arrived = self.window.last, Arrived(self.counts.pop(identity))
        return key, Arrival(self.window, content, arrived, last, last)

    def fire(self, panes: Bundle) -> None:
        """Keep what a second pane of each key needs, given the first ones."""
        self.counts.clear()
        if self.step.strategy.discards:
            self.contents = dict.fromkeys(self.contents)
        elif self.step.strategy.retracts:
            self.pane = next(iter(panes.panes))
            values = map(itemgetter(1), panes.values)
            self.values = dict(zip(self.contents, values, strict=True))

    def take(self, identity: Hashable) -> FirstPaneWindow:
        """Remove a key after the first pane, and return its window."""
        content, output = self.contents.pop(identity), None
        self.keys.names.pop(identity, None)
        if self.values:
            assert self.pane is not None
            value = self.values.pop(identity)
            output = Output(value, self.window.last, self.window, self.pane)
        return FirstPaneWindow(self.window, content, fired=True, output=output)

    def put(self, key: object, found: FirstPaneWindow) -> None:
        """Add a key whose window has had its first pane."""
        (identity,) = self.keys.identify([key])
        self.contents[identity] = found.content
        if found.output is not None:
            self.pane, self.values[identity] = found.output.pane, found.output.value

    def freeze(self, *pane: PaneInfo | None) -> Rows:
        """Return the window as plain data, with its first pane if it has fired."""
        others = self.values or self.counts
        columns = ([others[own] for own in self.contents],) if others else ()
        keys = self.keys.named(self.contents)
        return (self.window, *pane), keys, (list(self.contents.values()), *columns)

    def thaw(
        self,
        pane: PaneInfo | None,
        keys: list[Any],
        contents: list[Any],
        values: Sequence[Any] = (),
    ) -> None:
        """Add keys after the first pane, with the values that may have to be retracted, if there are any."""
        found = self.keys.identify(keys)
        self.pane, self.contents = pane, dict(zip(found, contents, strict=True))
        self.values = dict(zip(found, values, strict=False))


@attrs.define(eq=False)
class WindowTier:
    """The contents of windows by window and key; an item of the full tier is a key in a window.

    Args:
        step: the grouping.
        grouping: makes panes.
    """

    step: KeyedStep
    grouping: Grouping
    _early: int = attrs.field(init=False)
    _live: dict[BoundedWindow, TierWindow] = attrs.field(factory=dict, init=False)
    _ends: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue, init=False)
    _fired: dict[BoundedWindow, TierWindow] = attrs.field(factory=dict, init=False)
    _expiries: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue, init=False)

    @_early.default
    def _early_count(self) -> int:
        """The least number of elements with which a window fires before its end."""
        return self.step.strategy.trigger.early_count

    def process(
        self, arrivals: Iterable[ArrivalColumns], clock: Clock, full: KeyedTable
    ) -> Iterator[KeyArrivals]:
        """Add contents to windows that have not ended; each set of columns belongs to one window."""
        for columns in arrivals:
            (window,) = next(iter(columns.windows))
            if clock.watermark > window.last:
                for identity, key, arrival in arrivals_of(columns):
                    yield (window, identity), key, [arrival]
            elif self._early == NEVER:
                self._live_window(window).add(columns.keys, columns.contents)
            else:
                yield from self._counted(window, columns, full)

    def _counted(
        self, window: BoundedWindow, columns: ArrivalColumns, full: KeyedTable
    ) -> Iterator[KeyArrivals]:
        """Add contents to a window that can fire early, and yield the keys that do, or have fired before."""
        keys, contents, counts = columns.keys, columns.contents, columns.counts
        if len(full):
            rows = list(arrivals_of(columns))
            light = [(window, identity) not in full for identity, _, _ in rows]
            for (identity, key, arrival), is_light in zip(rows, light, strict=True):
                if not is_light:
                    yield (window, identity), key, [arrival]
            keys, contents, counts = (list(compress(c, light)) for c in (keys, contents, counts))
        if keys:
            live = self._live_window(window)
            for identity in live.count(live.add(keys, contents), counts, self._early):
                key, arrival = live.pop(identity)
                yield (window, identity), key, [arrival]

    def _live_window(self, window: BoundedWindow) -> TierWindow:
        """Return a window that has not ended."""
        if window not in self._live:
            self._live[window] = TierWindow(self.step, window)
            self._ends.set(window, min(window.last + 1, MAX_MICROS))
        return self._live[window]

    def _fired_window(self, window: BoundedWindow) -> TierWindow:
        """Return a window that has fired."""
        if window not in self._fired:
            self._keep(TierWindow(self.step, window))
        return self._fired[window]

    def _keep(self, fired: TierWindow) -> None:
        """Keep a window that has fired until it expires."""
        self._fired[fired.window] = fired
        self._expiries.set(fired.window, self.step.strategy.expiry(fired.window.last))

    def take(self, identity: Any) -> LightState | None:
        """Remove a key of a window that has fired."""
        window, own = identity
        fired = self._fired.get(window)
        if fired is None or own not in fired.contents:
            return None
        return LightState([fired.take(own)], MIN_MICROS)

    def put(self, identity: Any, key: object, state: LightState) -> None:
        """Add a key of a window that has fired."""
        self._fired_window(identity[0]).put(key, *state.windows)

    def wake(self, clock: Clock, out: KeyedPanes) -> None:
        """Fire the windows that have ended, and remove those that have expired."""
        expired: list[ArrivalColumns] = []
        for window in self._ends.pop(clock.watermark):
            ended = self._live.pop(window)
            if self.step.strategy.is_late(window.last, clock.watermark):
                expired.append(ended.columns())
                continue
            bundle = self.grouping.emitter.first_panes(ended.columns(), clock.watermark)
            out.on_time.append((bundle,))
            ended.fire(bundle)
            self._keep(ended)
        out.on_time.append(map(self.grouping.emitter.final_panes, expired))
        for window in self._expiries.pop(clock.watermark):
            del self._fired[window]

    def freeze(self) -> list[Rows]:
        """Return the windows with their contents, and those that have fired with what they leave."""
        fired = [window.freeze(window.pane) for window in self._fired.values() if window.contents]
        return [window.freeze() for window in self._live.values()] + fired

    def thaw(self, frozen: Iterable[Rows]) -> None:
        """Add windows, which may have fired."""
        for (window, *pane), keys, (contents, *others) in frozen:
            if pane:
                self._fired_window(window).thaw(pane[0], keys, contents, *others)
                continue
            live = self._live_window(window)
            found = live.add(keys, contents)
            for counts in others:
                live.count(found, counts, self._early)

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold of all windows."""
        end = self._ends.first
        hold = end if end == NEVER else end - 1
        return Moments(min(end, self._expiries.first), NEVER, hold)

    def __len__(self) -> int:
        """Return the number of contents."""
        return sum(len(w.contents) for w in (*self._live.values(), *self._fired.values()))


def in_time(
    arrivals: Iterable[ArrivalColumns],
    strategy: WindowingStrategy,
    watermark: int,
    out: KeyedPanes,
) -> Iterator[ArrivalColumns]:
    """Yield columns of one window each, and drop those whose window has expired."""
    for columns in arrivals:
        if strategy.is_late(next(iter(columns.lasts)), watermark):
            out.dropped += columns.count
        else:
            yield columns
