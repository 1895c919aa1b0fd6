"""The elements of a part as an Arrow table: rows to append, or rows with their counts to merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.lake.arrow_columns import ArrowType, column_of
from headrace.sdk.io.lake.net_rows import COUNT, ROW_ID
from headrace.sdk.io.table.changes import check_key
from headrace.sdk.io.table.rows import RowValues


def names_of(rows: Iterable[RowValues]) -> tuple[str, ...]:
    """Return the columns that rows have, in order.

    >>> names_of([{"a": 1}, {"b": 2, "a": 1}])
    ('a', 'b')
    """
    return tuple(dict.fromkeys(name for row in rows for name in row))


def arrow_table(
    rows: Sequence[RowValues],
    names: Iterable[str],
    types: Mapping[str, ArrowType],
    partition_by: Sequence[str],
    step: str,
) -> Any:
    """Return rows as an Arrow table, without the columns that are always None and have no type.

    Such columns stay if no column is left besides those by which rows are divided, for a file has rows only
    if it has a column.

    Args:
        rows: the rows.
        names: the columns.
        types: the known types of columns.
        partition_by: columns by which rows are divided.
        step: label of the step, for errors.

    Raises:
        ElementError: a value does not fit the type of its column.
    """
    pyarrow = arrow()
    columns = {name: column_of(rows, name, types.get(name), step) for name in names}
    known = {name: column for name, column in columns.items() if column.type != pyarrow.null()}
    return pyarrow.table(columns if known.keys() <= set(partition_by) else known)


def counted(
    rows: Sequence[RowValues],
    diffs: Iterable[int],
    key: tuple[str, ...],
    changing: bool,
    step: str,
) -> tuple[list[RowValues], list[bytes], list[int]]:
    """Return the distinct rows of a part, with their identities and counts, by their last occurrence.

    Args:
        rows: the rows.
        diffs: +1 for a row, -1 for the retraction of an earlier one.
        key: columns of the key.
        changing: whether any part can have retractions; if not, the last row of a key is enough.
        step: label of the step, for errors.

    Raises:
        ElementError: a key is None or not hashable.

    >>> counted([{"k": 1, "n": n} for n in (5, 6, 5)], [1, 1, -1], ("k",), True, "")[2]
    [1]
    """
    for row in rows:
        check_key(row, key, step)
    if not changing:
        identify = itemgetter(*key)
        kept = list({identify(row): row for row in rows}.values())
        return kept, [b""] * len(kept), [1] * len(kept)
    counts: dict[bytes, tuple[RowValues, int]] = {}
    for row, diff in zip(rows, diffs, strict=False):
        found = identity(row)
        _, count = counts.pop(found, (row, 0))  # reinserted, so that the last row is at the end
        counts[found] = (row, count + diff)
    kept_counts = {found: each for found, each in counts.items() if each[1]}
    return (
        [row for row, _ in kept_counts.values()],
        list(kept_counts),
        [count for _, count in kept_counts.values()],
    )


def identity(row: RowValues) -> bytes:
    """Return a number that equal rows have in common; a column that is None is as one that is missing.

    >>> identity({"a": 1, "b": None}) == identity({"a": 1})
    True
    """
    names = tuple(sorted(name for name, value in row.items() if value is not None))
    values = encode_value(tuple([row[name] for name in names]))
    return blake2b(values, key=_header(names), digest_size=16).digest()


@lru_cache(maxsize=256)
def _header(names: tuple[str, ...]) -> bytes:
    return blake2b(encode_value(names), digest_size=32).digest()


def with_counts(table: Any, identities: list[bytes], counts: list[int]) -> Any:
    """Return a table of rows with the columns of their identities and counts."""
    pyarrow = arrow()
    return table.append_column(ROW_ID, pyarrow.array(identities, pyarrow.binary())).append_column(
        COUNT, pyarrow.array(counts, pyarrow.int64())
    )
