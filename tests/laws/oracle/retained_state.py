"""The state of a key: its elements with their own windows, and the histories of its merged windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from tests.laws.oracle.window_history import MIN, Element, History, Window
from tests.laws.oracle.windows import WindowFn

WindowMap = dict[Window, Window]
"""The merged window of each own window."""

Row = tuple[Window, Element]
"""An element in its own window."""


@attrs.define
class KeyState:
    """The state of a key. The windows of its elements are recomputed from the elements each time.

    The elements with the same own window are a part. If windows ``can_split``, a part exists only while
    retractions have not emptied it. ``former`` holds the histories of windows that no longer exist;
    ``horizon`` is the latest end of all forgotten windows. ``dropped`` holds the elements that were dropped,
    if the input is ``changing`` and windows merge.
    """

    windows: WindowFn
    contents: Any
    can_split: bool
    changing: bool
    rows: list[Row] = attrs.field(factory=list)
    histories: dict[Window, History] = attrs.field(factory=dict)
    closed: set[Window] = attrs.field(factory=set)
    former: dict[Window, History] = attrs.field(factory=dict)
    horizon: int = MIN
    dropped: list[Row] = attrs.field(factory=list)

    def window_map(self) -> WindowMap:
        """The merged window of each existing part."""
        own = {window for window, _ in self.rows}
        return self.windows.merge({w for w in own if not self.can_split or self.is_present(w)})

    def is_present(self, own: Window) -> bool:
        return not self.contents.is_empty(part(self.rows, own))

    def would_exist(self, own: Window, rows: list[Row], in_time: bool) -> bool:
        """Whether a part exists, or would exist with some more elements.

        Elements in time that only cancel unmatched retractions make no part; late ones are lost.
        """
        if not self.can_split or self.is_present(own):
            return True
        is_empty = self.contents.is_empty
        waiting = part(self.rows, own) if in_time else []
        return not (is_empty(part(rows, own)) or is_empty([*waiting, *part(rows, own)]))

    def takes_back(self, own: Window, rows: list[Row]) -> bool:
        """Whether some more elements retract those that were dropped from their own window."""
        held = part(self.rows, own) if self.can_split else []
        return self.contents.takes_back(part(self.dropped, own), held, part(rows, own))

    def drop(self, rows: list[Row]) -> None:
        """Keep elements that were dropped."""
        if self.changing and self.windows.merges():
            self.dropped += rows

    def elements(self, window: Window) -> list[Element]:
        """All elements of a window."""
        window_map = self.window_map()
        return [e for own, e in self.rows if window_map.get(own) == window]

    def forget(self, gone: Callable[[Window], bool]) -> None:
        """Remove windows with all their elements, and retractions without a matching insertion."""
        window_map = self.window_map()
        self.horizon = max([self.horizon, *(w[1] for w in self.histories if gone(w))])
        self.rows = [(own, e) for own, e in self.rows if not gone(window_map.get(own, own))]
        self.histories = {w: s for w, s in self.histories.items() if not gone(w)}
        self.former = {w: s for w, s in self.former.items() if not gone(w)}
        self.closed &= self.histories.keys()
        self.dropped = [(own, e) for own, e in self.dropped if not gone(own)]

    def check(self) -> None:
        """Check that the windows with a history are those with elements."""
        assert set(self.window_map().values()) == self.histories.keys()


def part(rows: list[Row], own: Window) -> list[Element]:
    return [e for window, e in rows if window == own]


@attrs.frozen
class Change:
    """The merged windows of the parts before and after an arrival; new and removed parts are in one only."""

    before: WindowMap
    after: WindowMap

    @property
    def remaining(self) -> WindowMap:
        """The former windows of the parts that still exist."""
        return {p: w for p, w in self.before.items() if p in self.after}

    def sources(self, window: Window) -> set[Window]:
        """The former windows that a window results from."""
        return {w for p, w in self.remaining.items() if self.after[p] == window}

    def successors(self, window: Window) -> set[Window]:
        """The windows that result from a former window."""
        return {self.after[p] for p, w in self.remaining.items() if w == window}

    def in_place(self, window: Window) -> bool:
        """Whether a window existed before and is neither merged nor split."""
        there = window in self.before.values() and window in self.after.values()
        return there and self.sources(window) <= {window} and self.successors(window) <= {window}

    def new(self) -> list[Window]:
        """The windows that are new, merged or split."""
        return sorted(w for w in set(self.after.values()) if not self.in_place(w))

    def old(self) -> list[Window]:
        """The former windows that are gone, merged or split."""
        return sorted(w for w in set(self.before.values()) if not self.in_place(w))
