"""The light tier for windows that do not merge, and fire at their ends.

Until its end a window has contents only, and one timer for all keys. If it takes late elements after that, it
has what its last pane leaves: the contents, and the values that may have to be retracted.

If windows fire early after each number of elements, a key in a window also has the number of its elements
since the last pane, the number of its EARLY panes, and the value of the last one if that may be retracted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.grouping import Grouping
from headrace.grouping.keyed_operator import Moments
from headrace.grouping.light_window import LightWindow
from headrace.grouping.pane_output import ArrivalColumns, columns_in
from headrace.grouping.panes.emission import PaneEmitter
from headrace.grouping.state.key_state import Output
from headrace.grouping.state.timer_queue import TimerQueue
from headrace.runners.contents.number_tables import Numbers
from headrace.runners.error_context import note_key
from headrace.runners.grouping.keyed_table import KeyArrivals, KeyedTable
from headrace.runners.grouping.output import KeyedPanes
from headrace.runners.grouping.table import LightState, Rows
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.precombine.key_index import KeyIndex, arrivals_of
from headrace.triggers.pane import PaneInfo, pane_info
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
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
                try:
                    table[key] = merge(table[key], content) if key in table else content
                except Exception as error:
                    note_key(error, self.keys[key])
                    raise
        return found

    def columns(self) -> ArrivalColumns:
        """Return the keys and their contents."""
        keys, contents = self.keys.named(self.contents), list(self.contents.values())
        return columns_in(self.window, keys, contents)

    def columns_of(
        self, found: Collection[Hashable], kept: Mapping[Hashable, Any]
    ) -> ArrivalColumns:
        """Return the keys with some identities, and what is kept of them."""
        keys = self.keys.named(found)
        return columns_in(self.window, keys, list(map(kept.__getitem__, found)))


@attrs.define(eq=False)
class TierWindow(WindowContents):
    """A window of the tier; after its end, with the keys that have had no late elements since.

    In discarding mode the contents are None after its end.

    Attributes:
        pane: the pane at its end, of keys without EARLY panes; None until then.
        values: the values of panes that may have to be retracted, by key identity.
        counts: the number of elements since the last pane by key identity, if a window fires early.
        early: the number of EARLY panes by key identity.
    """

    pane: PaneInfo | None = None
    values: dict[Hashable, Any] = attrs.field(factory=dict)
    counts: Counter[Hashable] = attrs.field(factory=Counter)
    early: Counter[Hashable] = attrs.field(factory=Counter)

    def count(
        self, found: Sequence[Hashable], counts: Iterable[int], until: int
    ) -> Sequence[Hashable]:
        """Count elements of keys, and return the keys that have as many as a window needs to fire early."""
        if until == 1:
            return found
        own, ready = self.counts, []
        for key, count in zip(found, counts, strict=True):
            own[key] += count
            if own[key] >= until:
                ready.append(key)
                del own[key]
        return ready

    def fire_early(self, ready: Sequence[Hashable], emitter: PaneEmitter) -> Iterator[Bundle]:
        """Yield the next EARLY panes of keys, after the retractions of their last ones."""
        yield from self._retractions(ready, emitter)
        numbers = map(self.early.__getitem__, ready)
        panes = emitter.early_panes(self.columns_of(ready, self.contents), numbers)
        self.early.update(ready)
        if self.step.strategy.discards:
            empty = self.step.reduction.empty
            for key in ready:
                self.contents[key] = empty()
        self._keep_values(ready, panes)
        yield panes

    def fire(self, emitter: PaneEmitter, watermark: int) -> Iterator[Bundle]:
        """Yield the panes at the end of the window, after the retractions of EARLY ones."""
        yield from self._retractions(self.contents, emitter)
        numbers = list(map(self.early.__getitem__, self.contents)) if self.early else ()
        yield emitter.on_time_panes(self.columns(), watermark, numbers)

    def keep(self, panes: Bundle) -> None:
        """Keep what a late pane of each key needs, given the panes at the end of the window."""
        self.counts.clear()
        if self.step.strategy.discards:
            self.contents = dict.fromkeys(self.contents)
        self._keep_values(self.contents, panes)
        self.pane = _without_early(next(iter(panes.panes)))

    def _retractions(self, ready: Iterable[Hashable], emitter: PaneEmitter) -> Iterator[Bundle]:
        """Yield the retractions of the last EARLY panes of keys, if they have to be retracted."""
        if self.step.strategy.retracts and self.early:
            old = [key for key in ready if key in self.early]
            if old:
                numbers = map(self.early.__getitem__, old)
                yield emitter.retractions(self.columns_of(old, self.values), numbers)

    def _keep_values(self, ready: Iterable[Hashable], panes: Bundle) -> None:
        """Keep the values of panes that may have to be retracted."""
        if self.step.strategy.retracts:
            copy = self.step.reduction.copy_result  # a reader of the pane may change it
            values = map(copy, map(itemgetter(1), panes.values))
            self.values.update(zip(ready, values, strict=True))

    def take(self, identity: Hashable) -> LightWindow:
        """Remove a key after the end of the window, and return its window."""
        content, output, early = self.contents.pop(identity), None, self.early.pop(identity, 0)
        self.keys.names.pop(identity, None)
        if self.values:
            assert self.pane is not None
            pane = pane_info(self.pane.timing, early, 0, self.pane.is_last)
            output = Output(self.values.pop(identity), self.window.last, self.window, pane)
        return LightWindow(self.window, content, True, output, early)

    def put(self, key: object, found: LightWindow) -> None:
        """Add a key whose window has had the pane at its end."""
        (identity,) = self.keys.identify([key])
        self.contents[identity] = found.content
        if found.early:
            self.early[identity] = found.early
        if found.output is not None:
            self.pane = _without_early(found.output.pane)
            self.values[identity] = found.output.value

    def freeze(self, *pane: PaneInfo | None) -> Rows:
        """Return the window as plain data, with the pane at its end if it has fired."""
        kept = list(self.contents)
        columns = [list(self.contents.values())]
        if self.values or self.early or self.counts:
            columns.append(list(map(self.values.get, kept)))
        if self.early or self.counts:
            columns += [list(map(c.__getitem__, kept)) for c in (self.early, self.counts)]
        return (self.window, *pane), self.keys.named(kept), tuple(columns)

    def thaw(
        self,
        keys: list[Any],
        contents: list[Any],
        values: Iterable[Any] = (),
        early: Iterable[int] = (),
        counts: Iterable[int] = (),
    ) -> None:
        """Add keys with what :meth:`freeze` returned of them."""
        found = self.keys.identify(keys)
        dict.update(self.contents, zip(found, contents, strict=True))
        if self.step.strategy.retracts:
            self.values.update(zip(found, values, strict=False))
        for own, column in ((self.early, early), (self.counts, counts)):
            own.update({key: number for key, number in zip(found, column, strict=False) if number})


def _without_early(pane: PaneInfo) -> PaneInfo:
    """Return the pane at the end of a window as if it had had no EARLY panes."""
    return pane_info(pane.timing, 0, 0, pane.is_last)


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
        """The number of elements after which a window fires before its end."""
        return self.step.strategy.trigger.early_count

    def process(
        self, arrivals: Iterable[ArrivalColumns], clock: Clock, full: KeyedTable, out: KeyedPanes
    ) -> Iterator[KeyArrivals]:
        """Add contents to windows that have not ended; each set of columns belongs to one window."""
        for columns in arrivals:
            (window,) = next(iter(columns.windows))
            if clock.watermark > window.last:
                for identity, key, arrival in arrivals_of(columns):
                    yield (window, identity), key, [arrival]
                continue
            live = self._live_window(window)
            found = live.add(columns.keys, columns.contents)
            if self._early != NEVER:
                ready = live.count(found, columns.counts, self._early)
                if ready:
                    out.early += live.fire_early(ready, self.grouping.emitter)

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
            is_expired = self.step.strategy.is_late(window.last, clock.watermark)
            if is_expired and not ended.early:
                expired.append(ended.columns())
                continue
            *retractions, panes = ended.fire(self.grouping.emitter, clock.watermark)
            out.early += retractions
            out.on_time.append((panes,))
            if not is_expired:
                ended.keep(panes)
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
        for (window, *pane), keys, columns in frozen:
            kept = self._fired_window(window) if pane else self._live_window(window)
            kept.thaw(keys, *columns)
            if pane:
                (kept.pane,) = pane

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
            out.drop(columns)
        else:
            yield columns
