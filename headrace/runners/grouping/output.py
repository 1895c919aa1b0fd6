"""The outputs of tables: panes with their keys, and bundles of the panes of many keys."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, Protocol

import attrs

from headrace.grouping.bundle import Bundle, Element
from headrace.grouping.pane_output import ArrivalColumns, Panes
from headrace.windowing.window import BoundedWindow


class KeyedOutput(Protocol):
    """The outputs of several keys."""

    panes: Any
    """The outputs, as the keyed operator takes them."""

    def assign_key(self, key: Any) -> None:
        """Assign a key to all output since the last call."""


@attrs.define(eq=False)
class UnkeyedOutputs:
    """The outputs of several keys, for operators whose outputs have no keys."""

    panes: object

    def assign_key(self, key: Any) -> None:
        """Do nothing."""


@attrs.define(eq=False)
class KeyedPanes:
    """The panes of several keys, and the late elements that were dropped.

    Attributes:
        panes: the panes of keys with full states.
        late: dropped elements, if late elements have an output.
        dropped: the number of dropped elements.
        early: the EARLY panes of windows, many keys at a time, and the retractions of EARLY panes.
        on_time: the panes of windows that end, many keys at a time; of a key they come after other panes.
    """

    panes: Panes = attrs.field(factory=Panes)
    late: list[Element] = attrs.field(factory=list)
    dropped: int = 0
    early: list[Bundle] = attrs.field(factory=list)
    on_time: list[Iterable[Bundle]] = attrs.field(factory=list)
    _keys: list[object] = attrs.field(factory=list)

    def assign_key(self, key: object) -> None:
        """Assign a key to all output since the last call."""
        panes = self.panes
        self._keys.extend([key] * (len(panes.values) - len(self._keys)))
        for arrival in panes.dropped:
            self.dropped += arrival.arrived.count
            self._add_late(key, arrival.window, arrival.elements)
        panes.dropped.clear()

    def drop(self, columns: ArrivalColumns) -> None:
        """Add dropped elements, which have one window."""
        (window,) = next(iter(columns.windows))
        self.dropped += columns.count
        if columns.elements:
            for key, elements in zip(columns.keys, columns.elements, strict=True):
                self._add_late(key, window, elements)

    def _add_late(
        self, key: object, window: BoundedWindow, elements: Iterable[Iterable[Element]]
    ) -> None:
        self.late.extend(
            element._replace(value=(key, element.value), windows=(window,))
            for element in chain.from_iterable(elements)
        )

    def __len__(self) -> int:
        """Return the number of panes of keys with full states."""
        return len(self._keys)

    def bundle(self) -> Bundle:
        """Return the panes of keys with full states as (key, value) pairs."""
        return self.panes.bundle(self._keys)
