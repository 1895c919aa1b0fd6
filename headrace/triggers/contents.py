"""What live windows hold: kept up to date as elements come, or found again from parts.

A window that has come apart has no content at first; it is put together when a pane needs it.
"""

from __future__ import annotations

from typing import Final

import attrs

from headrace.triggers.key_state import KeyState, WindowState
from headrace.triggers.pane_output import Arrival
from headrace.triggers.parts import Parts
from headrace.triggers.reduction import Content, Reduction
from headrace.windowing.window import BoundedWindow

UNKNOWN: Final = None
"""The content of a window that has to be put together from its parts."""


@attrs.frozen
class Contents:
    """The contents of one grouping's windows.

    Attributes:
        reduction: what panes hold.
        parted: whether windows can come apart, so that their parts are kept.
        sessions: whether the parts of a window follow each other, and no others lie between them.
    """

    reduction: Reduction
    parted: bool
    sessions: bool

    def of(self, key: KeyState, window: BoundedWindow) -> Content:
        """Return what a live window holds."""
        state = key.windows[window]
        if self.parted and state.content is UNKNOWN:
            state.content = self._from_parts(key, window)
        return state.content

    def add(self, state: WindowState, change: Content) -> None:
        """Add to what a live window holds; the change is used up."""
        if state.content is not UNKNOWN:
            state.content = self.reduction.merge(state.content, change)

    def joins(self, key: KeyState, arrival: Arrival) -> bool:
        """Tell whether the part of an arrival is present, or will be; a mere retraction joins nothing."""
        present = key.parts.shows(arrival.window)
        return present or not self.reduction.is_empty(arrival.content)

    def _from_parts(self, key: KeyState, window: BoundedWindow) -> Content:
        if self.sessions:
            return key.parts.total((window[0],), (window[1],), self.reduction)
        return key.parts.sum(self.parts(key, window), self.reduction)

    def parts(self, key: KeyState, window: BoundedWindow) -> list[BoundedWindow]:
        """Return the parts of a live window."""
        if self.sessions:
            return list(key.parts.present((window[0],), (window[1],)))
        return [part for part, home in key.homes.items() if home == window]

    def drop(self, key: KeyState, window: BoundedWindow) -> None:
        """Forget the parts of a window that is gone."""
        if self.parted:
            parts: Parts = key.parts
            for part in self.parts(key, window):
                parts.drop([part])
                key.homes.pop(part, None)
            parts.forget(window)
