"""Contents by window and key, to which whole columns are added.

This is all the state of a grouping if each window has only one pane, at its end
(:func:`~headrace.triggers.emission.has_only_final_panes`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import attrs

from headrace.runners.number_tables import Numbers
from headrace.runners.planning import KeyedStep
from headrace.sdk.encoding import identities
from headrace.triggers.keyed_operator import NO_TIMERS, Moments
from headrace.triggers.pane_output import ArrivalColumns
from headrace.triggers.timer_queue import TimerQueue
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.window import BoundedWindow


@attrs.define
class WindowContents:
    """The contents of a grouping whose windows do not merge.

    Attributes:
        step: the grouping.
        names: keys by identity, if the identity of a key is not the key itself.
    """

    step: KeyedStep
    names: dict[Hashable, Any] = attrs.field(factory=dict)
    _tables: dict[BoundedWindow, Numbers] = attrs.field(init=False)

    @_tables.default
    def _no_tables(self) -> dict[BoundedWindow, Numbers]:
        number_table = self.step.number_table
        return defaultdict(number_table.table if number_table else dict)

    def add(self, window: BoundedWindow, keys: list[Any], contents: Sequence[Any]) -> None:
        """Merge contents of keys into a window; the contents must not be used afterwards."""
        found: Sequence[Hashable] = identities(keys)
        if found is not keys:
            self.names.update(zip(found, keys, strict=True))
        table = self._tables[window]
        number_table, merge = self.step.number_table, self.step.reduction.merge
        if number_table is not None:
            number_table.merge(table, found, contents, lambda key: self.names.get(key, key))
        elif not table:
            table.update(zip(found, contents, strict=True))
        else:
            for key, content in zip(found, contents, strict=True):
                table[key] = merge(table[key], content) if key in table else content

    def take(self, window: BoundedWindow) -> ArrivalColumns:
        """Remove a window, and return its contents."""
        return columns_of(window, *self._columns(self._tables.pop(window)))

    def table(self, window: BoundedWindow) -> Numbers:
        """Return the contents of a window by key identity."""
        return self._tables[window]

    def tables(self) -> Iterator[tuple[BoundedWindow, Numbers]]:
        """Yield each window with its contents by key identity."""
        return iter(self._tables.items())

    def columns(self) -> Iterator[tuple[BoundedWindow, list[Any], list[Any]]]:
        """Yield each window with its keys and their contents."""
        for window, table in self._tables.items():
            yield window, *self._columns(table)

    def _columns(self, table: Numbers) -> tuple[list[Any], list[Any]]:
        names = self.names
        keys = [names.get(k, k) for k in table] if names else list(table)
        return keys, list(table.values())

    def __len__(self) -> int:
        """Return the number of contents."""
        return sum(map(len, self._tables.values()))


@attrs.define(eq=False)
class WindowTable:
    """The windows of a grouping in which each window fires once, at its end, and is then closed.

    Args:
        step: the grouping.
    """

    step: KeyedStep
    contents: WindowContents = attrs.field(init=False)
    _ends: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue, init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.contents = WindowContents(self.step)

    def process(
        self, arrivals: Iterable[ArrivalColumns], clock: Clock, out: list[ArrivalColumns]
    ) -> None:
        """Add contents to their windows; each set of columns belongs to one window, which is not late."""
        for columns in arrivals:
            self.add(window_of(columns), columns.keys, columns.contents)

    def add(self, window: BoundedWindow, keys: list[Any], contents: list[Any]) -> None:
        """Add the contents of keys to a window."""
        self.contents.add(window, keys, contents)
        self._ends.set(window, self.step.strategy.expiry(window.last))

    def wake(self, clock: Clock, out: list[ArrivalColumns]) -> None:
        """Remove the windows that the watermark has passed, and add their contents to the output."""
        out += map(self.contents.take, self._ends.pop(clock.watermark))

    @property
    def moments(self) -> Moments:
        """The timer and the hold of the first window to end."""
        end = self._ends.first
        return NO_TIMERS if end == NEVER else Moments(event_timer=end, hold=end - 1)

    def __len__(self) -> int:
        """Return the number of contents."""
        return len(self.contents)


def columns_of(window: BoundedWindow, keys: list[Any], contents: list[Any]) -> ArrivalColumns:
    """Return the contents of keys in one window as columns."""
    return ArrivalColumns(keys, repeat((window,)), repeat(window.last), contents, len(keys))


def window_of(columns: ArrivalColumns) -> BoundedWindow:
    """Return the window that all rows of columns share."""
    (window,) = next(iter(columns.windows))
    return window
