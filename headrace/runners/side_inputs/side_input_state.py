"""The state of a node with side inputs: the content of side windows, and the elements that wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any, TypeAlias

import attrs

from headrace.grouping.bundle import INSERT, Bundle
from headrace.runners.contents.side_input_files import SideInputFiles, ValuesFile
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.coders.stored.data import dumps_by_name, loads
from headrace.triggers.pane import PaneInfo
from headrace.triggers.refinement import AccumulationMode
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.window import BoundedWindow

SideWindow: TypeAlias = tuple[int, BoundedWindow]
"""A window of a side input: the number of the side input, and the window."""

NeededWindows: TypeAlias = tuple[BoundedWindow | None, ...]
"""The window of each side input that an element needs; None if there is none."""


@attrs.define(eq=False)
class SideContent:
    """The values of a window of a side input.

    A pane that is accumulating replaces them. Other panes add values, and retractions remove them. A
    retraction that arrives before its value is kept until the value arrives, so the order of arrival does not
    matter.

    Values of large panes stay in their files. A retraction of such a pane removes the name of the file; only
    other retractions need to read it.

    Attributes:
        files: the files of the run; None if all values are kept here.
        data: the pickled values and unmatched retractions; None if they have changed since.
        index: the number of the latest accumulating pane.
        stored: files with values, in addition to those that are kept here. No unmatched retraction is of one
            of these.
        version: changes with the content, in this process.
    """

    files: SideInputFiles | None = None
    data: bytes | None = None
    index: int = -1
    stored: tuple[ValuesFile, ...] = ()
    version: int = 0
    _values: list[object] = attrs.field(factory=list)
    _unmatched: Counter[bytes] = attrs.field(factory=Counter)
    _shared: bool = attrs.field(default=False, init=False)

    @property
    def values(self) -> list[Any]:
        """The values; a later change makes a new list."""
        self._read()
        if len(self.stored) == 1 and not self._values:
            return self._in_file(self.stored[0])
        if self.stored:
            return [*self._in_files(), *self._values]
        self._shared = True
        return self._values

    @property
    def identity(self) -> tuple[Any, ...] | None:
        """What is equal only for equal contents of different key groups; None if it is not known."""
        return None if self.data is None else (self.stored, self.data)

    @property
    def bytes_in_files(self) -> int:
        """The size of the values that are in files."""
        return sum(file.size for file in self.stored)

    def add(
        self,
        values: Iterable[object] | ValuesFile,
        pane: PaneInfo,
        diff: int,
        mode: AccumulationMode,
    ) -> None:
        """Add a pane, whose values may be in a file."""
        if mode is AccumulationMode.ACCUMULATING:
            if pane.index <= self.index:
                return
            self._clear()
            self.index, diff = pane.index, INSERT
        self._read()
        if isinstance(values, ValuesFile):
            self._add_file(values, diff)
        else:
            self._add_values(values, diff)
        self.version += 1

    def pack(self) -> None:
        """Pickle the values that have changed; move them to a file if they have become large."""
        if self.data is None:
            self.data = dumps_by_name((self._values, self._unmatched))
        if self.files is None or self.data is None or len(self.data) <= self.files.limit:
            return
        self._read()
        file = self.files.stored(self._values) if self._values else None
        if file is not None:
            self.stored = *self.stored, file
            self._values, self._shared = [], False
            self.data = dumps_by_name((self._values, self._unmatched))

    def freeze(self) -> tuple[Any, ...]:
        """Return the content as plain data; what has not changed is not pickled again."""
        self.pack()
        if self.data is None:
            return None, self.index, self.stored, (self._values, self._unmatched)
        return self.data, self.index, self.stored, None

    @staticmethod
    def thaw(frozen: tuple[Any, ...], files: SideInputFiles | None = None) -> SideContent:
        """Return the content that :meth:`freeze` stored; values are read on access."""
        data, index, stored, parts = frozen
        values, unmatched = parts or ([], Counter())
        return SideContent(files, data, index, stored, -1 if data else 0, values, unmatched)

    def _clear(self) -> None:
        self.data, self.stored, self.version = None, (), max(self.version, 0)
        self._values, self._unmatched, self._shared = [], Counter(), False

    def _read(self) -> None:
        if self.version < 0:
            assert self.data is not None
            self._values, self._unmatched = loads(self.data)
            self.version = 0

    def _add_file(self, file: ValuesFile, diff: int) -> None:
        if diff == INSERT and not self._unmatched:
            self.stored = *self.stored, file
        elif diff != INSERT and file in self.stored:
            at = self.stored.index(file)
            self.stored = self.stored[:at] + self.stored[at + 1 :]
        else:
            self._add_values(self._in_file(file), diff)

    def _add_values(self, values: Iterable[object], diff: int) -> None:
        if diff == INSERT:
            self._insert(values)
        else:
            self._remove(values)
        self.data = None

    def _insert(self, values: Iterable[object]) -> None:
        if self._shared:
            self._values, self._shared = self._values.copy(), False
        self._values.extend(_without(values, self._unmatched) if self._unmatched else values)
        self._unmatched = +self._unmatched

    def _remove(self, values: Iterable[object]) -> None:
        everything = chain(self._in_files(), self._values)
        self._unmatched.update(map(encode_value, values))
        self._values, self._shared = list(_without(everything, self._unmatched)), False
        self._unmatched = +self._unmatched
        self.stored = ()

    def _in_files(self) -> Iterator[object]:
        return chain.from_iterable(map(self._in_file, self.stored))

    def _in_file(self, file: ValuesFile) -> list[Any]:
        assert self.files is not None
        return self.files.values(file)


def _without(values: Iterable[object], retracted: Counter[bytes]) -> Iterator[object]:
    """Yield the values that are not retracted; each other one reduces the count of its retractions."""
    for value in values:
        code = encode_value(value)
        if retracted[code] > 0:
            retracted[code] -= 1
        else:
            yield value


@attrs.define(eq=False)
class Waiting:
    """Elements that wait for the same side windows.

    Attributes:
        bundles: the elements.
        hold: their earliest timestamp, which the output watermark must not pass.
        key_holds: the watermarks at which they hold their keys, by encoding, for a stateful DoFn.
    """

    bundles: list[Bundle] = attrs.field(factory=list)
    hold: int = MAX_MICROS
    key_holds: dict[bytes, int] = attrs.field(factory=dict)

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

    contents: dict[SideWindow, SideContent] = attrs.field(factory=dict)
    waiting: dict[NeededWindows, Waiting] = attrs.field(factory=dict)
