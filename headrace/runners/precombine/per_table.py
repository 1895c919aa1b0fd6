"""Precombiner for tables: the columns of a grouping's key and values, without elements.

The rows of a round get a number for each window and key
(:mod:`headrace.runners.precombine.table_keys`), and the contents of these groups are made as columns
(:mod:`headrace.runners.contents.table_contents`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import ArrivalColumns, columns_in
from headrace.grouping.reduction import Reduction
from headrace.grouping.table_bundle import TableBundle, joined
from headrace.runners.contents.codes import Codes
from headrace.runners.contents.groups import order_by, parts
from headrace.runners.contents.table_contents import contents_of
from headrace.runners.precombine.key_index import KeyIndex, arrivals_by_key
from headrace.runners.precombine.per_window import FOLD_AT, PlainPrecombiner, WindowEntries
from headrace.runners.precombine.protocol import Arrivals, Input
from headrace.runners.precombine.table_keys import rows_by_key, windows_of
from headrace.sdk.elements.record_tables import PairRecords, TaggedValue
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import Windows


@attrs.define
class TablePrecombiner:
    """Columns by window and key, for groupings that need only values and windows.

    The bundles are tables of pairs.

    Args:
        input: the facts about the elements.
        reduction: what contents are made of.
        adds: whether numbers are added one by one, as in a table of numbers.
    """

    input: Input
    reduction: Reduction
    adds: bool
    watermark: int = MIN_MICROS
    _waiting: list[TableBundle] = attrs.field(factory=list, init=False)
    _rows: int = attrs.field(default=0, init=False)
    _keys: KeyIndex = attrs.field(factory=KeyIndex, init=False)
    _folded: dict[BoundedWindow, WindowEntries] = attrs.field(factory=dict, init=False)

    def add(self, bundle: Bundle) -> None:
        """Take the rows of a table, or elements: of tables with other fields that were read together."""
        if not isinstance(bundle, TableBundle):
            self._fold()
            self._merge(self._parts_of_elements(bundle))
            return
        self._waiting.append(bundle)
        self._rows += len(bundle)
        if self._rows >= FOLD_AT:
            self._fold()

    def drain(self) -> Arrivals:
        """Return each key with one arrival per window."""
        return arrivals_by_key(self.columns())

    def columns(self) -> Iterator[ArrivalColumns]:
        """Yield the arrivals of one window at a time."""
        tables = alike(self._waiting)
        parts = [part for table in tables for part in self._parts(table)]
        self._waiting, self._rows = [], 0
        if len(tables) > 1 or self._folded or any(len(part.windows) != 1 for part in parts):
            self._merge(parts)
            keys, folded = self._keys, self._folded
            self._keys, self._folded = KeyIndex(), {}
            return (entries.columns(window, keys) for window, entries in folded.items())
        return (
            columns_in(part.windows[0], part.keys, part.contents, part.counts) for part in parts
        )

    def _fold(self) -> None:
        """Combine the collected rows into contents."""
        for table in alike(self._waiting):
            self._merge(self._parts(table))
        self._waiting, self._rows = [], 0

    def _merge(self, parts: Iterable[TablePart]) -> None:
        """Merge contents into those of each window; a row counts in each of its windows."""
        for part in parts:
            found = self._keys.identify(part.keys)
            for number, window in enumerate(part.windows):
                contents = part.contents
                if number + 1 < len(part.windows):
                    contents = list(map(self.reduction.copy, contents))
                entries = self._folded.setdefault(window, WindowEntries(self.reduction))
                entries.add(found, contents, part.counts)

    def _parts_of_elements(self, bundle: Bundle) -> Iterator[TablePart]:
        """Yield the contents of elements by window."""
        elements = PlainPrecombiner(self.input, self.reduction)
        elements.add(bundle)
        for columns in elements.columns():
            windows = next(iter(columns.windows))
            yield TablePart(windows, columns.keys, columns.contents, list(columns.counts))

    def _parts(self, bundle: TableBundle) -> Iterator[TablePart]:
        """Yield the contents of a table by windows."""
        assert isinstance(bundle.records, PairRecords)
        assigns, strategy = self.input.assigns_windows, self.input.strategy
        window_fn = strategy.window_fn if assigns else bundle.window_fn
        windows = windows_of(window_fn, bundle.times, len(bundle))
        if () in windows.values:
            kept = bundle.filtered(_in_windows(windows))
            yield from self._parts(kept) if len(kept) else ()
            return
        groups, numbers, keys = rows_by_key(bundle.table, bundle.records.key, windows.ids)
        contents = contents_of(
            self.reduction, bundle.records.value, bundle.table, groups, keys.__getitem__, self.adds
        )
        columns_by_window = by_number(numbers, keys, contents, groups.counts.tolist())
        for number, part in columns_by_window:
            yield TablePart(windows.values[number], *part)


def _in_windows(windows: Codes) -> Any:
    """Return which rows are in any window, as a numpy array of booleans."""
    import numpy as np

    return np.array(list(map(bool, windows.values)))[windows.ids]


class TablePart(NamedTuple):
    """The contents of some rows with the same windows.

    Attributes:
        windows: their windows.
        keys: the keys.
        contents: the content of each key.
        counts: the number of rows of each key.
    """

    windows: Windows
    keys: list[Any]
    contents: list[Any]
    counts: list[int]


def alike(bundles: Iterable[TableBundle]) -> list[TableBundle]:
    """Concatenate tables with the same fields that follow each other, for each side of a join alone."""
    sides: dict[Hashable, list[list[TableBundle]]] = {}
    for bundle in bundles:
        runs = sides.setdefault(_side(bundle), [])
        if runs and runs[-1][0].is_like(bundle):
            runs[-1].append(bundle)
        else:
            runs.append([bundle])
    together = map(joined, chain.from_iterable(sides.values()))
    return [table for table in together if isinstance(table, TableBundle)]


def _side(bundle: TableBundle) -> Hashable:
    """Return the tag of the values of a join's side; None if they have no tag."""
    value = bundle.records.value if isinstance(bundle.records, PairRecords) else None
    return value.tag if isinstance(value, TaggedValue) else None


def by_number(numbers: Any, *columns: list[Any]) -> Iterator[tuple[int, tuple[list[Any], ...]]]:
    """Yield each number of an array with its rows of some columns; numbers from 0, none of them missing.

    >>> import numpy as np
    >>> list(by_number(np.array([0, 1, 0]), ["a", "b", "c"]))
    [(0, (['a', 'c'],)), (1, (['b'],))]
    """
    import numpy as np

    if (numbers[1:] < numbers[:-1]).any():
        order = order_by(numbers).tolist()
        columns = tuple(list(map(column.__getitem__, order)) for column in columns)
    counts = np.bincount(numbers)
    return enumerate(zip(*(parts(column, counts) for column in columns), strict=True))
