"""A window function of one's own, whose windows shrink: each value is valid until the next."""

from __future__ import annotations

from itertools import pairwise

import attrs

from headrace.windowing.window import GLOBAL_END_MICROS, interval
from headrace.windowing.window_fn import WindowFn


@attrs.frozen
class ValidityWindows(WindowFn):
    """From an element's own time to that of the next one of its key, the last for good."""

    def assign(self, context: WindowFn.AssignContext) -> list:
        return [interval(context.timestamp.micros, GLOBAL_END_MICROS)]

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        starts = sorted({window[0] for window in merge_context.windows})
        for start, end in pairwise([*starts, GLOBAL_END_MICROS]):
            same = [window for window in merge_context.windows if window[0] == start]
            merge_context.merge(same, interval(start, end))
