"""What is kept of a key: its elements, each in a window of its own, and the stories of its windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from tests.oracle.story import MIN, Element, Story, Window
from tests.oracle.windows import WindowFn

Places = dict[Window, Window]
"""In which window that stands an own window lies."""

Row = tuple[Window, Element]
"""An element in its own window."""


@attrs.define
class Kept:
    """A key. Where its elements lie is found out from the elements alone, each time.

    The elements of one own window are a part. If windows can come ``apart``, only the parts stand that
    retractions have left something of. No window that ends later than ``since`` is gone.
    """

    windows: WindowFn
    contents: Any
    apart: bool
    rows: list[Row] = attrs.field(factory=list)
    stories: dict[Window, Story] = attrs.field(factory=dict)
    closed: set[Window] = attrs.field(factory=set)
    ceased: dict[Window, Story] = attrs.field(factory=dict)
    since: int = MIN

    def places(self) -> Places:
        """Where the parts lie that stand."""
        own = {window for window, _ in self.rows}
        return self.windows.merge({w for w in own if not self.apart or self.is_present(w)})

    def is_present(self, own: Window) -> bool:
        return not self.contents.vanished(part(self.rows, own))

    def would_stand(self, own: Window, rows: list[Row]) -> bool:
        """Whether a part stands, or would if some elements came alone."""
        stands = not self.apart or self.is_present(own)
        return stands or not self.contents.vanished(part(rows, own))

    def elements(self, window: Window) -> list[Element]:
        """All elements that a window holds."""
        places = self.places()
        return [e for own, e in self.rows if places.get(own) == window]

    def forget(self, gone: Callable[[Window], bool]) -> None:
        """Let windows go with all their elements, and debts that nobody has paid."""
        places = self.places()
        self.since = max([self.since, *(w[1] for w in self.stories if gone(w))])
        self.rows = [(own, e) for own, e in self.rows if not gone(places.get(own, own))]
        self.stories = {w: s for w, s in self.stories.items() if not gone(w)}
        self.ceased = {w: s for w, s in self.ceased.items() if not gone(w)}
        self.closed &= self.stories.keys()

    def check(self) -> None:
        """Windows that have a story are those in which elements lie."""
        assert set(self.places().values()) == self.stories.keys()


def part(rows: list[Row], own: Window) -> list[Element]:
    return [e for window, e in rows if window == own]


@attrs.frozen
class Change:
    """Where parts lay before elements came, and where they lie now; a part that was not there, or that
    is not there any more, leads from nowhere to nowhere."""

    before: Places
    after: Places

    @property
    def stay(self) -> Places:
        """Where those parts lay before that are still there."""
        return {p: w for p, w in self.before.items() if p in self.after}

    def sources(self, window: Window) -> set[Window]:
        """The windows that a window comes from."""
        return {w for p, w in self.stay.items() if self.after[p] == window}

    def heirs(self, window: Window) -> set[Window]:
        """The windows that come from a window."""
        return {self.after[p] for p, w in self.stay.items() if w == window}

    def in_place(self, window: Window) -> bool:
        """Whether a window was there before, and has nothing to do with any other."""
        there = window in self.before.values() and window in self.after.values()
        return there and self.sources(window) <= {window} and self.heirs(window) <= {window}

    def new(self) -> list[Window]:
        """The windows that do not just go on."""
        return sorted(w for w in set(self.after.values()) if not self.in_place(w))

    def old(self) -> list[Window]:
        """The windows that have not just gone on."""
        return sorted(w for w in set(self.before.values()) if not self.in_place(w))
