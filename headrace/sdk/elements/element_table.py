"""Elements as a table, in text and in HTML: their fields, timestamp, windows, pane and diff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

import attrs

from headrace.errors import TimeError, printable, shorten
from headrace.grouping.bundle import Element
from headrace.sdk.elements.html_tables import fragment, paragraph, table
from headrace.sdk.elements.schemas import fields_of, is_record
from headrace.triggers.pane import PaneInfo, PaneInfoTiming
from headrace.windowing.time.timestamps import END_OF_TIME_MICROS, MIN_MICROS, Timestamp
from headrace.windowing.window import BoundedWindow, IntervalWindow

CELL_WIDTH: Final = 60
"""Maximum number of characters of a value in a cell."""

_METADATA: Final = ("timestamp", "window", "pane", "diff")


@attrs.frozen(repr=False)
class ElementTable:
    """The first elements of a collection, which ``print`` and notebooks show as a table.

    Records have a column for each field, and pairs have the columns "key" and "value".

    Attributes:
        name: the name of the collection.
        elements: the first elements, in order of emission.
        more: number of other elements.

    >>> from headrace.sdk.elements.element_table import ElementTable
    >>> print(ElementTable("Sums", (Element(("a", 3), 0, (IntervalWindow(0, 60),)),), more=1))
    key  value  timestamp             window                                        pane  diff
    ---  -----  --------------------  --------------------------------------------  ----  ----
    a        3  1970-01-01T00:00:00Z  [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)  -       +1
    and 1 more element
    """

    name: str
    elements: tuple[Element, ...]
    more: int = 0

    @property
    def values(self) -> list[Any]:
        """The values; a table that is not net also has the values of retractions, and retracted values."""
        return [element.value for element in self.elements]

    def __str__(self) -> str:
        """Return the table as text."""
        header, rows, numbers = self._cells()
        lines = list(_aligned([header, *rows], numbers)) if rows else []
        return "\n".join([*lines, self._note()]).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        header, rows, numbers = self._cells()
        cells = [[escape(cell) for cell in row] for row in rows]
        shown = table(header, cells, caption=self.name, numbers=numbers)
        note = self._note()
        return fragment(shown, paragraph(note) if note else "")

    def _note(self) -> str:
        if not self.elements and not self.more:
            return f"{self.name} has no elements"
        count = f"{self.more:,} more element{'' if self.more == 1 else 's'}"
        return f"and {count}" if self.more else ""

    def _cells(self) -> tuple[list[str], list[list[str]], set[int]]:
        """Return the header, the rows, and the columns of numbers."""
        names, values = _columns(self.values)
        header = [*names, *_METADATA]
        rows = [
            [*map(_text, own), *_metadata(element)]
            for own, element in zip(values, self.elements, strict=True)
        ]
        numbers = {at for at in range(len(names)) if all(_is_number(own[at]) for own in values)}
        return header, rows, {*numbers, len(header) - 1}


def _columns(values: Sequence[Any]) -> tuple[list[str], list[list[object]]]:
    """Return the names of the columns of values, and the cells of each value."""
    if values and all(map(is_record, values)):
        records = [fields_of(value) for value in values]
        if len({tuple(record) for record in records}) == 1:
            return [printable(str(name)) for name in records[0]], [
                list(record.values()) for record in records
            ]
    if values and all(type(value) is tuple and len(value) == 2 for value in values):
        return ["key", "value"], [list(value) for value in values]
    return ["value"], [[value] for value in values]


def _metadata(element: Element) -> Iterator[str]:
    yield instant_text(element.timestamp)
    yield ", ".join(map(_window, element.windows))
    yield _pane(element.pane)
    yield f"{element.diff:+d}"


def instant_text(micros: int) -> str:
    """Return an instant in microseconds as text.

    >>> from headrace.sdk.elements.element_table import instant_text
    >>> instant_text(1_500_000), instant_text(MIN_TIMESTAMP.micros)
    ('1970-01-01T00:00:01.500000Z', 'the beginning of time')
    """
    instant = Timestamp(micros=micros)
    if not MIN_MICROS < micros < END_OF_TIME_MICROS:
        return str(instant)
    try:
        return instant.to_rfc3339()
    except TimeError:  # the year is not one of a datetime
        return repr(instant)


def _window(window: BoundedWindow) -> str:
    if type(window) is not IntervalWindow:
        return printable(repr(window))
    return f"[{instant_text(window.start.micros)}, {instant_text(window.end.micros)})"


def _pane(pane: PaneInfo) -> str:
    return "-" if pane.timing == PaneInfoTiming.UNKNOWN else f"{pane.timing.name} {pane.index}"


def _text(value: object) -> str:
    text = value if isinstance(value, str) and value.isprintable() else _repr(value)
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 1] + "…"


def _repr(value: object) -> str:
    """Return the repr of a value; a large value is shortened before its repr is made."""
    large = isinstance(value, (Sequence, Mapping, set))
    return shorten(value) if large else printable(repr(value))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _aligned(rows: list[list[str]], numbers: set[int]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width for width in widths]
    for row in (rows[0], rule, *rows[1:]):
        cells = (
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
