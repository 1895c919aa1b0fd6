"""Bundles whose elements are still the rows of an Arrow table.

Steps that know columns work on the table. For all others the bundle is like any other: its values are made
when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, Protocol

from headrace.grouping.bundle import Bundle
from headrace.windowing.column import Column
from headrace.windowing.time.timestamps import MIN_MICROS


class Records(Protocol):
    """How the rows of a table become elements."""

    def elements(self, table: Any) -> list[Any]:
        """Return the elements of a table, one for each row."""


class TableBundle(Bundle):
    """Insertions in the global window, without panes, as an Arrow table.

    Args:
        table: the fields of the elements.
        records: how its rows become elements.
        times: the timestamps, as a numpy array of microseconds; None for the beginning of time.
    """

    __slots__ = ("_times", "_timestamps", "_values", "records", "table")

    def __init__(self, table: Any, records: Records, times: Any = None) -> None:
        self.table = table
        self.records = records
        self._times = times
        self._values: list[Any] | None = None
        self._timestamps: Column[int] | None = None
        rest = Bundle([])
        self.windows, self.panes, self.diffs = rest.windows, rest.panes, rest.diffs

    def __len__(self) -> int:
        return self.table.num_rows  # type: ignore[no-any-return]  # of an optional package

    @property
    def values(self) -> list[Any]:  # type: ignore[override]  # made when it is asked for
        """The elements."""
        if self._values is None:
            self._values = self.records.elements(self.table)
        return self._values

    @property
    def timestamps(self) -> Column[int]:  # type: ignore[override]  # made when it is asked for
        """The timestamps in microseconds."""
        if self._timestamps is None:
            self._timestamps = repeat(MIN_MICROS) if self._times is None else self._times.tolist()
        return self._timestamps

    @property
    def times(self) -> Any:
        """The timestamps as a numpy array; None for the beginning of time."""
        return self._times

    def with_table(self, table: Any, records: Records) -> TableBundle:
        """Return a bundle with other fields, in as many rows."""
        made = TableBundle(table, records, self._times)
        made._timestamps = self._timestamps
        return made

    def filtered(self, mask: Any) -> TableBundle:
        """Return the rows for which a numpy array of booleans is true."""
        times = None if self._times is None else self._times[mask]
        return TableBundle(self.table.filter(mask), self.records, times)

    def is_like(self, other: TableBundle) -> bool:
        """Return whether another bundle has the same fields."""
        timed = (self._times is None) == (other._times is None)
        return bool(
            timed and self.records == other.records and self.table.schema == other.table.schema
        )

    def part(self, start: int, end: int) -> Bundle:
        if start == 0 and end >= len(self):
            return self
        times = None if self._times is None else self._times[start:end]
        table = self.table.slice(start, max(0, end - start))
        return TableBundle(table, self.records, times)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bundle.from_data, (self.as_data(),)


def joined(bundles: Sequence[Bundle]) -> Bundle:
    """Concatenate bundles; the result is a table if all of them are tables with the same fields.

    Args:
        bundles: the bundles.
    """
    filled = [bundle for bundle in bundles if len(bundle)]
    tables = [bundle for bundle in filled if isinstance(bundle, TableBundle)]
    alike = tables and all(map(tables[0].is_like, tables))
    if len(filled) < 2 or len(tables) < len(filled) or not alike:
        return filled[0] if len(filled) == 1 else Bundle.concat(filled)
    from numpy import concatenate
    from pyarrow import concat_tables

    times = None if tables[0].times is None else concatenate([bundle.times for bundle in tables])
    return TableBundle(concat_tables([b.table for b in tables]), tables[0].records, times)
