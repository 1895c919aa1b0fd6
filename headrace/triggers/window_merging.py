"""Merging of windows: which windows become one, and what becomes of what they held.

Windows that hold state unite their states; elements that have just arrived only follow their window.
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
    """A window that becomes another, or a part of one: with its state, its hold and its recall."""

    window: BoundedWindow
    state: WindowState
    hold: int
    recall: int


class Placed(NamedTuple):
    """Arrivals in the windows that theirs have become.

    Attributes:
        arrivals: the arrivals, at most one for each window.
        moved: the windows that took over the state of others.
        speaking: those of them that speak at once, since what was said of their elements is taken back.
    """

    arrivals: list[Arrival]
    moved: list[BoundedWindow]
    speaking: Sequence[BoundedWindow] = ()


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

    def place(self, key: KeyState, arrivals: Sequence[Arrival], clock: Clock, out: Panes) -> Placed:
        """Merge the windows of new elements with each other and with those that are kept."""
        taken, plan = self.admission.admit(key, arrivals, clock, out)
        unions = [(merge.target, _take_out(key, merge)) for merge in plan]
        moved = [target for target, sources in unions if sources]
        for target, sources in unions:
            if sources:
                self._unite(key, target, sources, clock)
        homes = {window: merge.target for merge in plan for window in merge.sources}
        return Placed(landed(taken, homes, self.reduction), moved)

    def _unite(
        self, key: KeyState, target: BoundedWindow, sources: list[Source], clock: Clock
    ) -> None:
        """Make one state of those of several windows; the count of panes goes on only in place."""
        state = united_state(self.strategy, target, sources, clock)
        state.content = reduce(self.reduction.merge, (source.state.content for source in sources))
        in_place = next((s.state for s in sources if s.window == target), None)
        if in_place is not None:
            state.index, state.nonspeculative = in_place.index, in_place.nonspeculative
        state.outputs = in_order(source.state.outputs for source in sources)
        state.pending += moved_outputs(state.outputs, target)
        key.add_window(target, state)
        holds, retraction_holds = [s.hold for s in sources], [s.recall for s in sources]
        self.times.merged(key, target, holds, retraction_holds, clock.watermark)


def united_state(
    strategy: WindowingStrategy, target: BoundedWindow, sources: Sequence[Source], clock: Clock
) -> WindowState:
    """Return the state of a window that others become, without content, numbers and outputs."""
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


def tell(trigger: Trigger, state: WindowState, arrival: Arrival, clock: Clock) -> None:
    """Let a window know that elements have arrived."""
    state.pending += arrival.arrived.count
    if not trigger.finished(state.trigger):
        state.trigger = trigger.on_elements(state.trigger, arrival.arrived, clock.now)


def in_order(outputs: Iterable[Iterable[Output]]) -> tuple[Output, ...]:
    """Return panes that stand in order of window start."""
    return tuple(sorted(chain.from_iterable(outputs), key=_window_of))


def moved_outputs(outputs: Sequence[Output], target: BoundedWindow) -> int:
    """Count the panes that stand in windows which are no more; to take them back is news."""
    return sum(pane.window != target for pane in outputs)


def landed(
    arrivals: Sequence[Arrival], homes: dict[BoundedWindow, BoundedWindow], reduction: Reduction
) -> list[Arrival]:
    """Put arrivals together in the windows that theirs have become."""
    together: dict[BoundedWindow, list[Arrival]] = {}
    for arrival in arrivals:
        together.setdefault(homes[arrival.window], []).append(arrival)
    return [
        some[0]
        if len(some) == 1 and some[0].window == target
        else merge_arrivals(target, some, reduction.merge)
        for target, some in together.items()
    ]


def taken_out(key: KeyState, windows: Sequence[BoundedWindow]) -> list[Source]:
    """Take windows out of a key."""
    sources = [
        Source(window, key.windows[window], key.holds.get(window), key.retraction_holds.get(window))
        for window in windows
    ]
    for window in windows:
        key.remove_window(window)
    return sources


def _take_out(key: KeyState, merge: Merge) -> list[Source]:
    """Take the sources of a merge that are kept out of a key, in order; none where nothing changes."""
    kept = sorted(window for window in merge.sources if window in key.windows)
    return [] if kept == [merge.target] else taken_out(key, kept)
