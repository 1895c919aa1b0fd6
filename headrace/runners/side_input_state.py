"""The state of a node with side inputs: the content of side windows, and the elements that wait for it."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, TypeAlias

import attrs

from headrace.sdk.encoding import encode_value
from headrace.triggers.bundle import INSERT, Bundle
from headrace.triggers.pane import PaneInfo
from headrace.triggers.refinement import AccumulationMode
from headrace.windowing.time import MAX_MICROS
from headrace.windowing.window import BoundedWindow

SideWindow: TypeAlias = tuple[int, BoundedWindow]
"""A window of a side input: the number of the side input, and the window."""

Needs: TypeAlias = tuple[BoundedWindow | None, ...]
"""The window of each side input that an element needs; None if there is none."""


@attrs.define(eq=False)
class Content:
    """The values of a window of a side input.

    A pane that is accumulating replaces them. Other panes add values, and retractions remove them. A
    retraction that arrives before its value is kept until the value arrives, so the order of arrival does not
    matter.

    Attributes:
        data: the pickled values and unmatched retractions; None if they have changed since.
        index: the number of the latest accumulating pane.
        version: changes with the content, in this process.
    """

    data: bytes | None = None
    index: int = -1
    version: int = 0
    _values: list[Any] = attrs.field(factory=list)
    _unmatched: Counter[bytes] = attrs.field(factory=Counter)
    _shared: bool = attrs.field(default=False, init=False)

    @property
    def values(self) -> list[Any]:
        """The values; a later change makes a new list."""
        self._read()
        self._shared = True
        return self._values

    def add(self, values: Iterable[Any], pane: PaneInfo, diff: int, mode: AccumulationMode) -> None:
        """Add a pane."""
        if mode is AccumulationMode.ACCUMULATING and pane.index <= self.index:
            return
        self._read()
        if mode is AccumulationMode.ACCUMULATING:
            self._values, self.index, self._shared = list(values), pane.index, False
        elif diff == INSERT:
            self._insert(values)
        else:
            self._remove(values)
        self.data = None
        self.version += 1

    def _insert(self, values: Iterable[Any]) -> None:
        if self._shared:
            self._values, self._shared = self._values.copy(), False
        self._values.extend(_without(values, self._unmatched) if self._unmatched else values)
        self._unmatched = +self._unmatched

    def _remove(self, values: Iterable[Any]) -> None:
        self._unmatched.update(map(encode_value, values))
        self._values, self._shared = list(_without(self._values, self._unmatched)), False
        self._unmatched = +self._unmatched

    def freeze(self) -> tuple[Any, ...]:
        """Return the content as plain data; what has not changed is not pickled again."""
        if self.data is None:
            self.data = _pickled((self._values, self._unmatched))
        if self.data is None:
            return None, self.index, (self._values, self._unmatched)
        return self.data, self.index, None

    @staticmethod
    def thaw(frozen: tuple[Any, ...]) -> Content:
        """Return the content that :meth:`freeze` stored; values are read on access."""
        data, index, parts = frozen
        values, unmatched = parts or ([], Counter())
        return Content(data, index, -1 if data else 0, values, unmatched)

    def _read(self) -> None:
        if self.version < 0:
            assert self.data is not None
            self._values, self._unmatched = pickle.loads(self.data)
            self.version = 0


def _without(values: Iterable[Any], retracted: Counter[bytes]) -> Iterator[Any]:
    """Yield the values that are not retracted; each other one reduces the count of its retractions."""
    for value in values:
        code = encode_value(value)
        if retracted[code] > 0:
            retracted[code] -= 1
        else:
            yield value


def _pickled(parts: Any) -> bytes | None:
    """Return pickled data; None if that needs the pickler of the runner."""
    try:
        return pickle.dumps(parts, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


@attrs.define(eq=False)
class Waiting:
    """Elements that wait for the same side windows.

    Attributes:
        bundles: the elements.
        hold: their earliest timestamp, which the output watermark must not pass.
    """

    bundles: list[Bundle] = attrs.field(factory=list)
    hold: int = MAX_MICROS

    def add(self, bundle: Bundle) -> None:
        """Add elements."""
        stamps = bundle.timestamps
        earliest = next(stamps) if isinstance(stamps, repeat) else min(stamps)
        self.hold = min(self.hold, earliest)
        self.bundles.append(bundle)


@attrs.define(eq=False)
class GateState:
    """The state of a node with side inputs in one key group.

    Attributes:
        contents: the content of each side window that has one.
        waiting: the elements that wait, by the side windows that they need.
    """

    contents: dict[SideWindow, Content] = attrs.field(factory=dict)
    waiting: dict[Needs, Waiting] = attrs.field(factory=dict)
