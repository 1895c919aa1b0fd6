"""The timestamps of panes, and how far the output watermark may go before they are fired.

A *hold* keeps the output watermark at the timestamp of a pane to come. A *retraction hold* keeps it where
downstream groupings with the same allowed lateness still accept the retraction of a pane, and its
replacement.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from headrace.triggers.contents import Contents
from headrace.triggers.key_state import KeyState
from headrace.triggers.pane_output import Arrival
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.stamping import Stamping
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window import BoundedWindow


@attrs.define(slots=True)
class OutputTimes:
    """Timestamps, holds and retraction holds of one grouping's panes.

    Args:
        strategy: where, when and how.
        contents: what windows hold.
        stamping: reads timestamps of contents, if that of a pane depends on all its elements; else None.
        changing: whether the input can hold retractions.
    """

    strategy: WindowingStrategy
    contents: Contents
    stamping: Stamping | None
    changing: bool
    _retracts: bool = attrs.field(init=False)
    _can_decrease: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Derive whether panes are retracted, and whether their timestamps can become earlier."""
        strategy = self.strategy
        self._retracts = strategy.accumulation_mode is AccumulationMode.RETRACTING
        latest = strategy.timestamp_combiner is TimestampCombiner.OUTPUT_AT_LATEST
        self._can_decrease = self._retracts and self.changing and latest

    def timestamp(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the timestamp of a pane that fires now, in microseconds."""
        if self.stamping is None:
            return min(key.holds.get(window), window.last)
        return self._timestamp_of_all(key, window, watermark)

    def _timestamp_of_all(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the timestamp of a window's content, but not earlier than downstream groupings accept."""
        assert self.stamping is not None
        whole = self.stamping.timestamp(self.contents.of(key, window))
        return min(max(whole, self._earliest_accepted(key, window, watermark)), window.last)

    def timestamp_of_arrival(self, arrival: Arrival) -> int:
        """Return the timestamp of a pane that holds the elements of one arrival, in microseconds."""
        last = arrival.window.last
        if self.stamping is None:
            timestamp = self.strategy.output_time(last, arrival.earliest, arrival.latest)
        else:
            timestamp = self.stamping.timestamp(self.stamping.add_timestamps(arrival).content)
        return min(timestamp, last)

    def on_arrival(self, key: KeyState, arrival: Arrival, watermark: int) -> None:
        """Hold the output watermark for the pane of elements that were added to their window."""
        window = arrival.window
        if self.stamping is None:
            if window.last >= watermark:
                self._hold(key, arrival, watermark)
            return
        self.record_earliest(key, window, arrival, watermark)
        timestamp = self._timestamp_of_all(key, window, watermark)
        if timestamp >= watermark:
            key.holds.set(window, timestamp)
        self.update_retraction_hold(key, window, watermark)

    def record_earliest(
        self, key: KeyState, window: BoundedWindow, arrival: Arrival, watermark: int
    ) -> None:
        """Record the earliest timestamp, if the timestamp of a pane can become as early."""
        if self._can_decrease:
            state = key.windows[window]
            earliest = max(arrival.earliest, self._earliest_accepted(key, window, watermark))
            state.earliest = min(state.earliest, earliest)

    def _earliest_accepted(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the earliest timestamp that downstream groupings accept."""
        complete = min(watermark, key.holds.get(window), key.retraction_holds.get(window))
        return complete - self.strategy.allowed_lateness

    def _hold(self, key: KeyState, arrival: Arrival, watermark: int) -> None:
        """Hold the output watermark at the timestamp of the pane to come, or at the input watermark.

        An element behind the watermark counts as if it were at the watermark, so that it does not make its
        pane late.
        """
        window, last = arrival.window, arrival.window.last
        hold = self.strategy.output_time(last, arrival.earliest, arrival.latest)
        hold = min(max(hold, watermark), last)
        before = key.holds.get(window)
        if before not in (NEVER, hold):
            hold = self.strategy.output_time(last, min(hold, before), max(hold, before))
        key.holds.set(window, hold)

    def on_merge(
        self,
        key: KeyState,
        window: BoundedWindow,
        holds: Sequence[int],
        retraction_holds: Sequence[int],
        watermark: int,
    ) -> None:
        """Combine the holds and retraction holds of the windows that a window replaces.

        A window that shrank and now ends behind the watermark cannot hold the watermark.
        """
        last = window.last
        held = [hold for hold in holds if hold != NEVER]
        hold = NEVER
        if held and last >= min(*held, watermark):
            hold = min(self.strategy.output_time(last, min(held), max(held)), last)
        key.holds.set(window, hold)
        key.retraction_holds.set(window, min(retraction_holds, default=NEVER))
        self.update_retraction_hold(key, window, watermark)

    def update_retraction_hold(self, key: KeyState, window: BoundedWindow, watermark: int) -> None:
        """Hold the output watermark while panes of a window can still be retracted or replaced.

        There is no hold if no pane can be retracted, or none that late: if windows do not merge, the last
        pane of a window is never retracted.
        """
        if not self._retracts:
            return
        state, merging = key.windows[window], self.strategy.reach > 0
        limit = NEVER
        for pane in state.outputs:
            if pane.timestamp < limit and (merging or not pane.pane.is_last):
                limit = pane.timestamp
        if self.stamping is not None:
            limit = min(limit, self._earliest_pending(key, window, watermark))
        latest = limit + self.strategy.allowed_lateness
        in_time = latest + 1 < self.strategy.cleanup_time(window.last)
        key.retraction_holds.set(window, latest if in_time else NEVER)

    def _earliest_pending(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the earliest timestamp that the next pane can have; NEVER if it would be empty.

        A window whose last firing had no output can still have timestamps: retractions with other
        timestamps than their values leave some. The next pane can have these.
        """
        state = key.windows[window]
        timestamp = NEVER
        if state.pending or (not state.outputs and self._has_timestamp(key, window)):
            timestamp = self._timestamp_of_all(key, window, watermark)
        return min(timestamp, state.earliest) if self._can_decrease else timestamp

    def _has_timestamp(self, key: KeyState, window: BoundedWindow) -> bool:
        assert self.stamping is not None
        return self.stamping.timestamp(self.contents.of(key, window)) != NEVER
