"""The table of a grouping: a light tier for most keys, and a full tier for the rest.

A key, or a window of a key, enters the light tier. It is promoted to the full tier when an element needs the
state of a :class:`~headrace.grouping.grouping.Grouping`: one behind the watermark. A full state compacts to a
light one as soon as its windows have not fired, or have fired once, at their end
(:mod:`headrace.grouping.first_pane`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import attrs

from headrace.grouping.first_pane import first_pane_windows, key_state
from headrace.grouping.grouping import Grouping
from headrace.grouping.keyed_operator import Moments
from headrace.runners.contents.grouping_paths import Keep
from headrace.runners.grouping.keyed_table import KeyedTable
from headrace.runners.grouping.light_tier import LightState, LightTier
from headrace.runners.grouping.output import KeyedPanes
from headrace.runners.grouping.session_tier import SessionTier
from headrace.runners.grouping.window_tier import WindowTier
from headrace.runners.plan.planning import KeyedStep
from headrace.triggers.trigger import Clock


@attrs.define(eq=False)
class GroupingTable:
    """The keys of a grouping in two tiers.

    Args:
        grouping: the grouping.
        light: the light tier.
        full: the full tier.
    """

    grouping: Grouping
    light: LightTier
    full: KeyedTable

    def process(self, arrivals: Iterable[object], clock: Clock, out: KeyedPanes) -> None:
        """Process elements in the light tier, and in the full tier those that need it."""
        for arrived in self.light.process(arrivals, clock, self.full):
            self._promote(arrived[0], arrived[1], clock)
            self.full.process((arrived,), clock, out)
            self._compact(arrived[0], clock)

    def wake(self, clock: Clock, out: KeyedPanes) -> None:
        """Process the timers that are due in both tiers."""
        if len(self.full):
            self.full.wake(clock, out)
        self.light.wake(clock, out)

    def _promote(self, identity: Hashable, key: object, clock: Clock) -> None:
        """Replace a light state by a full one, if there is one."""
        found = self.light.take(identity)
        if found is not None:
            state = key_state(self.grouping, found.windows, found.closed_until, clock)
            self.full.put(identity, key, state)

    def _compact(self, identity: Hashable, clock: Clock) -> None:
        """Replace a full state by a light one, if it needs no more."""
        if identity not in self.full:
            return
        key, state = self.full.get(identity)
        windows = first_pane_windows(self.grouping.strategy, state, clock)
        if windows is not None:
            self.full.remove(identity)
            self.light.put(identity, key, LightState(windows, state.closed_until))

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold of both tiers."""
        light = self.light.moments
        return Moments(*map(min, light, self.full.moments)) if len(self.full) else light

    def __len__(self) -> int:
        """Return the number of states of both tiers."""
        return len(self.light) + len(self.full)


def light_tier_of(step: KeyedStep, keep: Keep, grouping: Grouping) -> LightTier:
    """Return an empty light tier.

    Args:
        step: the grouping.
        keep: what is kept; not full states of all keys.
        grouping: makes panes.
    """
    return (SessionTier if keep is Keep.SESSIONS else WindowTier)(step, grouping)


def table_of(step: KeyedStep, keep: Keep) -> KeyedTable | GroupingTable:
    """Return an empty table of a grouping that keeps this."""
    grouping = step.grouping()
    full = KeyedTable(grouping)
    if keep is Keep.FULL:
        return full
    return GroupingTable(grouping, light_tier_of(step, keep, grouping), full)
