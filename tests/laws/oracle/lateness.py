"""Decides which elements are late: those of expired windows, and of windows whose trigger has finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from tests.laws.oracle.retained_state import WindowMap
from tests.laws.oracle.window_history import Window
from tests.laws.oracle.windows import WindowFn


@attrs.frozen
class LatenessRule:
    """The active windows of a key, and what the rule needs to know about a window.

    Attributes:
        windows: the window function.
        active: the windows of the key that are not forgotten.
        expired: whether a window has expired.
        is_done: whether the trigger of a window is finished, given its source windows and the window itself.
        horizon: the latest end of all forgotten windows.
        windows_inherited: whether the next grouping keeps and merges these windows; it knows nothing of
            windows before the start of the active ones.
    """

    windows: WindowFn
    active: frozenset[Window]
    expired: Callable[[Window], bool]
    is_done: Callable[[list[Window], Window], bool]
    horizon: int
    windows_inherited: bool

    def accepted(self, own: Iterable[Window]) -> set[Window]:
        """The own windows of elements that arrived together, without those of late elements."""
        remaining = set(own)
        while True:
            accepted = self.without_late(remaining)
            finished = self.finished(accepted)
            if not finished:
                return accepted
            remaining -= finished

    def without_late(self, own: set[Window]) -> set[Window]:
        in_time = {w for w in own if not self.expired(w)}
        while late := self.late(in_time):
            in_time -= late
        survivors = set(self.merged(in_time).values())
        expired_windows = {w for w in own if self.expired(w)}
        while refused := self.without_partner(expired_windows, survivors):
            expired_windows -= refused
        return in_time | expired_windows

    def merged(self, own: set[Window]) -> WindowMap:
        return self.windows.merge(self.active | own)

    def late(self, own: set[Window]) -> set[Window]:
        """Own windows whose merged window has expired, though none of its sources was unexpired."""
        merged = self.merged(own)
        unexpired = {merged[w] for w in self.active if not self.expired(w)}
        return {w for w in own if self.expired(merged[w]) and merged[w] not in unexpired}

    def without_partner(self, own: set[Window], survivors: set[Window]) -> set[Window]:
        """Own windows that merge with no unexpired window, or might overlap a forgotten one."""
        merged = self.windows.merge(survivors | own)
        accepted = set()
        for window in own:
            sources = {w for w in survivors if merged[w] == merged[window]}
            unexpired = any(not self.expired(w) for w in sources)
            unchanged = sources == {merged[window]}
            horizon = (
                min(sources, default=(0, 0))[0] - 1 if self.windows_inherited else self.horizon
            )
            earliest = min(window[0], window[1] - self.windows.reach())
            if unexpired and (unchanged or earliest > horizon):
                accepted.add(window)
        return own - accepted

    def finished(self, own: set[Window]) -> set[Window]:
        """Own windows whose merged window is finished; first those that are by themselves, else all."""
        merged = self.merged(own)
        finished: set[Window] = set()
        for target in set(merged.values()):
            mine = {w for w in own if merged[w] == target and self.joins_finished(w, merged)}
            finished |= {w for w in mine if self.joins_finished(w, self.merged({w}))} or mine
        return finished

    def joins_finished(self, own: Window, merged: WindowMap) -> bool:
        target = merged[own]
        sources = sorted(w for w in self.active if merged[w] == target)
        return bool(sources) and self.is_done(sources, target)
