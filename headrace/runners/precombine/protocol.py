"""What a precombiner is, and what it gets to know of its input."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import repeat
from typing import Any, Protocol, runtime_checkable

import attrs

from headrace.runners.error_context import failing_in
from headrace.triggers.bundle import Bundle, Windows
from headrace.triggers.pane_output import Arrival, ArrivalColumns
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.column import Column

Arrivals = Iterator[tuple[Hashable, Any, Sequence[Arrival]]]
"""For each key: its identity, the key itself, and what arrived for it, one a window."""


@runtime_checkable
class Precombiner(Protocol):
    """Collects bundles, then gives out arrivals by key.

    Attributes:
        reached: how far the input is complete, in microseconds; an element that is late may only be put
            together with others of the same window.
    """

    reached: int

    @property
    def windows_merged(self) -> bool:
        """Whether windows that can merge among each other have done so in what is given out."""

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle; they must be pairs."""

    def drain(self) -> Arrivals:
        """Give out all that was collected, and be empty again."""


@runtime_checkable
class ColumnPrecombiner(Protocol):
    """Collects bundles, then gives out arrivals by columns; enough where each window has one pane only."""

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle; they must be pairs."""

    def columns(self) -> Iterator[ArrivalColumns]:
        """Give out all that was collected, and be empty again."""


@attrs.frozen
class Input:
    """What comes to a precombiner.

    Attributes:
        label: the grouping's label, for errors.
        source: label of the node that the elements come from, for errors of its window function.
        strategy: the strategy by which it is grouped.
        changing: whether it can hold retractions.
        assigns: whether it is left to the precombiner to put elements into windows.
        keeps_late: whether elements that come too late are wanted as they were.
        knows_dropped: whether it is known here which elements are dropped: all arrive at once, or windows do
            not close before they expire and the precombiner is told how far the input is complete.
    """

    label: str
    source: str
    strategy: WindowingStrategy
    changing: bool
    assigns: bool
    keeps_late: bool
    knows_dropped: bool

    def windows(self, bundle: Bundle) -> Column[Windows]:
        """Return the windows of the elements of a bundle; as one value if they all share them."""
        if not self.assigns:
            return _as_one(bundle.windows)
        assign = self.strategy.window_fn.assign_column
        with failing_in(self.source):
            return _as_one(assign(bundle.values, bundle.timestamps, bundle.windows))


def _as_one(column: Column[Windows]) -> Column[Windows]:
    if isinstance(column, repeat) or not column:
        return column
    first = column[0]
    alike = first is column[-1] and column.count(first) == len(column)
    return repeat(first) if alike else column
