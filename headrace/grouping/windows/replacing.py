"""Replacement of windows: new windows of a key take over the states of old ones.

Merging and splitting are the same: old windows become new ones. A planner says which windows replace which
(:mod:`~headrace.grouping.windows.window_planners`). Here the new windows take over contents, trigger states,
pane numbers, unretracted panes and holds, and then take the elements that have just arrived.

An unretracted pane goes to the window that replaces its own. If windows can split, that is the new window
that covers the window of the pane. If there is none, because the window has split or become shorter, the pane
is retracted at once and the new windows fire at once: the old window has no trigger any more, and the
triggers of the new ones may fire at different times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

import attrs

from headrace.grouping.bundle import RETRACT
from headrace.grouping.pane_output import Arrival, Panes, merge_arrivals
from headrace.grouping.panes.emission import PaneEmitter
from headrace.grouping.panes.output_times import OutputTimes
from headrace.grouping.state.contents import Contents
from headrace.grouping.state.key_state import KeyState, Output, PaneNumbers, WindowState
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Clock
from headrace.windowing.window import BoundedWindow

Sources = dict[BoundedWindow, list[BoundedWindow]]
"""New windows, each with the old windows that it replaces."""

_NO_PANES: Final = PaneNumbers(0, 0, False)

_window_of: Final = attrgetter("window")


class ReplacementPlan(NamedTuple):
    """What the elements of a round change.

    Attributes:
        arrivals: the accepted elements that belong to windows, by their own windows.
        window_of: returns the window to which an own window belongs after the replacement.
        sources: the new windows with those that they replace.
        opened: the new windows that replace none.
        emptied: the old windows that no window replaces.
        removals: the windows that lost an own window to retractions, each with these.
    """

    arrivals: Sequence[Arrival]
    window_of: Callable[[BoundedWindow], BoundedWindow]
    sources: Sources
    opened: Sequence[BoundedWindow] = ()
    emptied: Sequence[BoundedWindow] = ()
    removals: Sequence[tuple[BoundedWindow, Arrival]] = ()


class WindowPlanner(Protocol):
    """Says which windows replace which."""

    def plan(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> ReplacementPlan:
        """Accept elements or drop them, and return what the accepted ones change."""


@attrs.frozen
class Replacing:
    """The replacement of one grouping's windows, one key at a time.

    Attributes:
        strategy: its window function merges.
        contents: what windows hold.
        times: timestamps and holds of panes.
        emitter: fires the panes that replace retracted ones.
        planner: says which windows replace which.
    """

    strategy: WindowingStrategy
    contents: Contents
    times: OutputTimes
    emitter: PaneEmitter
    planner: WindowPlanner

    def take(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> Iterable[BoundedWindow]:
        """Replace windows and add elements to them; return the windows to evaluate."""
        plan, watermark = self.planner.plan(key, arrivals, clock, out), clock.watermark
        for window, removal in plan.removals:
            self._record_removal(key, window, removal, clock)
        owing = self._replace(key, plan, clock, out) if plan.sources or plan.emptied else ()
        for window in plan.opened:
            self._open(key, window)
        joined = self._merge_arrivals(plan)
        for arrival in joined:
            self.contents.add(key.windows[arrival.window], arrival.content)
        changed = [window for window, _ in plan.removals if window in key.windows]
        changed += plan.sources
        for window in changed:
            self.times.update_retraction_hold(key, window, watermark)
        for arrival in joined:
            self._record(key.windows[arrival.window], arrival, clock)
            self.times.on_arrival(key, arrival, watermark)
        for window in owing:
            self.emitter.fire_without_trigger(key, window, watermark, out)
        return dict.fromkeys([*map(_window_of, joined), *changed])

    def _record(self, state: WindowState, arrival: Arrival, clock: Clock) -> None:
        """Record the arrival of elements in the state of their window."""
        trigger = self.strategy.trigger
        state.pending += arrival.arrived.count
        if not trigger.finished(state.trigger):
            state.trigger = trigger.on_elements(state.trigger, arrival.arrived, clock.now)

    def _record_removal(
        self, key: KeyState, window: BoundedWindow, removal: Arrival, clock: Clock
    ) -> None:
        """Record in the state of a window that retractions removed a part of it."""
        state = key.windows[window]
        self._record(state, removal, clock)
        self.times.record_earliest(key, window, removal, clock.watermark)
        self.contents.remove(key, state, removal)

    def _merge_arrivals(self, plan: ReplacementPlan) -> list[Arrival]:
        """Merge the arrivals of each window into one."""
        groups: dict[BoundedWindow, list[Arrival]] = {}
        for arrival in plan.arrivals:
            groups.setdefault(plan.window_of(arrival.window), []).append(arrival)
        return [
            group[0]
            if len(group) == 1 and group[0].window == target
            else merge_arrivals(target, group, self.contents.reduction.merge)
            for target, group in groups.items()
        ]

    def _open(self, key: KeyState, window: BoundedWindow) -> None:
        """Add a new window that replaces none."""
        numbers = key.retired_numbers.pop(window, _NO_PANES)
        content = self.contents.reduction.empty()
        key.add_window(window, WindowState(self.strategy.trigger.start, content, 0, *numbers))

    def _replace(
        self, key: KeyState, plan: ReplacementPlan, clock: Clock, out: Panes
    ) -> Iterable[BoundedWindow]:
        """Replace old windows by new ones; return the new windows that fire at once."""
        successors: Sources = {window: [] for window in plan.emptied}
        for target, windows in plan.sources.items():
            for window in windows:
                successors.setdefault(window, []).append(target)
        holds = {
            target: self.times.merged_holds(key, target, windows, clock.watermark)
            for target, windows in plan.sources.items()
        }
        old = {window: key.remove_window(window) for window in sorted(successors)}
        numbers = self._retire(key, old)
        panes, owing = self._pass_on(old, successors, out)
        for target, windows in plan.sources.items():
            states = [old[window] for window in windows]
            state = self._merged_state(target, states, clock)
            whole = all(len(successors[window]) == 1 for window in windows)
            state.content = self.contents.merged(states, whole)
            state.outputs = tuple(sorted(panes[target], key=_window_of))
            state.pending += sum(pane.window != target for pane in state.outputs)
            state.pending += target in owing
            state.index, state.nonspeculative, past_early = numbers.pop(target, _NO_PANES)
            state.past_early = state.past_early or past_early
            key.add_window(target, state)
            hold, retraction_hold = holds[target]
            key.holds.set(target, hold)
            key.retraction_holds.set(target, retraction_hold)
        return sorted(owing)

    def _retire(
        self, key: KeyState, old: Mapping[BoundedWindow, WindowState]
    ) -> dict[BoundedWindow, PaneNumbers]:
        """Return the pane numbers of windows that are replaced.

        If windows can split, the key keeps them, since an old window may return; its timer ends that.
        """
        numbers = key.retired_numbers if self.contents.can_split else {}
        for window, state in old.items():
            if state.index:
                numbers[window] = PaneNumbers(state.index, state.nonspeculative, state.past_early)
            if window in key.retired_numbers or window in key.parts or window in key.dropped:
                key.event_timers.set(window, self.strategy.cleanup_time(window.last))
        return numbers

    def _pass_on(
        self, old: Mapping[BoundedWindow, WindowState], successors: Sources, out: Panes
    ) -> tuple[Mapping[BoundedWindow, list[Output]], set[BoundedWindow]]:
        """Pass on unretracted panes, and retract those that no successor of their window takes.

        Returns:
            The panes of each successor, and the successors that fire at once, since a pane with their
            elements was retracted.
        """
        panes: dict[BoundedWindow, list[Output]] = defaultdict(list)
        owing: set[BoundedWindow] = set()
        for window, state in old.items():
            for pane in state.outputs:
                takers = [s for s in successors[window] if self._takes(s, pane.window)]
                if takers:
                    panes[takers[0]].append(pane)
                else:
                    out.emit(pane.value, pane.timestamp, pane.window, pane.pane, RETRACT)
                    owing.update(set(successors[window]).difference(map(_window_of, state.outputs)))
        return panes, owing

    def _takes(self, successor: BoundedWindow, window: BoundedWindow) -> bool:
        """Return whether a successor takes a pane; if windows only merge, the only successor does."""
        covers = successor[0] <= window[0] and window[1] <= successor[1]
        return covers or not self.contents.can_split

    def _merged_state(
        self, target: BoundedWindow, states: Sequence[WindowState], clock: Clock
    ) -> WindowState:
        """Return the state of a window that replaces others, without content, panes and pane numbers."""
        on_merge = self.strategy.trigger.on_merge
        return WindowState(
            trigger=on_merge([state.trigger for state in states], target.last, clock),
            content=None,
            pending=sum(state.pending for state in states),
            past_early=any(state.past_early for state in states),
            earliest=min(state.earliest for state in states),
        )
