"""Bundles: elements that travel together, as parallel columns.

An element of a collection is ``(value, timestamp, windows, pane, diff)``. A bundle has a list of values, and
the other four as columns. Most of these are one repeated value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, compress, repeat
from typing import Any, Final, NamedTuple, TypeVar

import attrs

from headrace.triggers.pane import NO_FIRING, PaneInfo
from headrace.windowing.column import Column, concatenate, cut, materialise, pick, select
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.watermarks.policies import WatermarkPolicy
from headrace.windowing.window import GLOBAL_WINDOW
from headrace.windowing.window_fn import Windows

INSERT: Final = 1
"""The diff of a value."""

RETRACT: Final = -1
"""The diff of the retraction of an earlier equal value."""

T = TypeVar("T", bound=Hashable)


IN_GLOBAL_WINDOW: Final[Windows] = (GLOBAL_WINDOW,)


class Element(NamedTuple):
    """One row of a bundle.

    Attributes:
        value: the value itself.
        timestamp: event time in microseconds.
        windows: its windows.
        pane: the firing that it comes from.
        diff: +1 for an insertion, -1 for the retraction of an earlier equal one.

    >>> Element("a", 0, IN_GLOBAL_WINDOW).diff
    1
    """

    value: Any
    timestamp: int
    windows: Windows
    pane: PaneInfo = NO_FIRING
    diff: int = INSERT


@attrs.define(slots=True)
class Bundle:
    """Parallel columns of elements; do not change a bundle once it is made.

    A column is a list with as many rows as ``values``, or an endless ``itertools.repeat``. By default the
    elements are insertions at the start of time, in the global window, without a pane.

    >>> letters = Bundle(["a", "b", "c"], [1, 2, 3])
    >>> [(row.value, row.timestamp, row.diff) for row in letters.where([1, 0, 1]).rows()]
    [('a', 1, 1), ('c', 3, 1)]
    """

    values: list[Any]
    timestamps: Column[int] = attrs.field(factory=lambda: repeat(MIN_MICROS))
    windows: Column[Windows] = attrs.field(factory=lambda: repeat(IN_GLOBAL_WINDOW))
    panes: Column[PaneInfo] = attrs.field(factory=lambda: repeat(NO_FIRING))
    diffs: Column[int] = attrs.field(factory=lambda: repeat(INSERT))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bundle.from_data, (self.as_data(),)

    def as_data(self) -> tuple[Any, ...]:
        """Return the columns as plain data: a repeated value is a tuple of one value.

        Python 3.14 cannot pickle ``itertools.repeat``.

        >>> Bundle(["a", "b"], [1, 2]).as_data()[:2]
        (['a', 'b'], [1, 2])
        """
        columns = ((next(c),) if isinstance(c, repeat) else c for c in self._columns)
        return self.values, *columns

    @property
    def _columns(self) -> tuple[Column[Any], ...]:
        """All columns but the values."""
        return self.timestamps, self.windows, self.panes, self.diffs

    @staticmethod
    def from_data(data: tuple[Any, ...]) -> Bundle:
        """Return the bundle of which :meth:`as_data` returned the columns."""
        values, *columns = data
        return Bundle(values, *(repeat(c[0]) if isinstance(c, tuple) else c for c in columns))

    def observed_times(self, policy: WatermarkPolicy) -> list[int]:
        """Return timestamps with the same effect on an estimator of a policy as those of all elements."""
        return policy.condense(materialise(self.timestamps, len(self)))

    def rows(self) -> Iterator[Element]:
        """Iterate over the rows as elements; slower than working on columns."""
        return map(Element, self.values, *self._columns)

    def with_values(self, values: list[Any]) -> Bundle:
        """Return a bundle with other values, one for each row."""
        return Bundle(values, *self._columns)

    def with_windows(self, windows: Column[Windows]) -> Bundle:
        """Return a bundle with other windows."""
        return Bundle(self.values, self.timestamps, windows, self.panes, self.diffs)

    def where(self, mask: Sequence[object]) -> Bundle:
        """Return the rows for which the mask is true."""
        return Bundle(list(compress(self.values, mask)), *[select(c, mask) for c in self._columns])

    def take(self, rows: Sequence[int]) -> Bundle:
        """Return some rows, by number."""
        values = self.values
        return Bundle([values[row] for row in rows], *[pick(c, rows) for c in self._columns])

    def pieces(self, rows: int) -> Iterator[Bundle]:
        """Yield the rows as bundles of at most ``rows`` rows."""
        if len(self) <= rows:
            yield self
            return
        for start in range(0, len(self), rows):
            yield self.part(start, start + rows)

    def part(self, start: int, end: int) -> Bundle:
        """Return the rows from one up to, but not including, another."""
        if start == 0 and end >= len(self):
            return self
        part = slice(start, end)
        return Bundle(self.values[part], *[cut(c, part) for c in self._columns])

    def by_key(self, keys: Sequence[T]) -> Iterator[tuple[T, Bundle]]:
        """Yield the rows of each key, in the order of the first row of each key.

        Args:
            keys: the key of each row.

        >>> letters = Bundle(["a", "b", "c"], [1, 2, 3])
        >>> {key: part.timestamps for key, part in letters.by_key([0, 1, 0])}
        {0: [1, 3], 1: [2]}
        """
        rows: dict[T, list[int]] = defaultdict(list)
        for row, key in enumerate(keys):
            rows[key].append(row)
        return ((key, self.take(own)) for key, own in rows.items())

    @staticmethod
    def of(elements: Sequence[Element]) -> Bundle:
        """Make a bundle from rows."""
        if not elements:
            return Bundle([])
        values, timestamps, windows, panes, diffs = map(list, zip(*elements, strict=True))
        return Bundle(values, timestamps, windows, panes, diffs)

    @staticmethod
    def concat(bundles: Sequence[Bundle]) -> Bundle:
        """Concatenate bundles."""
        bundles = [b for b in bundles if len(b)]
        if len(bundles) == 1:
            return bundles[0]
        if not bundles:
            return Bundle([])
        rows = [len(b) for b in bundles]
        values = list(chain.from_iterable(b.values for b in bundles))
        alike = zip(*(b._columns for b in bundles), strict=True)
        return Bundle(values, *[concatenate(columns, rows) for columns in alike])
