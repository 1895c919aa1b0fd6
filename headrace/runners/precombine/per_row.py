"""Precombiner for sessions with a late output, where it is not known which elements are late."""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.reduction import Reduction
from headrace.runners.error_context import note_combined
from headrace.runners.precombine.key_index import pairs
from headrace.runners.precombine.protocol import Input
from headrace.sdk.pardo.binding import exploded
from headrace.windowing.column import mapped


class ElementRows(NamedTuple):
    """Elements with their keys and contents.

    Attributes:
        keys: the keys.
        contents: the content of each element.
        elements: the elements without their keys; each has one window.
    """

    keys: list[Any]
    contents: list[Any]
    elements: Bundle

    def take(self, rows: list[int]) -> ElementRows:
        """Return some rows, by number."""
        keys, contents = self.keys, self.contents
        return ElementRows(
            [keys[n] for n in rows], [contents[n] for n in rows], self.elements.take(rows)
        )


@attrs.define
class RowPrecombiner:
    """Elements one by one: few elements of a key have the same window before sessions merge."""

    input: Input
    reduction: Reduction
    _waiting: list[Bundle] = attrs.field(factory=list, init=False)

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle; an element with several windows counts in each of them."""
        placed = bundle.with_windows(self.input.windows(bundle))
        self._waiting.append(exploded(placed))

    def rows(self) -> ElementRows:
        """Return the elements, and remove them."""
        bundle, self._waiting = Bundle.concat(self._waiting), []
        keys, values = pairs(bundle, self.input.label)
        return ElementRows(keys, self._contents(keys, values), bundle.with_values(values))

    def _contents(self, keys: list[Any], values: list[Any]) -> list[Any]:
        def content_of(value: object) -> object:
            return self.reduction.of([value])

        def note(error: Exception, row: int) -> None:
            note_combined(error, self.reduction.of, keys[row], [values[row]])

        return mapped(content_of, values, note)
