"""What a batch comes to: for each key the row that stands after it, or the rows that it takes back.

The order of elements within a batch hardly matters: a value and its retraction cancel wherever they
stand. If several rows of a key are left over, the last one stands, as in any upsert.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from operator import itemgetter
from typing import Any

import attrs

from headrace.errors import ElementError, shorten
from headrace.sdk.encoding import encode_value
from headrace.sdk.io.table.rows import Values
from headrace.triggers.bundle import INSERT


@attrs.frozen
class Changes:
    """What is to be done to a table, deletions first.

    Attributes:
        deletes: rows that no longer stand, to be deleted where they still do.
        writes: rows to be inserted, or put in the place of those with their keys.
    """

    deletes: list[Values]
    writes: list[Values]

    def __len__(self) -> int:
        return len(self.deletes) + len(self.writes)


def changes_of(
    rows: list[Values], diffs: Iterable[int], key: tuple[str, ...], step: str
) -> Changes:
    """Return what rows and their diffs come to.

    Args:
        rows: the rows.
        diffs: +1 for a row, -1 for the retraction of an earlier one.
        key: columns of the key; without any, all rows are written.
        step: where, for errors.

    Raises:
        ElementError: a key is None or has no hash.

    >>> rows = [{"k": "a", "n": n} for n in (1, 1, 2)]
    >>> changes_of(rows, [1, -1, 1], ("k",), "").writes
    [{'k': 'a', 'n': 2}]
    """
    if not key:
        return Changes([], rows)
    for row in rows:
        _check_key(row, key, step)
    identify = itemgetter(*key)
    if isinstance(diffs, repeat) and next(diffs) == INSERT:
        return Changes([], list({identify(row): row for row in rows}.values()))
    return _net(rows, diffs, identify)


def _net(rows: list[Values], diffs: Iterable[int], identify: Any) -> Changes:
    keys: dict[Any, dict[bytes, _Count]] = {}
    for row, diff in zip(rows, diffs, strict=False):
        counts = keys.setdefault(identify(row), {})
        counted = encode_value(tuple(row.values()))
        before = counts.pop(counted, None)  # put in anew, since the last one stands
        counts[counted] = _Count(row, diff + (before.count if before else 0))
    deletes: list[Values] = []
    writes: list[Values] = []
    for counts in keys.values():
        standing = [c.row for c in counts.values() if c.count > 0]
        if standing:
            writes.append(standing[-1])
        else:
            deletes += [c.row for c in counts.values() if c.count < 0]
    return Changes(deletes, writes)


@attrs.frozen
class _Count:
    row: Values
    count: int


def _check_key(row: Values, key: tuple[str, ...], step: str) -> None:
    for name in key:
        value = row[name]
        if value is None or value.__hash__ is None:
            raise ElementError(
                f"the element {shorten(row)} has {shorten(value)} in the column {name!r} of the key",
                where=step,
                remedy="leave such elements out with hr.Filter, or choose another key",
            )
