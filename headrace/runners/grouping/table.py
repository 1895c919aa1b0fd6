"""The table of a grouping: a light tier for most keys, and a full tier for the rest.

A key, or a window of a key, enters the light tier. It is promoted to the full tier when an element behind the
watermark needs the state of a :class:`~headrace.grouping.grouping.Grouping`. A full state compacts to a light
one as soon as each of its windows has not fired, or fired last at its end
(:mod:`headrace.grouping.light_window`).

The table of paths (:mod:`headrace.runners.contents.grouping_paths`) says which light tier a grouping has:
contents by window (:mod:`~headrace.runners.grouping.window_tier`), or sessions by key
(:mod:`~headrace.runners.grouping.session_tier`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

import attrs

from headrace.grouping.grouping import Grouping
from headrace.grouping.keyed_operator import Moments
from headrace.grouping.light_window import LightWindow, key_state, light_windows
from headrace.runners.grouping.keyed_table import KeyArrivals, KeyedTable
from headrace.runners.grouping.output import KeyedPanes
from headrace.triggers.trigger import Clock


class LightState(NamedTuple):
    """What the light tier holds of an item of the full tier.

    Attributes:
        windows: its windows, in order.
        closed_until: every window that ended later than this is still kept; only for sessions.
    """

    windows: list[LightWindow]
    closed_until: int


Rows: TypeAlias = tuple[Any, list[Any], tuple[list[Any], ...]]
"""A part of a frozen light tier: what its rows have in common, the key of each row, and its other columns."""


class LightTier(Protocol):
    """The keys of a grouping, or their windows, without full states."""

    def process(
        self, arrivals: Iterable[Any], clock: Clock, full: KeyedTable, out: KeyedPanes
    ) -> Iterator[KeyArrivals]:
        """Add elements, and yield those that need full states.

        Args:
            arrivals: elements that arrived together.
            clock: the input watermark of the round before, and the processing time of this round.
            full: the full tier; the elements of its items are yielded.
            out: receives the panes of the light tier.
        """

    def wake(self, clock: Clock, out: KeyedPanes) -> None:
        """Fire the windows that have ended, and remove what no element can join any more."""

    def take(self, identity: Hashable) -> LightState | None:
        """Remove what is held of an item of the full tier, and return it."""

    def put(self, identity: Hashable, key: Any, state: LightState) -> None:
        """Add what an item of the full tier compacts to."""

    def freeze(self) -> list[Rows]:
        """Return all that is held as plain data."""

    def thaw(self, frozen: Iterable[Rows]) -> None:
        """Add what :meth:`freeze` returned, or some of its rows."""

    @property
    def moments(self) -> Moments:
        """The earliest timers and hold."""

    def __len__(self) -> int:
        """Return the number of states."""


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
        for arrived in self.light.process(arrivals, clock, self.full, out):
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
        windows = light_windows(self.grouping.strategy, state, clock)
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
