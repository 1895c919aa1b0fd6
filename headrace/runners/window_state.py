"""Contents by window and key, to which whole columns are added."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import repeat
from typing import Any

import attrs

from headrace.runners.number_tables import Table
from headrace.runners.planning import KeyedStep
from headrace.sdk.encoding import identities
from headrace.triggers.pane_output import ArrivalColumns
from headrace.windowing.window import BoundedWindow


@attrs.define
class Tables:
    """The contents of a grouping whose windows do not merge and have one pane each.

    Attributes:
        step: the grouping.
        names: keys by their identities, where these are not the keys themselves.
    """

    step: KeyedStep
    names: dict[Hashable, Any] = attrs.field(factory=dict)
    _tables: dict[BoundedWindow, Table] = attrs.field(init=False)

    @_tables.default
    def _no_tables(self) -> dict[BoundedWindow, Table]:
        number_table = self.step.number_table
        return defaultdict(number_table.table if number_table else dict)

    def add(self, window: BoundedWindow, keys: list[Any], contents: Sequence[Any]) -> None:
        """Add the contents of keys to a window; they may be merged with what is there."""
        found: Sequence[Hashable] = identities(keys)
        if found is not keys:
            self.names.update(zip(found, keys, strict=True))
        table = self._tables[window]
        number_table, merge = self.step.number_table, self.step.reduction.merge
        if number_table is not None:
            number_table.merge(table, found, contents)
        elif not table:
            table.update(zip(found, contents, strict=True))
        else:
            for key, content in zip(found, contents, strict=True):
                table[key] = merge(table[key], content) if key in table else content

    def take(self, window: BoundedWindow) -> ArrivalColumns:
        """Take a window out, with all that it holds."""
        table, names = self._tables.pop(window), self.names
        keys = [names.get(k, k) for k in table] if names else list(table)
        contents = list(table.values())
        return ArrivalColumns(keys, repeat((window,)), repeat(window.last), contents, len(keys))

    def windows(self) -> Iterator[tuple[BoundedWindow, Table]]:
        """Return each window with its table."""
        return iter(self._tables.items())

    def __len__(self) -> int:
        """Return the number of contents."""
        return sum(map(len, self._tables.values()))
