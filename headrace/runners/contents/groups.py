"""Rows of a table by group."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs

from headrace.sdk.elements.record_tables import Fields


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
    def _order(self) -> Any:
        """The rows, group after group, each in its order."""
        import numpy as np

        return np.argsort(self.ids, kind="stable")

    def lists(self, values: Fields, table: Any) -> list[list[Any]]:
        """Return the values of each group, as a list of Python values.

        Args:
            values: the fields of a value.
            table: the table.
        """
        rows = values.of(table.select(dict.fromkeys(values.names)).take(self._order))
        return parts(rows, self.counts)


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
