"""A custom window function whose windows shrink: each value is valid until the next one."""

from __future__ import annotations

from itertools import pairwise

import attrs

from headrace.windowing.time.timestamps import Duration
from headrace.windowing.window import GLOBAL_END_MICROS, BoundedWindow, IntervalWindow, interval
from headrace.windowing.window_fn import WindowFn


@attrs.frozen
class ValidityWindows(WindowFn):
    """Windows from an element's timestamp to the timestamp of the next element of its key, if there is one.

    >>> ValidityWindows().assign(WindowFn.AssignContext(9))
    [[9.0, 9223371950454.775)]
    """

    def assign(self, context: WindowFn.AssignContext) -> list[BoundedWindow]:
        """Return the window from the element's timestamp to the end of the global window."""
        return [_open_ended(context.timestamp.micros)]

    def reach(self) -> Duration:
        """Return 1 microsecond: a window affects the one that ends at its start, but no earlier one."""
        return Duration(micros=1)

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        """End each window at the start of the next one."""
        starts = sorted({window[0] for window in merge_context.windows})
        shorter = [interval(start, end) for start, end in pairwise(starts)]
        for window in [*shorter, *map(_open_ended, starts[-1:])]:
            same = [other for other in merge_context.windows if other[0] == window[0]]
            merge_context.merge(same, window)


def _open_ended(start: int) -> IntervalWindow:
    return interval(start, max(GLOBAL_END_MICROS, start + 1))
