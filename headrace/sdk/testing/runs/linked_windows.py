"""A custom window function whose windows grow: windows close to each other merge."""

from __future__ import annotations

import attrs

from headrace.windowing.time.timestamps import MAX_MICROS, Duration, positive
from headrace.windowing.window import BoundedWindow, interval
from headrace.windowing.window_fn import WindowFn


@attrs.frozen
class LinkedWindows(WindowFn):
    """One window of a fixed size per element; windows that overlap or are close to each other merge.

    The merged window covers them and the gap between them. Windows whose distance is exactly ``near``
    still merge.

    Args:
        size: the size of an element's window: seconds, timedelta or Duration.
        near: the longest distance between windows that merge: seconds, timedelta or Duration.

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
        """Return size plus distance: an element's window can merge with one that ends this much earlier."""
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
