"""The only panes of many keys and windows, as rows of an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, NamedTuple

from headrace.grouping.bundle import INSERT, Bundle
from headrace.grouping.table_bundle import ArrowBundle, TableRecords
from headrace.triggers.pane import ONLY_FIRING
from headrace.windowing.column import Column
from headrace.windowing.window import GLOBAL_WINDOW, intervals
from headrace.windowing.window_fn import Windows


class WindowBounds(NamedTuple):
    """The windows of rows.

    Attributes:
        starts: the start of each window in microseconds, as a numpy array.
        ends: the end of each window, likewise.
    """

    starts: Any
    ends: Any


class PaneTable(ArrowBundle):
    """The only panes of windows, as an Arrow table; their timestamps are the last instants of the windows.

    Args:
        table: the fields of the elements.
        records: how its rows become elements.
        bounds: the windows of the rows; None for the global window.
    """

    __slots__ = ("_windows", "bounds")

    def __init__(self, table: Any, records: TableRecords, bounds: WindowBounds | None) -> None:
        super().__init__(table, records)
        self.bounds = bounds
        self._windows: Column[Windows] | None = None
        self.panes, self.diffs = repeat(ONLY_FIRING), repeat(INSERT)

    @property
    def timestamps(self) -> Column[int]:  # type: ignore[override]  # made when it is asked for
        """The timestamps in microseconds."""
        if self.bounds is None:
            return repeat(GLOBAL_WINDOW.last)
        return (self.bounds.ends - 1).tolist()  # type: ignore[no-any-return]  # of an optional package

    @property
    def windows(self) -> Column[Windows]:  # type: ignore[override]  # made when it is asked for
        """The windows."""
        if self._windows is None:
            self._windows = self._made_windows()
        return self._windows

    def _made_windows(self) -> Column[Windows]:
        if self.bounds is None:
            return repeat((GLOBAL_WINDOW,))
        starts, ends = self.bounds
        return list(zip(intervals(zip(starts.tolist(), ends.tolist(), strict=True))))

    def with_table(self, table: Any, records: TableRecords) -> PaneTable:
        """Return the panes with other fields, in as many rows."""
        return PaneTable(table, records, self.bounds)

    def part(self, start: int, end: int) -> Bundle:
        if start == 0 and end >= len(self):
            return self
        bounds = self.bounds and WindowBounds(
            self.bounds.starts[start:end], self.bounds.ends[start:end]
        )
        return PaneTable(self.table.slice(start, end - start), self.records, bounds)

    def is_like(self, other: ArrowBundle) -> bool:
        if not isinstance(other, PaneTable) or self.records != other.records:
            return False
        same = (self.bounds is None) == (other.bounds is None)
        return same and bool(self.table.schema == other.table.schema)

    def followed_by(self, others: Sequence[Any]) -> PaneTable:
        from numpy import concatenate
        from pyarrow import concat_tables

        all_ = [self, *others]
        bounds = self.bounds and WindowBounds(
            *(concatenate(columns) for columns in zip(*(each.bounds for each in all_), strict=True))
        )
        return PaneTable(concat_tables([each.table for each in all_]), self.records, bounds)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the columns: no element is made."""
        return PaneTable, (self.table, self.records, self.bounds)
