"""A window function of one's own, whose windows grow: near ones become one that covers them."""

from __future__ import annotations

import attrs

from headrace.windowing.time import MAX_MICROS, Duration, positive
from headrace.windowing.window import BoundedWindow, interval
from headrace.windowing.window_fn import WindowFn


@attrs.frozen
class LinkedWindows(WindowFn):
    """A window of some size for each element; windows that overlap or lie near each other become one.

    The window that they become covers them and what lies between them. Windows that are just as far apart
    as ``near`` still merge.

    Args:
        size: seconds, timedelta or Duration: how long the window of an element is.
        near: seconds, timedelta or Duration: the longest distance between windows that merge.

    >>> LinkedWindows(3, 2).assign(WindowFn.AssignContext(9))
    [[9.0, 12.0)]
    """

    size: Duration = attrs.field(converter=positive)
    near: Duration = attrs.field(converter=positive)

    def assign(self, context: WindowFn.AssignContext) -> list[BoundedWindow]:
        """Return the window that starts with the element."""
        start = min(context.timestamp.micros, MAX_MICROS - 1)
        return [interval(start, min(start + self.size.micros, MAX_MICROS))]

    def reach(self) -> Duration:
        """Return the size and the distance: another window may end so long before that of an element."""
        return Duration(micros=self.size.micros + self.near.micros)

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        """Merge the windows that are linked, directly or through others."""
        linked: list[BoundedWindow] = []
        end = 0
        for window in sorted(merge_context.windows):
            if linked and window[0] > end + self.near.micros:
                merge_context.merge(linked, interval(linked[0][0], end))
                linked = []
            end = max(end, window[1]) if linked else window[1]
            linked.append(window)
        if linked:
            merge_context.merge(linked, interval(linked[0][0], end))
