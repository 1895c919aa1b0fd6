"""Precombiner for groupings that need more than values and windows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle, Element
from headrace.grouping.pane_output import Arrival, ArrivalColumns
from headrace.grouping.reduction import Reduction
from headrace.runners.error_context import note_combined
from headrace.runners.precombine.key_index import KeyIndex, arrivals_by_window, pairs
from headrace.runners.precombine.protocol import Arrivals, Input
from headrace.sdk.coders.keys import encode_value
from headrace.triggers.trigger import Arrived
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow


@attrs.define
class ElementPrecombiner:
    """Elements by key and window, for groupings that need more than values and windows."""

    input: Input
    reduction: Reduction
    watermark: int = MIN_MICROS
    _only_counts: bool = attrs.field(init=False)
    _stamped: bool = attrs.field(init=False)
    _keys: KeyIndex = attrs.field(factory=KeyIndex, init=False)
    _waiting: dict[Hashable, dict[BoundedWindow, list[Element]]] = attrs.field(
        factory=lambda: defaultdict(lambda: defaultdict(list)), init=False
    )

    def __attrs_post_init__(self) -> None:
        """Derive what the trigger needs of elements."""
        self._only_counts = self.input.strategy.trigger.needs_only_counts
        self._stamped = self.input.changing and self.input.strategy.stamps_all

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle."""
        keys, values = pairs(bundle, self.input.label)
        found = self._keys.identify(keys)
        placed = bundle.with_windows(self.input.windows(bundle))
        for key, element in zip(found, placed.with_values(values).rows(), strict=True):
            windows = self._waiting[key]
            for window in element.windows:
                windows[window].append(element)

    def drain(self) -> Arrivals:
        """Yield each key with one arrival per window."""
        waiting, self._waiting = self._waiting, defaultdict(lambda: defaultdict(list))
        keys, self._keys = self._keys, KeyIndex()
        for key, windows in waiting.items():
            yield key, keys[key], [self._arrival(keys[key], *entry) for entry in windows.items()]

    def columns(self) -> Iterator[ArrivalColumns]:
        """Yield the arrivals of one window at a time."""
        return arrivals_by_window(self.drain())

    def _arrival(self, key: object, window: BoundedWindow, elements: list[Element]) -> Arrival:
        values, timestamps, _, _, diffs = map(list, zip(*elements, strict=True))
        return Arrival(
            window=window,
            content=self._content(key, values, diffs if self.input.changing else None),
            arrived=self._arrived(values),
            earliest=min(timestamps),
            latest=max(timestamps),
            elements=(elements,) if self.input.keeps_late else (),
            times=_net(timestamps, diffs) if self._stamped else {},
        )

    def _content(self, key: object, values: list[Any], diffs: list[int] | None) -> object:
        try:
            return self.reduction.of(values, diffs)
        except Exception as error:
            note_combined(error, lambda some: self.reduction.of(some, diffs), key, values)
            raise

    def _arrived(self, values: list[object]) -> Arrived:
        if self._only_counts:
            return Arrived(len(values))
        trigger, value_of = self.input.strategy.trigger, self.input.value_of
        if value_of is not None:
            values = list(map(value_of, values))
        size = sum(len(encode_value(value)) for value in values) if trigger.wants_size else 0
        matched_predicates = (p for p in trigger.predicates if any(map(p, values)))
        return Arrived(len(values), size, frozenset(matched_predicates))


def _net(timestamps: Iterable[int], diffs: Iterable[int]) -> dict[int, int]:
    """Return the number of insertions less that of retractions for each timestamp."""
    net: dict[int, int] = defaultdict(int)
    for timestamp, diff in zip(timestamps, diffs, strict=True):
        net[timestamp] += diff
    return {timestamp: count for timestamp, count in net.items() if count}
