"""Precombiner for groupings that need only values and windows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import repeat
from typing import ClassVar

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import Arrival, ArrivalColumns
from headrace.grouping.reduction import Reduction
from headrace.runners.precombine.key_index import KeyIndex, pairs
from headrace.runners.precombine.protocol import Arrivals, Input
from headrace.triggers.trigger import Arrived
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
    windows_merged: ClassVar[bool] = True
    watermark: int = MIN_MICROS
    _keys: KeyIndex = attrs.field(factory=KeyIndex, init=False)
    _waiting: dict[Windows, dict[Hashable, list[object]]] = attrs.field(init=False)
    _rows: int = attrs.field(default=0, init=False)
    _folded: dict[BoundedWindow, dict[Hashable, tuple[object, int]]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self._clear()
        self._folded = defaultdict(dict)

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
        """Yield each key with one arrival per window."""
        by_key: dict[Hashable, list[Arrival]] = defaultdict(list)
        for key, arrival in self._arrivals():
            by_key[key].append(arrival)
        keys, self._keys = self._keys, KeyIndex()
        for key, arrivals in by_key.items():
            yield key, keys[key], arrivals

    def columns(self) -> Iterator[ArrivalColumns]:
        """Yield the arrivals of one window at a time."""
        if self._folded or any(len(windows) != 1 for windows in self._waiting):
            self._fold()
        for windows, values in self._waiting.items():
            counts = list(map(len, values.values()))  # contents may take over the lists
            contents = self._keys.combine(self.reduction.of, values)
            yield self._column(windows, values, contents, counts)
        for window, folded in self._folded.items():
            contents = [content for content, _ in folded.values()]
            yield self._column((window,), folded, contents, [n for _, n in folded.values()])
        self._clear()
        self._folded = defaultdict(dict)
        self._keys = KeyIndex()

    def _column(
        self, windows: Windows, found: Iterable[Hashable], contents: list[object], counts: list[int]
    ) -> ArrivalColumns:
        keys, last = self._keys.named(found), windows[0].last
        return ArrivalColumns(keys, repeat(windows), repeat(last), contents, sum(counts), counts)

    def _arrivals(self) -> Iterator[tuple[Hashable, Arrival]]:
        """Yield each arrival with the identity of its key, window by window, and clear the precombiner."""
        if self._folded or any(len(windows) != 1 for windows in self._waiting):
            self._fold()
        for (window,), group in self._waiting.items():
            last = window.last
            counts = list(map(len, group.values()))  # contents may take over the lists
            contents = self._keys.combine(self.reduction.of, group)
            for key, content, count in zip(group, contents, counts, strict=True):
                yield key, Arrival(window, content, Arrived(count), last, last)
        for window, folded in self._folded.items():
            last = window.last
            for key, (content, count) in folded.items():
                yield key, Arrival(window, content, Arrived(count), last, last)
        self._clear()
        self._folded = defaultdict(dict)

    def _fold(self) -> None:
        """Combine the collected values into contents; an element counts in each of its windows."""
        for windows, group in self._waiting.items():
            for window in windows:
                self._fold_into(self._folded[window], group)
        self._clear()

    def _fold_into(
        self, folded: dict[Hashable, tuple[object, int]], group: dict[Hashable, list[object]]
    ) -> None:
        reduction = self.reduction
        contents = self._keys.combine(lambda values: reduction.of(values.copy()), group)
        for (key, values), content in zip(group.items(), contents, strict=True):
            if key in folded:
                before, count = folded[key]
                folded[key] = reduction.merge(before, content), count + len(values)
            else:
                folded[key] = content, len(values)

    def _clear(self) -> None:
        self._waiting = defaultdict(lambda: defaultdict(list))
        self._rows = 0
