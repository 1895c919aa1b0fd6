"""A column of a bundle: a list, or one value repeated for every row.

Elements flow in bundles, and a bundle is a few parallel columns. Most columns hold the same value
in every row (no element has a pane before the first grouping, few are retractions), so a column is
either a list or an endless ``itertools.repeat``. ``zip`` and ``map`` accept both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, compress, islice, repeat
from operator import length_hint
from typing import TypeAlias, TypeVar

T = TypeVar("T")
U = TypeVar("U")

Column: TypeAlias = "list[T] | repeat[T]"


def uniform(column: Column[T]) -> bool:
    """Return whether a column is one value repeated."""
    return isinstance(column, repeat)


def materialise(column: Column[T], rows: int) -> list[T]:
    """Return the first ``rows`` rows of a column as a list."""
    return list(islice(column, rows)) if isinstance(column, repeat) else column


def select(column: Column[T], mask: Iterable[object]) -> Column[T]:
    """Keep the rows for which the mask is true."""
    return column if isinstance(column, repeat) else list(compress(column, mask))


def pick(column: Column[T], rows: Iterable[int]) -> Column[T]:
    """Keep some rows, by number."""
    return column if isinstance(column, repeat) else [column[row] for row in rows]


def cut(column: Column[T], part: slice) -> Column[T]:
    """Keep the rows of a slice."""
    return column if isinstance(column, repeat) else column[part]


def mapped(
    function: Callable[[T], U], rows: Collection[T], note: Callable[[Exception, int], None]
) -> list[U]:
    """Return the result of a function for each row; ``note`` gets an error with the number of its row."""
    remaining = iter(rows)
    try:
        return list(map(function, remaining))
    except Exception as error:
        note(error, len(rows) - length_hint(remaining) - 1)
        raise


def stretch(column: Column[T], counts: Iterable[int]) -> Column[T]:
    """Repeat each row by its count."""
    if isinstance(column, repeat):
        return column
    rows: list[T] = []
    extend = rows.extend
    for row, count in zip(column, counts, strict=True):
        extend((row,) * count)
    return rows


def concatenate(columns: Sequence[Column[T]], rows: Sequence[int]) -> Column[T]:
    """Concatenate columns of the given lengths; if all repeat the same value, so does the result."""
    first = columns[0]
    if isinstance(first, repeat) and all(
        isinstance(c, repeat) and _same(next(c), next(first)) for c in columns
    ):
        return first
    return list(chain.from_iterable(map(islice, columns, rows)))


def _same(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and one == other)
