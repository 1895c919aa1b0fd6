"""The grouping: *what*, *where*, *when* and *how* meet here (the paper's GroupAlsoByWindow).

The inputs for a key are new elements, the input watermark and processing time; the outputs are panes, the
next timers and a watermark hold. A grouping is independent of the runner and never reads a value: a
:class:`~headrace.grouping.reduction.Reduction` makes and reads contents. All runners use this code.

:meth:`Grouping.process` takes the elements of one round: first all windows merge or split, then each window
takes its elements, then the trigger of each touched window is evaluated once. :meth:`Grouping.wake` advances
the watermark or the clock: each window whose timer is due is evaluated once, closed if it has expired, and
removed when no element can merge with it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.grouping.keyed_operator import Moments
from headrace.grouping.pane_output import Arrival, Panes
from headrace.grouping.panes.emission import PaneEmitter
from headrace.grouping.panes.output_times import output_times
from headrace.grouping.reduction import Reduction
from headrace.grouping.state.contents import Contents
from headrace.grouping.state.key_state import KeyState, WindowState, freeze, thaw
from headrace.grouping.state.stamping import stamping
from headrace.grouping.windows.admission import Admission
from headrace.grouping.windows.replacing import Replacing
from headrace.grouping.windows.window_planners import planner
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import fact


class Grouping:
    """The grouping of one step: a strategy and a reduction, applied to one key at a time.

    Args:
        strategy: where, when and how.
        reduction: what a pane holds.
        changing: whether the input can hold retractions; if so, merged windows can split.
        windows_are_reused: whether a downstream grouping merges the windows of the panes again. Later panes
            may then join windows there from as early as the start of a window here.
    """

    def __init__(
        self,
        strategy: WindowingStrategy,
        reduction: Reduction,
        changing: bool = False,
        windows_are_reused: bool = False,
    ) -> None:
        self.strategy = strategy
        self._trigger = strategy.trigger
        self._fires_only_at_end = self._trigger.fires_only_at_end
        self._stamping = stamping(strategy, reduction, changing)
        self.reduction: Reduction = self._stamping or reduction
        merging = strategy.window_fn.is_merging()
        can_split = merging and changing and not strategy.discards
        sessions = fact(strategy.window_fn, "merges_overlapping")
        self._contents = Contents(self.reduction, can_split, sessions)
        self.times = output_times(strategy, self._contents, self._stamping)
        self.emitter = PaneEmitter(strategy, self.reduction, self._contents, self.times)
        self._windows_are_reused = merging and windows_are_reused
        self._replacing: Replacing | None = None
        if merging:
            admission = Admission(strategy, self._contents, changing, self._windows_are_reused)
            common = strategy, self._contents, self.times, self.emitter
            self._replacing = Replacing(*common, planner(admission))

    @property
    def merges(self) -> bool:
        """Whether windows merge."""
        return self._replacing is not None

    def new_state(self) -> KeyState:
        """Return the state of a new key."""
        return KeyState()

    def moments(self, key: KeyState) -> Moments | None:
        """Return the next timers and the hold of a key; None if its state is empty."""
        if key.is_empty:
            return None
        return Moments(key.event_timers.first, key.processing_timers.first, key.hold)

    def freeze(self, key: KeyState) -> tuple[Any, ...]:
        """Return the state of a key as plain data."""
        return freeze(key)

    def thaw(self, frozen: tuple[object, ...]) -> KeyState:
        """Return the state that :meth:`freeze` stored."""
        return thaw(frozen, self.merges)

    def process(self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes) -> None:
        """Process elements that arrived together for a key: at most one arrival per window."""
        if self._stamping is not None:
            arrivals = list(map(self._stamping.add_timestamps, arrivals))
        touched: Iterable[BoundedWindow]
        if self._replacing is None:
            touched = [a.window for a in arrivals if self._add(key, a, clock, out)]
        else:
            touched = self._replacing.take(key, arrivals, clock, out)
        for window in touched:
            if not self._is_scheduled(key, window, clock):
                self._evaluate(key, window, clock, out)
        if self._windows_are_reused:
            self._update_start_hold(key)

    def _is_scheduled(self, key: KeyState, window: BoundedWindow, clock: Clock) -> bool:
        """Cheap check that the timer of the window is already set."""
        fires_only_at_end = self._fires_only_at_end and clock.watermark <= window.last
        return fires_only_at_end and key.event_timers.get(window) != NEVER

    def wake(self, key: KeyState, clock: Clock, out: Panes) -> None:
        """Process the timers of a key that are due at the watermark and the clock."""
        due = key.event_timers.pop(clock.watermark)
        clock_due = key.processing_timers.pop(clock.now)
        for window in dict.fromkeys(due + clock_due) if clock_due else due:
            if window in key.windows:
                self._evaluate(key, window, clock, out)
            else:
                key.forget_retired(window)
        if self._windows_are_reused:
            self._update_start_hold(key)

    def run_to_completion(
        self, arrivals: Sequence[Arrival], merged: bool, start: Clock, end: Clock, out: Panes
    ) -> None:
        """Process all elements of a key, then advance the time to its end.

        The panes are the same as with :meth:`process` and :meth:`wake`. A window that does not fire when its
        elements arrive has only one pane, which needs no state.

        Args:
            arrivals: one per window.
            merged: whether windows that can merge have been merged.
            start: the watermark and the processing time at which the elements arrive.
            end: the end of time.
            out: receives the panes.
        """
        if not merged:
            self._run(arrivals, start, end, out)
            return
        trigger = self._trigger
        for arrival in arrivals:
            state = trigger.on_elements(trigger.start, arrival.arrived, start.now)
            if trigger.should_fire(state, arrival.window.last, start):
                self._run([arrival], start, end, out)
            else:
                self.emitter.emit_final(arrival, out)

    def _run(self, arrivals: Sequence[Arrival], start: Clock, end: Clock, out: Panes) -> None:
        key = KeyState()
        self.process(key, arrivals, start, out)
        self.wake(key, end, out)

    def _add(self, key: KeyState, arrival: Arrival, clock: Clock, out: Panes) -> bool:
        """Add elements to a window that does not merge; drop them if it has expired or closed."""
        window, trigger = arrival.window, self._trigger
        state = key.windows.get(window)
        if state is None:
            if self.strategy.is_late(window.last, clock.watermark):
                out.dropped.append(arrival)
                return False
            state = key.windows[window] = WindowState(trigger.start, arrival.content)
        elif trigger.finished(state.trigger):
            out.dropped.append(arrival)
            return False
        else:
            state.content = self.reduction.merge(state.content, arrival.content)
        state.pending += arrival.arrived.count
        state.trigger = trigger.on_elements(state.trigger, arrival.arrived, clock.now)
        self.times.on_arrival(key, arrival, clock.watermark)
        return True

    def _evaluate(self, key: KeyState, window: BoundedWindow, clock: Clock, out: Panes) -> None:
        """Evaluate a window's trigger, fire if it is ready, and close the window if it has expired."""
        state, last, trigger = key.windows[window], window.last, self._trigger
        if not state.expired:
            expired = self.strategy.is_late(last, clock.watermark)
            closed = trigger.finished(state.trigger)
            fires = not closed and trigger.should_fire(state.trigger, last, clock)
            if fires:
                state.trigger = trigger.on_fire(state.trigger, last, clock)
            if (fires or expired) and (state.pending or not closed):
                closing = expired or trigger.finished(state.trigger)
                self.emitter.fire(key, window, clock.watermark, closing, out)
            state.expired = expired
        if state.expired and self.strategy.cleanup_time(last) <= clock.watermark:
            self._close(key, window)
        else:
            self.set_timers(key, window, clock)

    def set_timers(self, key: KeyState, window: BoundedWindow, clock: Clock) -> None:
        """Set the timers at which the trigger of a window is evaluated again, or the window is closed.

        A window that has expired is retained, since elements in time can still merge with it.
        """
        state = key.windows[window]
        if state.expired:
            key.event_timers.set(window, self.strategy.cleanup_time(window.last))
            key.processing_timers.set(window, NEVER)
            key.holds.set(window, NEVER)
            return
        wake = self._trigger.wake(state.trigger, window.last, clock)
        key.event_timers.set(window, min(wake.watermark, self.strategy.expiry(window.last)))
        key.processing_timers.set(window, wake.now)

    def _update_start_hold(self, key: KeyState) -> None:
        """Hold the output watermark while a downstream grouping still needs windows that may be joined.

        Elements join a session where they overlap it; they may join other windows before their start.
        """
        known = self.strategy.reach if self._contents.sessions else 0
        start = key.order[0][0] if key.order else NEVER
        key.start_hold = min(start + self.strategy.allowed_lateness + known - 1, NEVER)

    def _close(self, key: KeyState, window: BoundedWindow) -> None:
        if self._replacing is None:
            key.forget(window)
        else:
            self._contents.drop(key, window)
            key.dropped.pop(window, None)
            key.remove_window(window)
            key.closed_until = max(key.closed_until, window[1])
