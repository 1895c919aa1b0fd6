"""The net changes of a batch: for each key the row to write, or the rows to delete.

A value and its retraction cancel, whatever their order in the batch. If several rows of a key remain, the
last one counts, as in any upsert.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import repeat
from operator import itemgetter
from typing import Any

import attrs

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import INSERT
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.io.table.rows import RowValues


@attrs.frozen
class Changes:
    """The changes to a table, in order.

    Attributes:
        deletes: rows to delete if the table still contains them.
        writes: rows to insert, or with which to replace the rows of the same keys.
        expired: the end of the last window that has expired: its rows and those of older windows are
            deleted; None if none has.
    """

    deletes: list[RowValues]
    writes: list[RowValues]
    expired: datetime | None = None

    def __len__(self) -> int:
        return len(self.deletes) + len(self.writes)


def changes_of(
    rows: list[RowValues], diffs: Iterable[int], key: tuple[str, ...], step: str
) -> Changes:
    """Return the net changes of rows and their diffs.

    Args:
        rows: the rows.
        diffs: +1 for a row, -1 for the retraction of an earlier one.
        key: columns of the key; if empty, all rows are written.
        step: label of the step, for errors.

    Raises:
        ElementError: a key is None or not hashable.

    >>> rows = [{"k": "a", "n": n} for n in (1, 1, 2)]
    >>> changes_of(rows, [1, -1, 1], ("k",), "").writes
    [{'k': 'a', 'n': 2}]
    """
    if not key:
        return Changes([], rows)
    for row in rows:
        check_key(row, key, step)
    identify = itemgetter(*key)
    if isinstance(diffs, repeat) and next(diffs) == INSERT:
        return Changes([], list({identify(row): row for row in rows}.values()))
    return _net(rows, diffs, identify)


def _net(rows: list[RowValues], diffs: Iterable[int], identify: Any) -> Changes:
    keys: dict[Any, dict[bytes, _CountedRow]] = {}
    for row, diff in zip(rows, diffs, strict=False):
        counts = keys.setdefault(identify(row), {})
        encoded = encode_value(tuple(row.values()))
        previous = counts.pop(encoded, None)  # reinserted, so that the last row is at the end
        counts[encoded] = _CountedRow(row, diff + (previous.count if previous else 0))
    deletes: list[RowValues] = []
    writes: list[RowValues] = []
    for counts in keys.values():
        remaining = [c.row for c in counts.values() if c.count > 0]
        if remaining:
            writes.append(remaining[-1])
        else:
            deletes += [c.row for c in counts.values() if c.count < 0]
    return Changes(deletes, writes)


@attrs.frozen
class _CountedRow:
    row: RowValues
    count: int


def check_key(row: RowValues, key: tuple[str, ...], step: str) -> None:
    """Check that a row can be found by its key.

    Args:
        row: the row.
        key: columns of the key.
        step: label of the step, for errors.

    Raises:
        ElementError: a key is None or not hashable.

    >>> check_key({"k": None}, ("k",), "Write")
    Traceback (most recent call last):
    headrace.errors.ElementError: the element {'k': None} has None in the key column 'k'...
    """
    for name in key:
        value = row[name]
        if value is None or value.__hash__ is None:
            raise ElementError(
                f"the element {shorten(row)} has {shorten(value)} in the key column {name!r}",
                where=step,
                remedy="remove such elements with hr.Filter, or choose another key",
            )
