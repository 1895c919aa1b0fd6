"""The contents of live windows: updated as elements arrive, or computed from parts.

The content of a window that has split is unknown; it is computed from its parts when a pane needs it.
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
"""The content of a window that must be computed from its parts."""


@attrs.frozen
class Contents:
    """The contents of one grouping's windows.

    Attributes:
        reduction: what panes hold.
        can_split: whether windows can split, so that their parts are kept.
        sessions: whether windows merge if they overlap; the parts of a window are then contiguous.
    """

    reduction: Reduction
    can_split: bool
    sessions: bool

    def of(self, key: KeyState, window: BoundedWindow) -> Content:
        """Return the content of a live window."""
        state = key.windows[window]
        if self.can_split and state.content is UNKNOWN:
            state.content = self._from_parts(key, window)
        return state.content

    def add(self, state: WindowState, change: Content) -> None:
        """Merge a change into the content of a live window; the change must not be used afterwards."""
        if state.content is not UNKNOWN:
            state.content = self.reduction.merge(state.content, change)

    def joins(self, key: KeyState, arrival: Arrival) -> bool:
        """Return whether the part of an arrival is present, or becomes present with it.

        An arrival that holds only retractions makes no part present, so it joins no window.
        """
        present = key.parts.is_present(arrival.window)
        return present or not self.reduction.is_empty(arrival.content)

    def _from_parts(self, key: KeyState, window: BoundedWindow) -> Content:
        if self.sessions:
            return key.parts.total((window[0],), (window[1],), self.reduction)
        return key.parts.sum(self.parts(key, window), self.reduction)

    def parts(self, key: KeyState, window: BoundedWindow) -> list[BoundedWindow]:
        """Return the parts of a live window."""
        if self.sessions:
            return list(key.parts.present((window[0],), (window[1],)))
        return [part for part, owner in key.window_of_part.items() if owner == window]

    def drop(self, key: KeyState, window: BoundedWindow) -> None:
        """Remove the parts of a window that is closed."""
        if self.can_split:
            parts: Parts = key.parts
            for part in self.parts(key, window):
                parts.drop([part])
                key.window_of_part.pop(part, None)
            parts.forget(window)
