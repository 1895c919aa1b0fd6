"""The windowing strategy of a collection: where, when and how its groupings work."""

from __future__ import annotations

import attrs

from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.time import MAX_MICROS, duration_micros
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn
from headrace.windowing.windows import GlobalWindows


@attrs.frozen
class WindowingStrategy:
    """Everything that a grouping has to know about where, when and how.

    Attributes:
        window_fn: assigns and merges windows.
        trigger: when panes go out.
        accumulation_mode: how a pane relates to the ones before.
        allowed_lateness: microseconds for which a window lives on behind the watermark.
        timestamp_combiner: the timestamp of a pane.
        on_time: whether an empty ON_TIME pane goes out.
        closing: whether an empty last pane goes out.
        late_tag: name of the output for elements that came too late, or None.
        reach: microseconds for which a merging window that has expired is kept (:meth:`WindowFn.reach`).

    >>> WindowingStrategy().trigger
    DefaultTrigger()
    """

    window_fn: WindowFn = attrs.field(factory=GlobalWindows)
    trigger: Trigger = attrs.field(factory=DefaultTrigger)
    accumulation_mode: AccumulationMode = AccumulationMode.DISCARDING
    allowed_lateness: int = 0
    timestamp_combiner: TimestampCombiner = TimestampCombiner.OUTPUT_AT_EOW
    on_time: OnTimeBehavior = OnTimeBehavior.FIRE_ALWAYS
    closing: ClosingBehavior = ClosingBehavior.FIRE_IF_NON_EMPTY
    late_tag: str | None = None
    reach: int = attrs.field(init=False, eq=False, repr=False)

    @reach.default
    def _reach(self) -> int:
        return duration_micros(self.window_fn.reach()) if self.window_fn.is_merging() else 0

    @property
    def stamps_all(self) -> bool:
        """Whether the timestamp of a pane follows from all that it holds, not from its window or news."""
        retracting = self.accumulation_mode is AccumulationMode.RETRACTING
        return retracting and self.timestamp_combiner is not TimestampCombiner.OUTPUT_AT_EOW

    def expiry(self, last: int) -> int:
        """Return the watermark at which a window with this last instant takes no more elements.

        Both are in microseconds.
        """
        return min(last + self.allowed_lateness + 1, MAX_MICROS)

    def gone(self, last: int) -> int:
        """Return the watermark at which no element can merge with a window any more, in microseconds.

        An element that is not late may still reach a window that has expired (:meth:`WindowFn.reach`).
        """
        return min(last + self.allowed_lateness + 1 + self.reach, MAX_MICROS)

    def output_time(self, last: int, earliest: int, latest: int) -> int:
        """Return the timestamp of a pane of elements between two timestamps, in microseconds."""
        return self.timestamp_combiner.output_time(last, earliest, latest)
