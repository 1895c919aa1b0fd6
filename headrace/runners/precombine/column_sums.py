"""Precombiner for sums and counts, which are added up in one table per window."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import repeat
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import ArrivalColumns, columns_in
from headrace.runners.contents.number_tables import Numbers, NumberTable
from headrace.runners.precombine.key_index import KeyIndex, pairs
from headrace.runners.precombine.protocol import Input
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import Windows


@attrs.define
class NumberPrecombiner:
    """Numbers by window and key, for windows that do not merge."""

    input: Input
    number_table: NumberTable
    watermark: int = MIN_MICROS
    _keys: KeyIndex = attrs.field(factory=KeyIndex, init=False)
    _tables: dict[BoundedWindow, Numbers] = attrs.field(init=False)
    _counts: Counter[BoundedWindow] = attrs.field(factory=Counter, init=False)

    @_tables.default
    def _no_tables(self) -> dict[BoundedWindow, Numbers]:
        return defaultdict(self.number_table.table)

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle."""
        keys, values = pairs(bundle, self.input.label)
        found = self._keys.identify(keys)
        column = self.input.windows(bundle)
        if isinstance(column, repeat):
            self._add(next(column), found, values)
            return
        parts: dict[Windows, tuple[list[Hashable], list[Any]]] = defaultdict(lambda: ([], []))
        for key, value, windows in zip(found, values, column, strict=True):
            part = parts[windows]
            part[0].append(key)
            part[1].append(value)
        for windows, part in parts.items():
            self._add(windows, *part)

    def _add(self, windows: Windows, keys: Sequence[Hashable], values: list[object]) -> None:
        for window in windows:
            self.number_table.add(self._tables[window], keys, values, self._keys.__getitem__)
            self._counts[window] += len(values)

    def columns(self) -> Iterator[ArrivalColumns]:
        """Yield the arrivals of one window at a time."""
        for window, table in self._tables.items():
            keys, contents = self._keys.named(table), list(table.values())
            yield columns_in(window, keys, contents, count=self._counts[window])
        self._tables.clear()
        self._counts.clear()
        self._keys = KeyIndex()
