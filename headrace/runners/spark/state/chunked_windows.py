"""Windows that wait in chunks: contents by window and key, where each window has one pane at its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import attrs

from headrace.runners.planning import KeyedStep
from headrace.runners.spark.shuffle.blocks import Block
from headrace.runners.spark.state.chunks import AT_REST, Chunked, Moments
from headrace.runners.window_state import Tables
from headrace.sdk.encoding import encode_key
from headrace.triggers.pane_output import ArrivalColumns
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.window import BoundedWindow

Columns = tuple[BoundedWindow, list[Any], list[Any]]
"""A window, and keys with their contents in it."""


@attrs.define
class ChunkedWindows(Chunked):
    """The contents of a grouping whose windows wait for the watermark and are gone at their ends.

    Args:
        step: the grouping.
    """

    step: KeyedStep

    def round(self, blocks: Iterable[Block], clock: Clock) -> tuple[list[ArrivalColumns], int]:
        """Take what arrived; return what the watermark has passed, and how many elements are too late."""
        touched, late = self._touched(blocks)
        passed: list[ArrivalColumns] = []
        for number in {**touched, **dict.fromkeys(self.directory.due(clock))}:
            tables = Tables(self.step)
            for columns in chain(self.read(number) or (), touched.get(number, ())):
                tables.add(*columns)
            due = [w for w, _ in tables.windows() if self._expiry(w) <= clock.watermark]
            passed += map(tables.take, due)
            self.write(number, _columns(tables))
        self.directory.watermark = clock.watermark
        self.grow()
        return passed, late

    def measure(self, chunk: list[Columns]) -> tuple[int, Moments]:
        if not chunk:
            return 0, AT_REST
        due = min(self._expiry(window) for window, *_ in chunk)
        return sum(len(keys) for _, keys, _ in chunk), Moments(due, NEVER, due - 1)

    def divide(
        self, chunk: list[Columns], moves: Callable[[bytes], bool]
    ) -> tuple[list[Columns], list[Columns]]:
        parts: tuple[dict[BoundedWindow, Columns], ...] = ({}, {})
        for window, keys, contents in chunk:
            for key, content in zip(keys, contents, strict=True):
                part = parts[moves(encode_key(key))].setdefault(window, (window, [], []))
                part[1].append(key)
                part[2].append(content)
        return list(parts[False].values()), list(parts[True].values())

    def _touched(self, blocks: Iterable[Block]) -> tuple[dict[int, list[Columns]], int]:
        """Divide what arrived by chunk; leave out what is too late, and count it."""
        touched: dict[int, list[Columns]] = defaultdict(list)
        late = 0
        for block in blocks:
            if self._expiry(block.windows) <= self.directory.watermark:
                late += block.count
                continue
            parts: dict[int, Columns] = {}
            for number, key, content in zip(
                self._numbers(block.keys), block.keys, block.contents, strict=True
            ):
                part = parts.get(number)
                if part is None:
                    part = parts[number] = block.windows, [], []
                    touched[number].append(part)
                part[1].append(key)
                part[2].append(content)
        return touched, late

    def _numbers(self, keys: list[Any]) -> Iterator[int]:
        """Return the chunk of each key."""
        return map(self.directory.chunk_of, map(encode_key, keys))

    def _expiry(self, window: BoundedWindow) -> int:
        return self.step.strategy.expiry(window.last)


def _columns(tables: Tables) -> list[Columns]:
    names = tables.names
    return [
        (window, [names.get(k, k) for k in table], list(table.values()))
        for window, table in tables.windows()
    ]
