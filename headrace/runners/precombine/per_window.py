"""Precombiners for groupings that need only values and windows: lists of values, and sums of numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import ArrivalColumns, columns_in
from headrace.grouping.reduction import Reduction
from headrace.runners.contents.number_tables import Numbers, NumberTable
from headrace.runners.precombine.key_index import KeyIndex, arrivals_by_key, pairs
from headrace.runners.precombine.protocol import Arrivals, Input
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import Windows

FOLD_AT = 1 << 20
"""The number of rows after which collected values are combined into contents."""


@attrs.define
class PlainPrecombiner:
    """Values by windows and key."""

    input: Input
    reduction: Reduction
    watermark: int = MIN_MICROS
    _keys: KeyIndex = attrs.field(factory=KeyIndex, init=False)
    _waiting: dict[Windows, dict[Hashable, list[object]]] = attrs.field(
        factory=lambda: defaultdict(lambda: defaultdict(list)), init=False
    )
    _rows: int = attrs.field(default=0, init=False)
    _folded: dict[BoundedWindow, WindowEntries] = attrs.field(factory=dict, init=False)

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle."""
        keys, values = pairs(bundle, self.input.label)
        found = self._keys.identify(keys)
        waiting = self._waiting
        column = self.input.windows(bundle)
        if isinstance(column, repeat):
            group = waiting[next(column)]
            for key, value in zip(found, values, strict=True):
                group[key].append(value)
        else:
            for key, value, windows in zip(found, values, column, strict=True):
                waiting[windows][key].append(value)
        self._rows += len(values)
        if self._rows >= FOLD_AT:
            self._fold()

    def drain(self) -> Arrivals:
        """Return each key with one arrival per window."""
        return arrivals_by_key(self.columns())

    def columns(self) -> Iterator[ArrivalColumns]:
        """Yield the arrivals of one window at a time."""
        if self._folded or any(len(windows) != 1 for windows in self._waiting):
            self._fold()
        for (window,), values in self._waiting.items():
            counts = list(map(len, values.values()))  # contents may take over the lists
            contents = self._keys.combine(self.reduction.of, values)
            yield columns_in(window, self._keys.named(values), contents, counts)
        for window, folded in self._folded.items():
            yield folded.columns(window, self._keys)
        self._waiting.clear()
        self._folded.clear()
        self._rows, self._keys = 0, KeyIndex()

    def _fold(self) -> None:
        """Combine the collected values into contents; an element counts in each of its windows."""
        for windows, group in self._waiting.items():
            for window in windows:
                contents = self._keys.combine(self._content_of, group)
                entries = self._folded.setdefault(window, WindowEntries(self.reduction))
                entries.add(group, contents, map(len, group.values()))
        self._waiting.clear()
        self._rows = 0

    def _content_of(self, values: list[Any]) -> object:
        """Return a content of values that are needed again."""
        return self.reduction.of(values.copy())


@attrs.define
class WindowEntries:
    """Contents of a window by key identity, with the number of their elements.

    Args:
        reduction: merges contents.
    """

    reduction: Reduction
    _entries: dict[Hashable, tuple[Any, int]] = attrs.field(factory=dict, init=False)

    def add(self, keys: Iterable[Hashable], contents: Iterable[Any], counts: Iterable[int]) -> None:
        """Merge contents of keys; they must not be used afterwards."""
        entries, merge = self._entries, self.reduction.merge
        for key, content, count in zip(keys, contents, counts, strict=True):
            if key in entries:
                before, counted = entries[key]
                entries[key] = merge(before, content), counted + count
            else:
                entries[key] = content, count

    def columns(self, window: BoundedWindow, keys: KeyIndex) -> ArrivalColumns:
        """Return the keys, their contents and numbers of elements."""
        contents, counts = map(list, zip(*self._entries.values(), strict=True))
        return columns_in(window, keys.named(self._entries), contents, counts)


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
