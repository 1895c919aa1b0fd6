"""Contents by window and key, to which whole columns are added."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import repeat
from typing import Any

import attrs

from headrace.grouping.pane_output import ArrivalColumns
from headrace.runners.contents.number_tables import Numbers
from headrace.runners.plan.planning import KeyedStep
from headrace.sdk.coders.keys import identities
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

    def add(self, window: BoundedWindow, keys: list[Any], contents: Sequence[object]) -> None:
        """Merge contents of keys into a window; the contents must not be used afterwards."""
        found, table = self.identify(keys), self._tables[window]
        number_table, merge = self.step.number_table, self.step.reduction.merge
        if number_table is not None:
            number_table.merge(table, found, contents, lambda key: self.names.get(key, key))
        elif not table:
            table.update(zip(found, contents, strict=True))
        else:
            for key, content in zip(found, contents, strict=True):
                table[key] = merge(table[key], content) if key in table else content

    def identify(self, keys: list[Any]) -> Sequence[Hashable]:
        """Return the identities of keys, and remember keys that are not their own."""
        found: Sequence[Hashable] = identities(keys)
        if found is not keys:
            self.names.update(zip(found, keys, strict=True))
        return found

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

    def _columns(self, table: Numbers) -> tuple[list[object], list[object]]:
        names = self.names
        keys = [names.get(k, k) for k in table] if names else list(table)
        return keys, list(table.values())

    def __len__(self) -> int:
        """Return the number of contents."""
        return sum(map(len, self._tables.values()))


def columns_of(window: BoundedWindow, keys: list[object], contents: list[Any]) -> ArrivalColumns:
    """Return the contents of keys in one window as columns."""
    return ArrivalColumns(keys, repeat((window,)), repeat(window.last), contents, len(keys))


def window_of(columns: ArrivalColumns) -> BoundedWindow:
    """Return the window that all rows of columns share."""
    (window,) = next(iter(columns.windows))
    return window
