"""Bundles whose elements are still the rows of an Arrow table.

Steps that know columns work on the table. For all others the bundle is like any other: its values are made
when they are first asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import repeat
from typing import Any, Final, Protocol

from headrace.grouping.bundle import INSERT, Bundle
from headrace.grouping.dictionary_columns import decoded, decoded_schema
from headrace.triggers.pane import NO_FIRING
from headrace.windowing.column import Column
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.watermarks.policies import WatermarkPolicy
from headrace.windowing.window_fn import WindowFn, Windows
from headrace.windowing.windows import GlobalWindows

IN_GLOBAL: Final = GlobalWindows()


class TableRecords(Protocol):
    """How the rows of a table become elements."""

    def elements(self, table: Any) -> list[Any]:
        """Return the elements of a table, one for each row."""


class ArrowBundle(Bundle):
    """Elements that are still the rows of an Arrow table.

    Args:
        table: the fields of the elements.
        records: how its rows become elements.
    """

    __slots__ = ("_values", "records", "table")

    def __init__(self, table: Any, records: TableRecords) -> None:
        self.table = table
        self.records = records
        self._values: list[Any] | None = None

    def __len__(self) -> int:
        return self.table.num_rows  # type: ignore[no-any-return]  # of an optional package

    @property
    def values(self) -> list[Any]:  # type: ignore[override]  # made when it is asked for
        """The elements."""
        if self._values is None:
            self._values = self.records.elements(self.table)
        return self._values

    @abstractmethod
    def with_table(self, table: Any, records: TableRecords) -> ArrowBundle:
        """Return a bundle with other fields, in as many rows."""

    @abstractmethod
    def is_like(self, other: ArrowBundle) -> bool:
        """Return whether another bundle has the same fields and windows."""

    @abstractmethod
    def followed_by(self, others: Sequence[Any]) -> ArrowBundle:
        """Return the rows of this and of other bundles, which are like it."""


class TableBundle(ArrowBundle):
    """Insertions without panes, as an Arrow table.

    Args:
        table: the fields of the elements.
        records: how its rows become elements.
        times: the timestamps, as a numpy array of microseconds; None for the beginning of time.
        window_fn: assigns the windows, by time alone.
    """

    __slots__ = ("_timestamps", "_windows", "times", "window_fn")

    def __init__(
        self,
        table: Any,
        records: TableRecords,
        times: Any = None,
        window_fn: WindowFn = IN_GLOBAL,
    ) -> None:
        super().__init__(table, records)
        self.times = times
        self.window_fn = window_fn
        self._timestamps: Column[int] | None = None
        self._windows: Column[Windows] | None = None
        self.panes, self.diffs = repeat(NO_FIRING), repeat(INSERT)

    @property
    def timestamps(self) -> Column[int]:  # type: ignore[override]  # made when it is asked for
        """The timestamps in microseconds."""
        if self._timestamps is None:
            self._timestamps = repeat(MIN_MICROS) if self.times is None else self.times.tolist()
        return self._timestamps

    @property
    def windows(self) -> Column[Windows]:  # type: ignore[override]  # made when it is asked for
        """The windows."""
        if self._windows is None:
            nothing: list[Any] = [None] * len(self)
            self._windows = self.window_fn.assign_column(nothing, self.timestamps)
        return self._windows

    def observed_times(self, policy: WatermarkPolicy) -> list[int]:
        if policy.newest_only and self.times is not None and len(self):
            return [int(self.times.max())]
        return super().observed_times(policy)

    def windowed(self, window_fn: WindowFn) -> TableBundle:
        """Return a bundle with the windows that a function assigns by time alone."""
        return self._evolved(self.table, self.times, window_fn)

    def with_table(self, table: Any, records: TableRecords) -> TableBundle:
        """Return a bundle with other fields, in as many rows."""
        made = TableBundle(table, records, self.times, self.window_fn)
        made._timestamps, made._windows = self._timestamps, self._windows
        return made

    def filtered(self, mask: Any) -> TableBundle:
        """Return the rows for which a numpy array of booleans is true."""
        # Faster than times[mask].
        times = None if self.times is None else self.times[mask.nonzero()]
        return self._evolved(self.table.filter(mask), times, self.window_fn)

    def expanded(self, rows: Any, table: Any) -> TableBundle:
        """Return a bundle with the fields of a table, each of whose rows is made of a row of this bundle.

        Args:
            rows: the numbers of the rows of this bundle, as a numpy array.
            table: the fields.
        """
        times = None if self.times is None else self.times[rows]
        return self._evolved(table, times, self.window_fn)

    def part(self, start: int, end: int) -> Bundle:
        if start == 0 and end >= len(self):
            return self
        times = None if self.times is None else self.times[start:end]
        return self._evolved(self.table.slice(start, end - start), times, self.window_fn)

    def _evolved(self, table: Any, times: Any, window_fn: WindowFn) -> TableBundle:
        return TableBundle(table, self.records, times, window_fn)

    def is_like(self, other: ArrowBundle) -> bool:
        if not isinstance(other, TableBundle):
            return False
        same = (self.records, self.window_fn, self.times is None)
        others = (other.records, other.window_fn, other.times is None)
        schema, other_schema = map(decoded_schema, (self.table.schema, other.table.schema))
        return same == others and bool(schema == other_schema)

    def followed_by(self, others: Sequence[Any]) -> TableBundle:
        from numpy import concatenate
        from pyarrow import concat_tables

        all_ = [self, *others]
        times = None if self.times is None else concatenate([each.times for each in all_])
        tables = [each.table for each in all_]
        if any(table.schema != self.table.schema for table in tables):
            tables = list(map(decoded, tables))
        return self._evolved(concat_tables(tables), times, self.window_fn)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bundle.from_data, (self.as_data(),)


def joined(bundles: Sequence[Bundle]) -> Bundle:
    """Concatenate bundles; the result is a table if all of them are tables with the same fields.

    Args:
        bundles: the bundles.
    """
    filled = [bundle for bundle in bundles if len(bundle)]
    tables = [bundle for bundle in filled if isinstance(bundle, ArrowBundle)]
    alike = tables and all(map(tables[0].is_like, tables))
    if len(filled) < 2 or len(tables) < len(filled) or not alike:
        return filled[0] if len(filled) == 1 else Bundle.concat(filled)
    first, *others = tables
    return first.followed_by(others)
