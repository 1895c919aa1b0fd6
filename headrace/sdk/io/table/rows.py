"""Elements as rows of a table: values by column, without a word of SQL.

A record has its columns by name: a dict, a Row, a named tuple, an attrs class, a dataclass. A plain tuple
gets them from a pattern of names, which is shaped as the tuple is: ``(("origin", "day"), "total")``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from operator import attrgetter, methodcaller
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import ElementError, shorten
from headrace.sdk.row import Row
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import Duration, Timestamp
from headrace.windowing.window import BoundedWindow

Values: TypeAlias = dict[str, Any]
"""A row: values by column."""

Pattern: TypeAlias = "str | tuple[Pattern, ...]"
"""Names in the shape of the tuples that they name the items of."""

WINDOW_COLUMNS: Final = ("window_start", "window_end")


@attrs.define(eq=False)
class Shape:
    """How elements become rows, all of them with the same columns.

    Args:
        pattern: the columns; those of the first record if None.
        key: the columns of the key.
        windows: whether the bounds of the window are two further columns.
    """

    pattern: tuple[Pattern, ...] | None
    key: tuple[str, ...]
    windows: bool
    columns: frozenset[str] | None = attrs.field(default=None, init=False)

    def rows(self, bundle: Bundle, step: str) -> tuple[list[Values], Iterable[int]]:
        """Return the elements of a bundle as rows, and their diffs.

        Raises:
            ElementError: an element is no record, or has not got the columns.
        """
        rows = [self._row(element, step) for element in bundle.values]
        if not self.windows:
            return rows, bundle.diffs
        placed = list(zip(rows, bundle.windows, bundle.diffs, strict=False))
        diffs = [diff for _, windows, diff in placed for _ in windows]
        return [row | _bounds(window) for row, windows, _ in placed for window in windows], diffs

    def _row(self, element: Any, step: str) -> Values:
        try:
            row = dict(self._named(element))
        except _ShapeError as error:
            raise ElementError(
                f"the element {shorten(element)} {error}", where=step, remedy=error.remedy
            ) from None
        if self.columns is None:
            self.columns = self._first_columns(row, step)
        if row.keys() != self.columns:
            self._refuse(element, row, step)
        return row

    def _named(self, element: Any) -> Iterator[tuple[str, Any]]:
        """Yield the columns of an element with what goes into them."""
        kind: Any = type(element)
        read = reader_of(kind)
        if self.pattern is None or (read is not None and self._flat):
            yield from _cells(element, read, self.pattern)
        else:
            yield from _matched(self.pattern, element)

    @property
    def _flat(self) -> bool:
        return all(isinstance(name, str) for name in self.pattern or ())

    def _first_columns(self, row: Values, step: str) -> frozenset[str]:
        columns = frozenset(row)
        own = columns.union(WINDOW_COLUMNS if self.windows else ())
        for name in self.key:
            if name not in own:
                raise ElementError(
                    f"the element {shorten(row)} has no column {name!r}, which is in the key",
                    where=step,
                    remedy=f"give it one, or choose a key among {sorted(own)}",
                )
        return columns

    def _refuse(self, element: Any, row: Values, step: str) -> None:
        columns = self.columns or frozenset()
        lacks = sorted(columns - row.keys())
        what = f"has no column {lacks[0]!r}" if lacks else f"has the columns {sorted(row)}"
        raise ElementError(
            f"the element {shorten(element)} {what}, and the ones before it had {sorted(columns)}",
            where=step,
            remedy="give all elements the same columns, with None where there is no value, or say "
            "columns=[…] to choose some",
        )


class _ShapeError(Exception):
    """What is wrong with an element, in words that follow it."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(problem)


def _cells(
    element: Any,
    read: Callable[[Any], Mapping[str, Any]] | None,
    names: tuple[Pattern, ...] | None,
) -> Iterator[tuple[str, Any]]:
    if read is None:
        raise _ShapeError(
            "has no columns",
            "make it a dict, an hr.Row, a named tuple, an attrs class or a dataclass; or a tuple, and "
            "name its items with columns=[…]",
        )
    cells = read(element)
    for name in cells if names is None else names:
        if name not in cells:
            raise _ShapeError(
                f"has no column {name!r}", f"choose columns among {sorted(map(str, cells))}"
            )
        yield str(name), plain(cells[name])  # type: ignore[index]  # a flat pattern


def _matched(pattern: Pattern, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names of a pattern with the items of a tuple that they stand for."""
    if isinstance(pattern, str):
        yield pattern, plain(value)
        return
    if not isinstance(value, (tuple, list)) or len(value) != len(pattern):
        raise _ShapeError(
            f"does not have the shape of the columns: {shorten(value)} is no tuple of {pattern}",
            "say columns=[…] in the shape of the elements, such as [('shop', 'day'), 'total'] for "
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


@cache
def reader_of(kind: Any) -> Callable[[Any], Mapping[str, Any]] | None:
    """Return what reads the columns of records of a type by name; None if these are no records."""
    if issubclass(kind, Mapping):
        return _itself
    if issubclass(kind, Row) or (issubclass(kind, tuple) and hasattr(kind, "_asdict")):
        return methodcaller("_asdict")
    if attrs.has(kind):
        return _attributes([field.name for field in attrs.fields(kind)])
    if hasattr(kind, "__dataclass_fields__"):
        return _attributes(list(kind.__dataclass_fields__))
    return None


def _itself(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return record


def _attributes(names: list[str]) -> Callable[[Any], Mapping[str, Any]]:
    if len(names) < 2:
        return lambda record: {name: getattr(record, name) for name in names}
    items = attrgetter(*names)
    return lambda record: dict(zip(names, items(record), strict=True))


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    Timestamp: lambda instant: instant.to_utc_datetime(has_tz=True),
    Duration: lambda stretch: (Timestamp(0) + stretch).to_utc_datetime() - datetime(1970, 1, 1),
    datetime: _in_utc,
}


def plain(value: Any) -> Any:
    """Return a value as a database knows it: times in UTC, Headrace's own as Python's.

    >>> plain(Timestamp(0)).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    convert = _PLAIN.get(type(value))
    return value if convert is None else convert(value)


@lru_cache
def _bounds(window: BoundedWindow) -> Values:
    return dict(zip(WINDOW_COLUMNS, map(plain, (window.start, window.end)), strict=True))
