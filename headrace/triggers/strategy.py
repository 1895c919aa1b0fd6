"""The windowing strategy of a collection: where, when and how it is grouped."""

from __future__ import annotations

import attrs

from headrace.triggers.refinement import (
    AccumulationMode,
    ClosingBehavior,
    OnTimeBehavior,
    member_of,
)
from headrace.triggers.trigger import Trigger, check_is_trigger
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.time.timestamps import MAX_MICROS, duration_micros
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window_fn import WindowFn, fact, reach_is_known
from headrace.windowing.windows import GlobalWindows


def _is_trigger(strategy: object, attribute: object, trigger: object) -> None:
    check_is_trigger(trigger, "the windowing strategy")


def _mode(given: object) -> AccumulationMode:
    return member_of(AccumulationMode, given)


def _combiner(given: object) -> TimestampCombiner:
    return member_of(TimestampCombiner, given)


def _on_time(given: object) -> OnTimeBehavior:
    return member_of(OnTimeBehavior, given)


def _closing(given: object) -> ClosingBehavior:
    return member_of(ClosingBehavior, given)


@attrs.frozen
class WindowingStrategy:
    """Where, when and how a collection is grouped.

    Attributes:
        window_fn: assigns and merges windows.
        trigger: when a window fires.
        accumulation_mode: how a pane relates to the panes before it.
        allowed_lateness: how long a window still takes elements after its end, in microseconds.
        timestamp_combiner: the rule for the timestamp of a pane.
        on_time: whether an empty ON_TIME pane is fired.
        closing: whether an empty last pane is fired.
        late_tag: tag of the output for dropped late elements, or None.
        reach: how long a merging window is retained after it expired, in microseconds
            (:meth:`WindowFn.reach`).

    >>> WindowingStrategy().trigger
    DefaultTrigger()
    """

    window_fn: WindowFn = attrs.field(factory=GlobalWindows)
    trigger: Trigger = attrs.field(factory=DefaultTrigger, validator=_is_trigger)
    accumulation_mode: AccumulationMode = attrs.field(
        default=AccumulationMode.DISCARDING,
        converter=_mode,
    )
    allowed_lateness: int = 0
    timestamp_combiner: TimestampCombiner = attrs.field(
        default=TimestampCombiner.OUTPUT_AT_EOW,
        converter=_combiner,
    )
    on_time: OnTimeBehavior = attrs.field(default=OnTimeBehavior.FIRE_ALWAYS, converter=_on_time)
    closing: ClosingBehavior = attrs.field(
        default=ClosingBehavior.FIRE_IF_NON_EMPTY,
        converter=_closing,
    )
    late_tag: str | None = None
    reach: int = attrs.field(init=False, eq=False, repr=False)

    @reach.default
    def _reach(self) -> int:
        if not self.window_fn.is_merging():
            return 0
        if not self.retracts and not reach_is_known(self.window_fn):
            return MAX_MICROS
        return duration_micros(fact(self.window_fn, "reach")())

    @property
    def waits_for_end_of_time(self) -> bool:
        """Whether results appear only at the end of time: the default trigger in the global window."""
        return self.window_fn == GlobalWindows() and self.trigger == DefaultTrigger()

    @property
    def discards(self) -> bool:
        """Whether a pane has only the elements since the last pane."""
        return self.accumulation_mode is AccumulationMode.DISCARDING

    @property
    def retracts(self) -> bool:
        """Whether a pane replaces the last pane, which is retracted."""
        return self.accumulation_mode is AccumulationMode.RETRACTING

    @property
    def stamps_all(self) -> bool:
        """Whether the timestamp of a pane depends on all its elements, not only on its window or new ones."""
        return self.retracts and self.timestamp_combiner is not TimestampCombiner.OUTPUT_AT_EOW

    def expiry(self, last: int) -> int:
        """Return the watermark at which a window expires and takes no more elements, in microseconds.

        Args:
            last: the last instant of the window, in microseconds.
        """
        return min(last + self.allowed_lateness + 1, MAX_MICROS)

    def is_late(self, last: int, watermark: int) -> bool:
        """Return whether a window has expired, so that it takes no more elements.

        Args:
            last: the last instant of the window, in microseconds.
            watermark: the input watermark of the grouping, in microseconds.
        """
        return self.expiry(last) <= watermark

    def cleanup_time(self, last: int) -> int:
        """Return the watermark at which no element can merge with a window any more, in microseconds.

        An element in time can still merge with a window that has expired (:meth:`WindowFn.reach`).

        Args:
            last: the last instant of the window, in microseconds.
        """
        return min(last + self.allowed_lateness + 1 + self.reach, MAX_MICROS)

    def output_time(self, last: int, earliest: int, latest: int) -> int:
        """Return the timestamp of a pane, in microseconds, from the earliest and latest of its elements."""
        return self.timestamp_combiner.output_time(last, earliest, latest)
