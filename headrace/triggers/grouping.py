"""The heart: where *what*, *where*, *when* and *how* meet (the paper's GroupAlsoByWindow).

For one key: new elements, the input watermark and processing time go in; panes, the next moments of
attention and a watermark hold come out. It knows no engine and looks at no value: contents are made and
read by a :class:`~headrace.triggers.reduction.Reduction`. Every runner runs this code.

A call of :meth:`Grouping.process` is a bundle: windows merge, and come apart, first, all at once; then each
window takes its elements; then each touched window's trigger is asked once. :meth:`Grouping.wake` is a
step of the watermark or the clock: each window whose moment has come is asked once, closed if it has
expired, and forgotten when nothing can merge with it any more.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Any

from headrace.triggers.admission import Admission
from headrace.triggers.bundle import Bundle
from headrace.triggers.contents import Contents
from headrace.triggers.emission import PaneEmitter, is_late
from headrace.triggers.key_state import KeyState, WindowState, freeze, thaw
from headrace.triggers.keyed_operator import Moments
from headrace.triggers.output_times import OutputTimes
from headrace.triggers.pane_output import Arrival, ArrivalColumns, Panes
from headrace.triggers.reduction import Reduction
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.stamping import stamping
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.triggers.window_merging import Merging, tell
from headrace.triggers.window_splitting import Splitting
from headrace.windowing.merging import are_sessions
from headrace.windowing.window import BoundedWindow


class Grouping:
    """The grouping of one step: a strategy and a reduction, applied to one key at a time.

    Args:
        strategy: where, when and how.
        reduction: what a pane holds.
        changing: whether the input can hold retractions; then windows that merged can come apart.
        hands_on_windows: whether a grouping behind this one merges its windows again, as they are; what
            is to come may reach back there as far as the start of a window.
    """

    def __init__(
        self,
        strategy: WindowingStrategy,
        reduction: Reduction,
        changing: bool = False,
        hands_on_windows: bool = False,
    ) -> None:
        self._strategy = strategy
        self._trigger = strategy.trigger
        self._fires_only_at_end = self._trigger.fires_only_at_end
        self._stamping = stamping(strategy, reduction, changing)
        self._reduction: Reduction = self._stamping or reduction
        merging = strategy.window_fn.is_merging()
        discarding = strategy.accumulation_mode is AccumulationMode.DISCARDING
        self._parted = merging and changing and not discarding
        self._contents = Contents(self._reduction, self._parted, are_sessions(strategy.window_fn))
        self._times = OutputTimes(strategy, self._contents, self._stamping, changing)
        self._emitter = PaneEmitter(strategy, self._reduction, self._contents, self._times)
        self._hands_on_windows = merging and hands_on_windows
        self._merging = self._merging_of() if merging else None

    def _merging_of(self) -> Merging | Splitting:
        admission = Admission(self._strategy, self._contents, self._hands_on_windows)
        common = self._strategy, self._reduction, self._times, admission
        return Splitting(*common, self._contents) if self._parted else Merging(*common)

    def new_state(self) -> KeyState:
        """Return the state of a key that has seen nothing."""
        return KeyState()

    def moments(self, key: KeyState) -> Moments | None:
        """Return when a key wants to be woken; None if nothing of it need be remembered."""
        if key.is_empty:
            return None
        return Moments(key.event_timers.first, key.processing_timers.first, key.hold)

    def freeze(self, key: KeyState) -> tuple[Any, ...]:
        """Return the state of a key as plain data."""
        return freeze(key)

    def thaw(self, frozen: tuple[Any, ...]) -> KeyState:
        """Return the state that :meth:`freeze` gave."""
        return thaw(frozen, merging=self._merging is not None)

    def process(self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes) -> None:
        """Take elements that arrived together for a key, at most one arrival for each window."""
        if self._stamping is not None:
            arrivals = list(map(self._stamping.stamped, arrivals))
        if self._merging is None:
            touched = [a.window for a in arrivals if self._take(key, a, clock, out)]
        else:
            if not key.windows:
                strategy = self._strategy
                key.since = clock.watermark - strategy.allowed_lateness - strategy.reach
            arrivals, moved, speaking = self._merging.place(key, arrivals, clock, out)
            touched = [a.window for a in arrivals if self._take(key, a, clock, out)] + moved
            for window in speaking:
                self._emitter.correct(key, window, clock.watermark, out)
            touched = list(dict.fromkeys(touched))
        for window in touched:
            if not self._waits(key, window, clock):
                self._evaluate(key, window, clock, out)
        if self._hands_on_windows:
            self._hold_start(key)

    def _waits(self, key: KeyState, window: BoundedWindow, clock: Clock) -> bool:
        """Tell at little cost whether the window has noted already when its trigger is to be asked."""
        fires_only_at_end = self._fires_only_at_end and clock.watermark <= window.last
        return fires_only_at_end and key.event_timers.get(window) != NEVER

    def wake(self, key: KeyState, clock: Clock, out: Panes) -> None:
        """Let a key know how far the watermark and the clock have come."""
        due = key.event_timers.pop(clock.watermark)
        alarmed = key.processing_timers.pop(clock.now)
        for window in dict.fromkeys(due + alarmed) if alarmed else due:
            if window in key.windows:
                self._evaluate(key, window, clock, out)
            else:
                key.leave(window)
        if self._hands_on_windows:
            self._hold_start(key)

    def run_to_completion(
        self, arrivals: Sequence[Arrival], start: Clock, end: Clock, out: Panes
    ) -> None:
        """Give a key its whole life in one call: elements arrive at a start, then time comes to its end.

        The panes are those of :meth:`process` and :meth:`wake`. A window that does not fire as its elements
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
                self.process(key, [arrival], start, out)
                self.wake(key, end, out)
            else:
                self._emitter.emit_final(arrival, out)

    def final_panes(self, arrivals: ArrivalColumns) -> Bundle:
        """Run many keys to completion, by columns; see :func:`~.emission.has_only_final_panes`."""
        return self._emitter.final_panes(arrivals)

    def _take(self, key: KeyState, arrival: Arrival, clock: Clock, out: Panes) -> bool:
        """Put elements into their window; drop them where it has expired or closed."""
        window, trigger = arrival.window, self._trigger
        state = key.windows.get(window)
        if self._parted:
            assert state is not None
            tell(trigger, state, arrival, clock)
            self._times.arrived(key, arrival, clock.watermark)
            return True
        if state is None:
            if is_late(self._strategy, window.last, clock.watermark):
                out.dropped.append(arrival)
                return False
            state = self._open(key, arrival)
        elif trigger.finished(state.trigger):
            out.dropped.append(arrival)
            return False
        else:
            state.content = self._reduction.merge(state.content, arrival.content)
        state.pending += arrival.arrived.count
        state.trigger = trigger.on_elements(state.trigger, arrival.arrived, clock.now)
        self._times.arrived(key, arrival, clock.watermark)
        return True

    def _open(self, key: KeyState, arrival: Arrival) -> WindowState:
        window = arrival.window
        state = key.windows[window] = WindowState(self._trigger.start, arrival.content)
        if self._merging is not None:
            insort(key.order, window)
        return state

    def _evaluate(self, key: KeyState, window: BoundedWindow, clock: Clock, out: Panes) -> None:
        """Ask a window's trigger, fire, and close the window if it has expired."""
        state, last, trigger = key.windows[window], window.last, self._trigger
        if not state.expired:
            expired = is_late(self._strategy, last, clock.watermark)
            closed = trigger.finished(state.trigger)
            fires = not closed and trigger.should_fire(state.trigger, last, clock)
            if fires:
                state.trigger = trigger.on_fire(state.trigger, last, clock)
            if (fires or expired) and (state.pending or not closed):
                closing = expired or trigger.finished(state.trigger)
                self._emitter.fire(key, window, clock.watermark, closing, out)
            state.expired = expired
        if not state.expired:
            self._schedule(key, window, clock)
        elif self._strategy.gone(last) <= clock.watermark:
            self._close(key, window)
        else:
            self._retain(key, window)

    def _schedule(self, key: KeyState, window: BoundedWindow, clock: Clock) -> None:
        """Note when the window wants to be asked again."""
        state = key.windows[window]
        wake = self._trigger.wake(state.trigger, window.last, clock)
        key.event_timers.set(window, min(wake.watermark, self._strategy.expiry(window.last)))
        key.processing_timers.set(window, wake.now)

    def _retain(self, key: KeyState, window: BoundedWindow) -> None:
        """Keep a window that has expired, for elements that are not late may still merge with it."""
        key.event_timers.set(window, self._strategy.gone(window.last))
        key.processing_timers.set(window, NEVER)
        key.holds.set(window, NEVER)

    def _hold_start(self, key: KeyState) -> None:
        """Hold the output watermark where a grouping behind still knows all that may be joined.

        Sessions are joined where they overlap; others may be joined before their start.
        """
        known = self._strategy.reach if self._contents.sessions else 0
        start = key.order[0][0] if key.order else NEVER
        key.start = min(start + self._strategy.allowed_lateness + known - 1, NEVER)

    def _close(self, key: KeyState, window: BoundedWindow) -> None:
        if self._merging is None:
            key.forget(window)
        else:
            self._contents.drop(key, window)
            key.remove_window(window)
            key.since = max(key.since, window[1])
