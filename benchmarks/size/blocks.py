"""A source of generated columns that the workers read: any range of it can be made without what is before."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

import headrace as hr
from headrace.grouping.table_bundle import TableBundle, TableRecords
from headrace.io import Batch, LatestOffset
from headrace.sdk.elements.record_tables import AS_ROWS
from headrace.sdk.sources.source import ReadsTables

BLOCK: Final = 1 << 13
"""Rows that are made at once, from one seed."""

Columns = dict[str, Any]
"""Numpy arrays of equal length by name; "time" has milliseconds since 1970."""


class GeneratedTables(hr.io.UnboundedSource[Any], ReadsTables):
    """Rows in partitions; a subclass makes a block of them from its number alone.

    Args:
        rows: number of rows, of all partitions together.
        count: number of partitions.
    """

    def __init__(self, rows: int, count: int) -> None:
        self.rows = rows
        self.count = count

    @abstractmethod
    def block(self, partition: int, number: int) -> Columns:
        """Return ``BLOCK`` rows of a partition: block ``number`` of it."""

    @abstractmethod
    def watermark(self, partition: int, offset: int) -> hr.Timestamp:
        """Return a time that no row of a partition from an offset on is before."""

    @property
    def records(self) -> TableRecords:
        """Elements are rows."""
        return AS_ROWS

    def partitions(self) -> Sequence[int]:
        """Return the numbers of the partitions."""
        return range(self.count)

    def latest_offset(self, partition: int, start: Any, limit: int) -> LatestOffset:
        """Return the end of the next read."""
        start = start or 0
        end = min(start + limit, self._end(partition))
        watermark = self.watermark(partition, end)
        return LatestOffset(end, end - start, watermark, finished=end == self._end(partition))

    def read(self, partition: int, offset: Any, limit: int) -> Batch[Any]:
        """Return rows as a table."""
        latest = self.latest_offset(partition, offset, limit)
        columns = self.columns(partition, offset or 0, latest.offset)
        times = columns["time"] * 1000
        bundle = TableBundle(pa.table(columns), AS_ROWS, times)
        return Batch(bundle, latest.offset, latest.watermark, latest.finished)

    def columns(self, partition: int, start: int, end: int) -> Columns:
        """Return the rows of a range of a partition."""
        first = start // BLOCK
        blocks = [self.block(partition, n) for n in range(first, max(-(-end // BLOCK), first + 1))]
        cut = slice(start - first * BLOCK, end - first * BLOCK)
        return {name: np.concatenate([b[name] for b in blocks])[cut] for name in blocks[0]}

    def _end(self, partition: int) -> int:
        """Return the number of rows of a partition."""
        return len(range(partition, self.rows, self.count))
