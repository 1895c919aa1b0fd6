"""The contents of live windows: updated as elements arrive, or computed from parts.

The content of a window that has split is None until a pane needs it; then it is computed from its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import attrs

from headrace.grouping.pane_output import Arrival
from headrace.grouping.reduction import Content, Reduction
from headrace.grouping.state.key_state import KeyState, WindowState
from headrace.grouping.state.parts import Parts
from headrace.windowing.window import BoundedWindow


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
        if state.content is None and self.can_split:
            state.content = self._from_parts(key, window)
        return state.content

    def add(self, state: WindowState, change: Content) -> None:
        """Merge a change into the content of a live window; the change must not be used afterwards."""
        if state.content is not None or not self.can_split:
            state.content = self.reduction.merge(state.content, change)

    def remove(self, key: KeyState, state: WindowState, removal: Arrival) -> None:
        """Remove a part from the content of a live window, given the retractions that made it absent.

        If the part keeps an unmatched retraction, that leaves the window, too.
        """
        if removal.window in key.parts:
            state.content = None
        else:
            self.add(state, removal.content)

    def merged(self, states: Sequence[WindowState], whole: bool) -> Content:
        """Return the content of a window that replaces others, which may be only parts of these."""
        contents = [state.content for state in states]
        if self.can_split and not (whole and all(content is not None for content in contents)):
            return None
        return reduce(self.reduction.merge, contents)

    def joins(self, key: KeyState, arrival: Arrival, in_time: bool) -> bool:
        """Return whether the part of an arrival is present, or becomes present with it.

        An arrival that holds only retractions makes no part present, so it joins no window; nor does one in
        time whose values only cancel unmatched retractions.
        """
        if key.parts.is_present(arrival.window):
            return True
        content, is_empty = arrival.content, self.reduction.is_empty
        unmatched = key.parts.content(arrival.window) if in_time else None
        if unmatched is None or is_empty(content):
            return not is_empty(content)
        copied = self.reduction.copy
        return not is_empty(self.reduction.merge(copied(unmatched), copied(content)))

    def takes_back(self, key: KeyState, arrival: Arrival) -> bool:
        """Return whether an arrival retracts values that were dropped from its window."""
        dropped = key.dropped.get(arrival.window)
        if dropped is None:
            return False
        held = key.parts.content(arrival.window)
        held = self.reduction.empty() if held is None else held
        return self.reduction.takes_back(dropped, held, arrival.content, arrival.arrived.count)

    def keep_dropped(self, key: KeyState, arrival: Arrival) -> bool:
        """Add what was dropped to that of its window; return whether something is kept there."""
        window, content = arrival.window, arrival.content
        before = key.dropped.pop(window, None)
        after = content if before is None else self.reduction.merge(before, content)
        if self.reduction.can_forget(after):
            return False
        key.dropped[window] = after
        return True

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
