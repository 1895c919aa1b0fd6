"""Which elements are taken: not those that are too late, nor those whose window has closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from tests.oracle.kept import Places
from tests.oracle.story import Window
from tests.oracle.windows import WindowFn


@attrs.frozen
class Taking:
    """The windows that stand, and what can be asked about one.

    No window that ends later than ``since`` is gone. If the windows are ``handed_on`` to a grouping that
    merges them again, that one knows what there is before the start of those that stand, and no more.

    ``expired`` tells whether a window speaks no more; ``is_done`` whether the trigger is done of a
    window that would come from others, given these and what it would be.
    """

    windows: WindowFn
    standing: frozenset[Window]
    expired: Callable[[Window], bool]
    is_done: Callable[[list[Window], Window], bool]
    since: int
    handed_on: bool

    def taken(self, own: Iterable[Window]) -> set[Window]:
        """Of the own windows of elements that have come together, those that are taken."""
        left = set(own)
        while True:
            taken = self.not_late(left)
            shut = self.shut(taken)
            if not shut:
                return taken
            left -= shut

    def not_late(self, own: set[Window]) -> set[Window]:
        in_time = {w for w in own if not self.expired(w)}
        while late := self.late(in_time):
            in_time -= late
        stand = set(self.become(in_time).values())
        overdue = {w for w in own if self.expired(w)}
        while refused := self.not_joining(overdue, stand):
            overdue -= refused
        return in_time | overdue

    def become(self, own: set[Window]) -> Places:
        return self.windows.merge(self.standing | own)

    def late(self, own: set[Window]) -> set[Window]:
        """Those that become a window that has expired, though none of its sources still spoke."""
        become = self.become(own)
        alive = {become[w] for w in self.standing if not self.expired(w)}
        return {w for w in own if self.expired(become[w]) and become[w] not in alive}

    def not_joining(self, own: set[Window], stand: set[Window]) -> set[Window]:
        """Those that join no window that still speaks, or might reach back to one that is gone."""
        become = self.windows.merge(stand | own)
        taken = set()
        for window in own:
            sources = {w for w in stand if become[w] == become[window]}
            speaks = any(not self.expired(w) for w in sources)
            as_it_is = sources == {become[window]}
            since = min(sources, default=(0, 0))[0] - 1 if self.handed_on else self.since
            reaches_back_to = min(window[0], window[1] - self.windows.reach())
            if speaks and (as_it_is or reaches_back_to > since):
                taken.add(window)
        return own - taken

    def shut(self, own: set[Window]) -> set[Window]:
        """Those whose window is done: of each such window those that would be alone, or else all."""
        become = self.become(own)
        shut: set[Window] = set()
        for target in set(become.values()):
            mine = {w for w in own if become[w] == target and self.meets_done(w, become)}
            shut |= {w for w in mine if self.meets_done(w, self.become({w}))} or mine
        return shut

    def meets_done(self, own: Window, become: Places) -> bool:
        target = become[own]
        sources = sorted(w for w in self.standing if become[w] == target)
        return bool(sources) and self.is_done(sources, target)
