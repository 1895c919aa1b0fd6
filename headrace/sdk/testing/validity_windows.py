"""A window function of one's own, whose windows shrink: each value is valid until the next."""

from __future__ import annotations

from itertools import pairwise

import attrs

from headrace.windowing.time import Duration
from headrace.windowing.window import GLOBAL_END_MICROS, BoundedWindow, IntervalWindow, interval
from headrace.windowing.window_fn import WindowFn


@attrs.frozen
class ValidityWindows(WindowFn):
    """From an element's own time to that of the next one of its key, the last for good.

    >>> ValidityWindows().assign(WindowFn.AssignContext(9))
    [[9.0, 9223371950454.775)]
    """

    def assign(self, context: WindowFn.AssignContext) -> list[BoundedWindow]:
        """Return the window from the element's time on."""
        return [_for_good(context.timestamp.micros)]

    def reach(self) -> Duration:
        """Return one microsecond: a window meets the one that ends where it starts, and none before."""
        return Duration(micros=1)

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        """Let each window end where the next one starts."""
        starts = sorted({window[0] for window in merge_context.windows})
        shorter = [interval(start, end) for start, end in pairwise(starts)]
        for window in [*shorter, *map(_for_good, starts[-1:])]:
            same = [other for other in merge_context.windows if other[0] == window[0]]
            merge_context.merge(same, window)


def _for_good(start: int) -> IntervalWindow:
    return interval(start, max(GLOBAL_END_MICROS, start + 1))
