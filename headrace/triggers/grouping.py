"""The heart: where *what*, *where*, *when* and *how* meet (the paper's GroupAlsoByWindow).

For one key: new elements, the input watermark and processing time go in; panes, the next moments of
attention and a watermark hold come out. It knows no engine and looks at no value: contents are made and
read by a :class:`~headrace.triggers.reduction.Reduction`. Every runner runs this code.

A call of :meth:`Grouping.add` is a bundle: windows merge first, all at once; then each window that still
lives takes its elements; then each touched window's trigger is asked once. :meth:`Grouping.reach` is a
step of the watermark or the clock: each window whose moment has come is asked once, and closed if it has
expired.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, Final

from headrace.triggers.bundle import INSERT, RETRACT, Bundle
from headrace.triggers.key_state import KeyState, Output, WindowState, recall
from headrace.triggers.merging import Merging
from headrace.triggers.pane import PaneInfo, PaneInfoTiming, pane_info
from headrace.triggers.panes import Arrival, ArrivalColumns, Panes
from headrace.triggers.reduction import Content, Reduction
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.window import BoundedWindow

_EARLY: Final = PaneInfoTiming.EARLY
_ON_TIME: Final = PaneInfoTiming.ON_TIME
_LATE: Final = PaneInfoTiming.LATE
_ONLY_PANE: Final = pane_info(_ON_TIME, 0, 0, True)


class Grouping:
    """The grouping of one step: a strategy and a reduction, applied to one key at a time.

    Args:
        strategy: where, when and how.
        reduction: what a pane holds.
    """

    def __init__(self, strategy: WindowingStrategy, reduction: Reduction) -> None:
        self._strategy = strategy
        self._trigger = strategy.trigger
        self._reduction = reduction
        self._merging = Merging(strategy, reduction) if strategy.window_fn.is_merging() else None
        self._empty_on_time = (
            strategy.on_time is OnTimeBehavior.FIRE_ALWAYS and self._trigger.has_on_time
        )
        self._patient = self._trigger.patient
        self._empty_last = strategy.closing is ClosingBehavior.FIRE_ALWAYS
        self._send = {
            AccumulationMode.DISCARDING: self._send_and_discard,
            AccumulationMode.ACCUMULATING: self._send_all,
            AccumulationMode.RETRACTING: self._retract_and_send,
        }[strategy.accumulation_mode]

    def add(self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes) -> None:
        """Take elements that arrived together for a key, at most one arrival for each window."""
        merged: list[BoundedWindow] = []
        if self._merging is not None:
            arrivals, merged = self._merging.merge(key, arrivals, clock, out)
        touched = [a.window for a in arrivals if self._take(key, a, clock, out)]
        for window in dict.fromkeys(touched + merged) if merged else touched:
            if not self._waits(key, window, clock):
                self._attend(key, window, clock, out)

    def _waits(self, key: KeyState, window: BoundedWindow, clock: Clock) -> bool:
        """Tell at little cost whether the window has noted already when its trigger is to be asked."""
        patient = self._patient and clock.watermark <= window.last
        return patient and key.dues.get(window) != NEVER

    def reach(self, key: KeyState, clock: Clock, out: Panes) -> None:
        """Let a key know how far the watermark and the clock have come."""
        due = key.dues.pop(clock.watermark)
        alarmed = key.alarms.pop(clock.now)
        for window in dict.fromkeys(due + alarmed) if alarmed else due:
            self._attend(key, window, clock, out)

    def live_through(
        self, arrivals: Sequence[Arrival], start: Clock, end: Clock, out: Panes
    ) -> None:
        """Give a key its whole life in one call: elements arrive at a start, then time comes to its end.

        The panes are those of :meth:`add` and :meth:`reach`. A window that does not fire as its elements
        arrive has one pane only, and that takes no state.

        Args:
            arrivals: one for each window; these are merged already, if windows merge.
            start: what time it is when the elements arrive.
            end: the end of time.
            out: takes the panes.
        """
        trigger = self._trigger
        for arrival in arrivals:
            state = trigger.on_elements(trigger.start, arrival.arrived, start.now)
            if trigger.should_fire(state, arrival.window.last, start):
                key = KeyState()
                self.add(key, [arrival], start, out)
                self.reach(key, end, out)
            else:
                self._send_only_pane(arrival, out)

    def only_panes(self, arrivals: ArrivalColumns) -> Bundle:
        """Give many keys their whole lives in one call: :meth:`live_through`, by columns.

        It takes a trigger that is patient, and insertions alone; then a window has one pane, at its end.
        """
        values = map(self._reduction.final, arrivals.contents)
        pairs = list(zip(arrivals.keys, values, strict=True))
        return Bundle(pairs, arrivals.lasts, arrivals.windows, repeat(_ONLY_PANE))

    def _send_only_pane(self, arrival: Arrival, out: Panes) -> None:
        window, last = arrival.window, arrival.window.last
        timestamp = self._strategy.output_time(last, arrival.earliest, arrival.latest)
        for value, diff in self._only_values(arrival.content):
            out.emit(value, min(timestamp, last), window, _ONLY_PANE, diff)

    def _only_values(self, content: Content) -> Iterable[tuple[Any, int]]:
        """Return what a window says that has one pane: in every mode all that it holds."""
        mode = self._strategy.accumulation_mode
        if mode is AccumulationMode.DISCARDING:
            return self._reduction.deltas(content)
        if mode is AccumulationMode.RETRACTING and self._reduction.vanished(content):
            return ()
        return ((self._reduction.result(content), INSERT),)

    def _take(self, key: KeyState, arrival: Arrival, clock: Clock, out: Panes) -> bool:
        """Put elements into their window; drop them where it has expired or closed."""
        window = arrival.window
        state = key.windows.get(window)
        if state is None:
            if self._strategy.expiry(window.last) <= clock.watermark:
                out.dropped.append(arrival)
                return False
            state = self._open(key, arrival)
        elif self._trigger.finished(state.trigger):
            out.dropped.append(arrival)
            return False
        else:
            state.content = self._reduction.merge(state.content, arrival.content)
        state.fresh += arrival.arrived.count
        state.trigger = self._trigger.on_elements(state.trigger, arrival.arrived, clock.now)
        if window.last >= clock.watermark:
            self._hold(key, arrival, clock.watermark)
        return True

    def _open(self, key: KeyState, arrival: Arrival) -> WindowState:
        window = arrival.window
        state = key.windows[window] = WindowState(self._trigger.start, arrival.content)
        if self._merging is not None:
            insort(key.order, window)
        return state

    def _hold(self, key: KeyState, arrival: Arrival, watermark: int) -> None:
        """Hold the output watermark at the timestamp of the pane to come, or at the input watermark.

        An element behind the watermark counts as if it were at the watermark: its pane must not
        come out late on its account.
        """
        window, last = arrival.window, arrival.window.last
        hold = self._strategy.output_time(last, arrival.earliest, arrival.latest)
        hold = min(max(hold, watermark), last)
        before = key.holds.get(window)
        if before not in (NEVER, hold):
            hold = self._strategy.output_time(last, min(hold, before), max(hold, before))
        key.holds.set(window, hold)

    def _attend(self, key: KeyState, window: BoundedWindow, clock: Clock, out: Panes) -> None:
        """Ask a window's trigger, fire, and close the window if it has expired."""
        state, last, trigger = key.windows[window], window.last, self._trigger
        expired = self._strategy.expiry(last) <= clock.watermark
        closed = trigger.finished(state.trigger)
        fires = not closed and trigger.should_fire(state.trigger, last, clock)
        if fires:
            state.trigger = trigger.on_fire(state.trigger, last, clock)
        if (fires or expired) and (state.fresh or not closed):
            closing = expired or trigger.finished(state.trigger)
            self._fire(key, window, clock.watermark, closing, out)
        if expired:
            self._close(key, window)
        else:
            self._schedule(key, window, clock)

    def _fire(
        self, key: KeyState, window: BoundedWindow, watermark: int, closing: bool, out: Panes
    ) -> None:
        """Send a pane, unless it has nothing new and nobody wants it empty."""
        state, last = key.windows[window], window.last
        timing = _timing(state, last, watermark)
        due_when_empty = (timing is _ON_TIME and self._empty_on_time) or (
            closing and self._empty_last
        )
        if not (state.fresh or due_when_empty):
            return
        early = timing is _EARLY
        pane = pane_info(timing, state.index, -1 if early else state.nonspeculative, closing)
        timestamp = min(key.holds.get(window), last)
        if self._send(state, window, timestamp, pane, out):
            state.index += 1
            state.nonspeculative += not early
            state.past_early = state.past_early or not early
        state.fresh = 0
        key.holds.set(window, NEVER)
        key.recalls.set(window, recall(state, last, self._strategy))

    def _send_and_discard(
        self, state: WindowState, window: BoundedWindow, timestamp: int, pane: PaneInfo, out: Panes
    ) -> bool:
        for value, diff in self._reduction.deltas(state.content):
            out.emit(value, timestamp, window, pane, diff)
        state.content = self._reduction.empty()
        return True

    def _send_all(
        self, state: WindowState, window: BoundedWindow, timestamp: int, pane: PaneInfo, out: Panes
    ) -> bool:
        out.emit(self._reduction.result(state.content), timestamp, window, pane)
        return True

    def _retract_and_send(
        self, state: WindowState, window: BoundedWindow, timestamp: int, pane: PaneInfo, out: Panes
    ) -> bool:
        for old in state.outputs:
            out.emit(old.value, old.timestamp, old.window, old.pane, RETRACT)
        state.outputs = ()
        if self._reduction.vanished(state.content):
            return False
        value = self._reduction.result(state.content)
        out.emit(value, timestamp, window, pane)
        state.outputs = (Output(value, timestamp, window, pane),)
        return True

    def _schedule(self, key: KeyState, window: BoundedWindow, clock: Clock) -> None:
        """Note when the window wants to be asked again."""
        state = key.windows[window]
        wake = self._trigger.wake(state.trigger, window.last, clock)
        key.dues.set(window, min(wake.watermark, self._strategy.expiry(window.last)))
        key.alarms.set(window, wake.now)

    def _close(self, key: KeyState, window: BoundedWindow) -> None:
        if self._merging is not None:
            key.strike(window)
        else:
            key.forget(window)


def _timing(state: WindowState, last: int, watermark: int) -> PaneInfoTiming:
    """LATE after a pane that was not early; else EARLY up to the end of the window; else ON_TIME."""
    if state.past_early:
        return _LATE
    return _EARLY if watermark <= last else _ON_TIME
