"""The light tier of a table: the contents of keys that need no full states.

The table of paths (:mod:`headrace.runners.contents.grouping_paths`) says which one a grouping has: contents
by window (:mod:`~headrace.runners.grouping.window_tier`), or sessions by key
(:mod:`~headrace.runners.grouping.session_tier`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

from headrace.grouping.first_pane import FirstPaneWindow
from headrace.grouping.keyed_operator import Moments
from headrace.runners.grouping.keyed_table import KeyArrivals, KeyedTable
from headrace.runners.grouping.output import KeyedPanes
from headrace.triggers.trigger import Clock


class LightState(NamedTuple):
    """What the light tier holds of an item of the full tier.

    Attributes:
        windows: its windows, in order.
        closed_until: every window that ended later than this is still kept; only for sessions.
    """

    windows: list[FirstPaneWindow]
    closed_until: int


Rows: TypeAlias = tuple[Any, list[Any], tuple[list[Any], ...]]
"""A part of a frozen light tier: what its rows have in common, the key of each row, and its other columns."""


class LightTier(Protocol):
    """The keys of a grouping, or their windows, without full states."""

    def process(
        self, arrivals: Iterable[Any], clock: Clock, full: KeyedTable
    ) -> Iterator[KeyArrivals]:
        """Add elements, and yield those that need full states.

        Args:
            arrivals: elements that arrived together.
            clock: the input watermark of the round before, and the processing time of this round.
            full: the full tier; the elements of its items are yielded.
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
