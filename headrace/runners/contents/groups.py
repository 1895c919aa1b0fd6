"""Rows of a table by group."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs

from headrace.sdk.elements.record_tables import TableValue


@attrs.define(eq=False, slots=False)
class Groups:
    """Rows of a table by group.

    Attributes:
        ids: the number of each row's group, as a numpy array; groups are numbered from 0.
        size: the number of groups.
    """

    ids: Any
    size: int

    @cached_property
    def counts(self) -> Any:
        """The number of rows of each group."""
        import numpy as np

        return np.bincount(self.ids, minlength=self.size)

    @cached_property
    def by_arrival(self) -> Any:
        """The numbers of the groups in the order of their first rows, as a numpy array."""
        import numpy as np

        first = np.empty(self.size, np.int64)
        first[self.ids[::-1]] = np.arange(len(self.ids))[::-1]
        return first.argsort()

    @cached_property
    def _order(self) -> Any:
        """The rows, group after group, each in its order."""
        return order_by(self.ids)

    def lists(self, values: TableValue, table: Any) -> list[list[Any]]:
        """Return the values of each group, as a list of Python values.

        Args:
            values: what a value is made of.
            table: the table.
        """
        rows = values.of(table.select(dict.fromkeys(values.names)).take(self._order))
        return parts(rows, self.counts)


def order_by(ids: Any, *then: Any) -> Any:
    """Return the order of rows by a number, and of rows with the same number by other columns or by place.

    Args:
        ids: the numbers, as a numpy array; from 0, and less than 2**32.
        then: the other columns, the most important one last.

    >>> import numpy as np
    >>> order_by(np.array([1, 0, 1]), np.array([7, 8, 6])).tolist()
    [1, 2, 0]
    """
    import numpy as np

    found = _by_one_number(*then, ids) if then and len(ids) else None
    if found is not None:
        return found
    # Integers of 16 bits are sorted by their digits, which is several times as fast as comparing them.
    low, high = ids.astype(np.uint16), (ids >> 16).astype(np.uint16)
    return np.lexsort((*then, low, high))


def _by_one_number(*columns: Any) -> Any:
    """Return the order of rows by columns, the most important one last; None if their range is too large.

    The columns and the place of a row are sorted as one number, of which the place is the least important
    part.
    """
    import numpy as np

    rows = size = len(columns[0])
    found = np.arange(rows)
    for column in columns:
        least, most = int(column.min()), int(column.max())
        size_of_all = size * (most - least + 1)
        if size_of_all >= 1 << 63:
            return None
        found += np.subtract(column, least, dtype=np.int64) * size
        size = size_of_all
    found.sort()
    return found % rows


def parts(rows: list[Any], counts: Any) -> list[list[Any]]:
    """Return rows that are ordered by group as a list for each group.

    Args:
        rows: the rows.
        counts: the number of rows of each group, as a numpy array.

    >>> import numpy as np
    >>> parts(["a", "b", "c"], np.array([1, 2]))
    [['a'], ['b', 'c']]
    """
    ends = counts.cumsum().tolist()
    return [rows[start:end] for start, end in zip([0, *ends], ends, strict=False)]
