"""Merging of windows: which windows merge, and how their states merge.

Windows that are kept have states to merge; elements that have just arrived go to the merged window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import attrs

from headrace.triggers.admission import Admission
from headrace.triggers.key_state import KeyState, Output, WindowState
from headrace.triggers.output_times import OutputTimes
from headrace.triggers.pane_output import Arrival, Panes, merge_arrivals
from headrace.triggers.reduction import Reduction
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock, Trigger
from headrace.windowing.merging import Merge
from headrace.windowing.window import BoundedWindow

_window_of = attrgetter("window")


class Source(NamedTuple):
    """A window that is replaced by others, with its state and holds."""

    window: BoundedWindow
    state: WindowState
    hold: int
    retraction_hold: int


class WindowUpdate(NamedTuple):
    """The result of merging and splitting: arrivals in their current windows, and windows to evaluate.

    Attributes:
        arrivals: the arrivals, at most one per window.
        changed: the windows that replace others, or have lost a part.
        fire_now: those of them that fire at once, since a pane with their elements was retracted.
    """

    arrivals: list[Arrival]
    changed: list[BoundedWindow]
    fire_now: Sequence[BoundedWindow] = ()


@attrs.frozen
class Merging:
    """The merging of one grouping's windows, one key at a time.

    Attributes:
        strategy: its window function merges.
        reduction: how contents merge.
        times: timestamps and holds of panes.
        admission: which elements are taken.
    """

    strategy: WindowingStrategy
    reduction: Reduction
    times: OutputTimes
    admission: Admission

    def update_windows(
        self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes
    ) -> WindowUpdate:
        """Merge the windows of new elements with each other and with those that are kept."""
        taken, plan = self.admission.admit(key, arrivals, clock, out)
        merged = [(merge.target, _pop_sources(key, merge)) for merge in plan]
        changed = [target for target, sources in merged if sources]
        for target, sources in merged:
            if sources:
                self._merge_states(key, target, sources, clock)
        targets = {window: merge.target for merge in plan for window in merge.sources}
        return WindowUpdate(merge_by_target(taken, targets, self.reduction), changed)

    def _merge_states(
        self, key: KeyState, target: BoundedWindow, sources: list[Source], clock: Clock
    ) -> None:
        """Merge the states of several windows; pane numbers continue only if the target is one of them."""
        state = merged_state(self.strategy, target, sources, clock)
        state.content = reduce(self.reduction.merge, (source.state.content for source in sources))
        in_place = next((s.state for s in sources if s.window == target), None)
        if in_place is not None:
            state.index, state.nonspeculative = in_place.index, in_place.nonspeculative
        state.outputs = sorted_outputs(source.state.outputs for source in sources)
        state.pending += count_replaced_panes(state.outputs, target)
        key.add_window(target, state)
        holds, retraction_holds = [s.hold for s in sources], [s.retraction_hold for s in sources]
        self.times.on_merge(key, target, holds, retraction_holds, clock.watermark)


def merged_state(
    strategy: WindowingStrategy, target: BoundedWindow, sources: Sequence[Source], clock: Clock
) -> WindowState:
    """Return the state of a window that replaces others, without content, pane numbers and outputs."""
    states = [source.state for source in sources]
    trigger = strategy.trigger
    return WindowState(
        trigger=trigger.on_merge([state.trigger for state in states], target.last, clock)
        if states
        else trigger.start,
        content=None,
        pending=sum(state.pending for state in states),
        past_early=any(state.past_early for state in states),
        earliest=min((state.earliest for state in states), default=NEVER),
    )


def record_arrival(trigger: Trigger, state: WindowState, arrival: Arrival, clock: Clock) -> None:
    """Record the arrival of elements in the state of their window."""
    state.pending += arrival.arrived.count
    if not trigger.finished(state.trigger):
        state.trigger = trigger.on_elements(state.trigger, arrival.arrived, clock.now)


def sorted_outputs(outputs: Iterable[Iterable[Output]]) -> tuple[Output, ...]:
    """Return unretracted panes in order of window start."""
    return tuple(sorted(chain.from_iterable(outputs), key=_window_of))


def count_replaced_panes(outputs: Sequence[Output], target: BoundedWindow) -> int:
    """Return the number of unretracted panes of other windows, which the next pane replaces."""
    return sum(pane.window != target for pane in outputs)


def merge_by_target(
    arrivals: Sequence[Arrival], targets: dict[BoundedWindow, BoundedWindow], reduction: Reduction
) -> list[Arrival]:
    """Merge arrivals that have the same target window."""
    groups: dict[BoundedWindow, list[Arrival]] = {}
    for arrival in arrivals:
        groups.setdefault(targets[arrival.window], []).append(arrival)
    return [
        group[0]
        if len(group) == 1 and group[0].window == target
        else merge_arrivals(target, group, reduction.merge)
        for target, group in groups.items()
    ]


def pop_windows(key: KeyState, windows: Sequence[BoundedWindow]) -> list[Source]:
    """Remove windows from a key, and return them with their states."""
    sources = [
        Source(window, key.windows[window], key.holds.get(window), key.retraction_holds.get(window))
        for window in windows
    ]
    for window in windows:
        key.remove_window(window)
    return sources


def _pop_sources(key: KeyState, merge: Merge) -> list[Source]:
    """Remove the kept sources of a merge from a key, in order; none if only arrivals join a window."""
    kept = sorted(window for window in merge.sources if window in key.windows)
    return [] if kept == [merge.target] else pop_windows(key, kept)
