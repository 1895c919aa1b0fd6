"""The protocol of precombiners, and the facts about their input."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import Arrival, ArrivalColumns
from headrace.runners.error_context import label_errors
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.column import Column
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.window_fn import Windows

if TYPE_CHECKING:
    from headrace.runners.precombine.per_row import ElementRows
    from headrace.runners.precombine.per_session import KeySessions

Arrivals = Iterator[tuple[Hashable, Any, Sequence[Arrival]]]
"""For each key: its identity, the key itself, and its arrivals, one per window."""


class GroupInput(Protocol):
    """The input of a grouping in a round: a precombiner, or the reader of a shuffle.

    No class has all of these methods. The path of the grouping
    (:mod:`headrace.runners.contents.grouping_paths`) names the class, and calls only the methods that it has.

    Attributes:
        watermark: the input watermark, in microseconds; a late element may be combined only with elements
            of the same window.
    """

    watermark: int

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle; they must be pairs."""

    def take(self, blocks: list[Any], size: int) -> None:
        """Add blocks of a shuffle, whose pickled size is ``size`` bytes."""

    def drain(self) -> Arrivals:
        """Return all arrivals by key, and remove them."""

    def columns(self) -> Iterator[ArrivalColumns]:
        """Return all arrivals, one window at a time, and remove them."""

    def rows(self) -> ElementRows:
        """Return all elements, and remove them."""

    def sessions(self) -> Iterator[KeySessions]:
        """Return the sessions of all keys, and remove them."""


@attrs.frozen
class Input:
    """The input of a precombiner.

    Attributes:
        label: label of the grouping, for errors.
        source: label of the node that the elements come from, for errors of its window function.
        strategy: the windowing strategy of the grouping.
        changing: whether the input can hold retractions.
        assigns_windows: whether the precombiner assigns windows to elements.
        keeps_late: whether late elements must be kept as they are, for a late output.
        value_of: returns what the trigger sees of a value; None for the value itself.
    """

    label: str
    source: str
    strategy: WindowingStrategy
    changing: bool
    assigns_windows: bool
    keeps_late: bool
    value_of: Callable[[Any], object] | None = None

    def windows(self, bundle: Bundle) -> Column[Windows]:
        """Return the windows of the elements of a bundle; one repeated value if all are the same."""
        if not self.assigns_windows:
            return _as_one(bundle.windows)
        assign = self.strategy.window_fn.assign_column
        with label_errors(self.source):
            return _as_one(assign(bundle.values, bundle.timestamps, bundle.windows))


def expired_until(strategy: WindowingStrategy, watermark: int) -> int:
    """Return the latest end of a window that takes no more elements, in microseconds."""
    return watermark - strategy.allowed_lateness if watermark < MAX_MICROS else MAX_MICROS


def _as_one(column: Column[Windows]) -> Column[Windows]:
    if isinstance(column, repeat) or not column:
        return column
    first = column[0]
    alike = first is column[-1] and column.count(first) == len(column)
    return repeat(first) if alike else column
