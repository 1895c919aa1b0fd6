"""Elements as rows of a table: values by column; this module does not use SQL.

Records have named columns: a dict, a Row, a named tuple, an attrs class, a dataclass. For plain tuples, a
pattern of the same shape gives the names: ``(("origin", "day"), "total")``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.elements.schemas import Reader, reader_of
from headrace.windowing.time.timestamps import Duration, Timestamp
from headrace.windowing.window import BoundedWindow

RowValues: TypeAlias = dict[str, Any]
"""A row: values by column."""

Pattern: TypeAlias = "str | tuple[Pattern, ...]"
"""Column names in the shape of the tuples whose items they name."""

WINDOW_COLUMNS: Final = ("window_start", "window_end")


@attrs.define(eq=False)
class Shape:
    """Converts elements to rows, all with the same columns.

    Args:
        pattern: the columns; None for the columns of the first record.
        key: the columns of the key.
        windows: whether to add two columns for the bounds of the window.
        fixed: whether an element with other columns than the first one is an error.
    """

    pattern: tuple[Pattern, ...] | None
    key: tuple[str, ...]
    windows: bool
    fixed: bool = True
    columns: frozenset[str] | None = attrs.field(default=None, init=False)
    _flat: tuple[str, ...] | None = attrs.field(init=False)

    @_flat.default
    def _find_flat(self) -> tuple[str, ...] | None:
        """The names of a pattern that is not nested; None if it is nested."""
        names = self.pattern or ()
        return tuple(map(str, names)) if all(isinstance(name, str) for name in names) else None

    def rows(self, bundle: Bundle, step: str) -> tuple[list[RowValues], Iterable[int]]:
        """Return the elements of a bundle as rows, and their diffs.

        Raises:
            ElementError: an element is not a record, or does not have the columns.
        """
        rows = [self._row(element, step) for element in bundle.values]
        if not self.windows:
            return rows, bundle.diffs
        windowed = list(zip(rows, bundle.windows, bundle.diffs, strict=False))
        diffs = [diff for _, windows, diff in windowed for _ in windows]
        return [row | _bounds(window) for row, windows, _ in windowed for window in windows], diffs

    def _row(self, element: Any, step: str) -> RowValues:
        try:
            row = self._named(element)
        except _ShapeError as error:
            raise ElementError(
                f"the element {shorten(element)} {error}", where=step, remedy=error.remedy
            ) from None
        if self.columns is None or (not self.fixed and row.keys() != self.columns):
            self.columns = self._first_columns(row, step)
        if row.keys() != self.columns:
            self._refuse(element, row, step)
        return row

    def _named(self, element: Any) -> RowValues:
        """Return the columns of an element with their values."""
        kind: Any = type(element)
        if kind is tuple and self._flat and len(element) == len(self._flat):
            return dict(zip(self._flat, map(plain, element), strict=True))
        read = reader_of(kind)
        if self.pattern is None or (read is not None and self._flat is not None):
            return dict(_cells(element, read, self.pattern))
        return dict(_matched(self.pattern, element))

    def _first_columns(self, row: RowValues, step: str) -> frozenset[str]:
        columns = frozenset(row)
        own = columns.union(WINDOW_COLUMNS if self.windows else ())
        for name in self.key:
            if name not in own:
                raise ElementError(
                    f"the element {shorten(row)} does not have the key column {name!r}",
                    where=step,
                    remedy=f"add the column, or choose a key from {sorted(own)}",
                )
        return columns

    def _refuse(self, element: object, row: RowValues, step: str) -> None:
        columns = self.columns or frozenset()
        missing = sorted(columns - row.keys())
        what = f"has no column {missing[0]!r}" if missing else f"has the columns {sorted(row)}"
        raise ElementError(
            f"the element {shorten(element)} {what}, but earlier elements had {sorted(columns)}",
            where=step,
            remedy="give all elements the same columns, with None for missing values, or select columns "
            "with columns=[…]",
        )


class _ShapeError(Exception):
    """A problem with an element; the message continues after the element's repr."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(problem)


def _cells(
    element: object,
    read: Reader | None,
    names: tuple[Pattern, ...] | None,
) -> Iterator[tuple[str, Any]]:
    if read is None:
        raise _ShapeError(
            "has no columns",
            "use a dict, an hr.Row, a named tuple, an attrs class or a dataclass; or use a tuple and "
            "name its items with columns=[…]",
        )
    cells = read(element)
    for name in cells if names is None else names:
        if name not in cells:
            raise _ShapeError(
                f"has no column {name!r}", f"choose columns from {sorted(map(str, cells))}"
            )
        yield str(name), plain(cells[name])  # type: ignore[index]  # a flat pattern


def _matched(pattern: Pattern, value: object) -> Iterator[tuple[str, Any]]:
    """Yield the names of a pattern with the corresponding items of a tuple."""
    if isinstance(pattern, str):
        yield pattern, plain(value)
        return
    if not isinstance(value, (tuple, list)) or len(value) != len(pattern):
        raise _ShapeError(
            f"does not have the shape of the columns: {shorten(value)} is not a tuple of {pattern}",
            "give columns=[…] the shape of the elements, such as [('shop', 'day'), 'total'] for "
            "(('a', 1), 5)",
        )
    for name, item in zip(pattern, value, strict=True):
        yield from _matched(name, item)


def names_in(pattern: Pattern) -> Iterator[str]:
    """Iterate over the names in a pattern.

    >>> list(names_in((("origin", "day"), "total")))
    ['origin', 'day', 'total']
    """
    if isinstance(pattern, str):
        yield pattern
        return
    for part in pattern:
        yield from names_in(part)


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    Timestamp: lambda instant: instant.to_utc_datetime(has_tz=True),
    Duration: lambda span: (Timestamp(0) + span).to_utc_datetime() - datetime(1970, 1, 1),
    datetime: _in_utc,
}


def plain(value: object) -> Any:
    """Return a value in the form for a database: times in UTC, Headrace's time types as Python's.

    >>> plain(Timestamp(0)).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    convert = _PLAIN.get(type(value))
    return value if convert is None else convert(value)


@lru_cache
def _bounds(window: BoundedWindow) -> RowValues:
    return dict(zip(WINDOW_COLUMNS, map(plain, (window.start, window.end)), strict=True))
