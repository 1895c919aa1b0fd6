"""The contents of one window by key, to which whole columns are added."""

from __future__ import annotations

from typing import Any

import attrs

from headrace.grouping.pane_output import ArrivalColumns, columns_in
from headrace.runners.contents.number_tables import Numbers
from headrace.runners.plan.planning import KeyedStep
from headrace.runners.precombine.key_index import KeyIndex
from headrace.windowing.window import BoundedWindow


@attrs.define(eq=False)
class WindowContents:
    """The contents of one window of a grouping whose windows do not merge.

    Attributes:
        step: the grouping.
        window: the window.
        keys: the keys by identity.
        contents: the contents by key identity.
    """

    step: KeyedStep
    window: BoundedWindow
    keys: KeyIndex = attrs.field(factory=KeyIndex)
    contents: Numbers = attrs.field(init=False)

    @contents.default
    def _no_contents(self) -> Numbers:
        number_table = self.step.number_table
        return number_table.table() if number_table else {}

    def add(self, keys: list[Any], contents: list[Any]) -> None:
        """Merge contents of keys into the window; they must not be used afterwards."""
        found, table = self.keys.identify(keys), self.contents
        number_table, merge = self.step.number_table, self.step.reduction.merge
        if number_table is not None:
            number_table.merge(table, found, contents, self.keys.__getitem__)
        elif not table:
            table.update(zip(found, contents, strict=True))
        else:
            for key, content in zip(found, contents, strict=True):
                table[key] = merge(table[key], content) if key in table else content

    def columns(self) -> ArrivalColumns:
        """Return the keys and their contents."""
        keys, contents = self.keys.named(self.contents), list(self.contents.values())
        return columns_in(self.window, keys, contents)
