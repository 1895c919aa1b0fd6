"""The timestamps of panes, and how far the output watermark may go before they are fired.

A *hold* keeps the output watermark at the timestamp of a pane to come. A *retraction hold* keeps it where
downstream groupings with the same allowed lateness still accept the retraction of a pane, and its
replacement.

The timestamp of a pane depends on its window and its new elements (:class:`OutputTimes`), or on all elements
of its window (:class:`StampedOutputTimes`).
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from headrace.grouping.pane_output import Arrival
from headrace.grouping.state.contents import Contents
from headrace.grouping.state.key_state import KeyState
from headrace.grouping.state.stamping import Stamping
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER
from headrace.windowing.window import BoundedWindow


@attrs.frozen
class OutputTimes:
    """Timestamps, holds and retraction holds of panes that are stamped by their window and new elements.

    Attributes:
        strategy: where, when and how.
    """

    strategy: WindowingStrategy

    def timestamp(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the timestamp of a pane that fires now, in microseconds."""
        return min(key.holds.get(window), window.last)

    def timestamp_of_arrival(self, arrival: Arrival) -> int:
        """Return the timestamp of a pane that holds the elements of one arrival, in microseconds."""
        last = arrival.window.last
        return min(self.strategy.output_time(last, arrival.earliest, arrival.latest), last)

    def on_arrival(self, key: KeyState, arrival: Arrival, watermark: int) -> None:
        """Hold the output watermark for the pane of elements that were added to their window."""
        if arrival.window.last >= watermark:
            self._hold(key, arrival, watermark)

    def record_earliest(
        self, key: KeyState, window: BoundedWindow, arrival: Arrival, watermark: int
    ) -> None:
        """Record the earliest timestamp of an arrival, if the timestamp of a pane can become as early."""

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

    def merged_holds(
        self, key: KeyState, target: BoundedWindow, sources: Sequence[BoundedWindow], watermark: int
    ) -> tuple[int, int]:
        """Return the hold and the retraction hold of a window that replaces others, without new elements.

        A window that shrank and now ends behind the watermark cannot hold the watermark.
        """
        last = target.last
        held = [hold for hold in map(key.holds.get, sources) if hold != NEVER]
        hold = NEVER
        if held and last >= min(*held, watermark):
            hold = min(self.strategy.output_time(last, min(held), max(held)), last)
        return hold, min(map(key.retraction_holds.get, sources), default=NEVER)

    def update_retraction_hold(
        self, key: KeyState, window: BoundedWindow, watermark: int, pending: int = NEVER
    ) -> None:
        """Hold the output watermark while panes of a window can still be retracted or replaced.

        There is no hold if no pane can be retracted, or none that late: if windows do not merge, the last
        pane of a window is never retracted.

        Args:
            key: the state of the key.
            window: one of its live windows.
            watermark: the input watermark, in microseconds.
            pending: how early the next pane can be, if its own hold is not enough.
        """
        if not self.strategy.retracts:
            return
        limit, merging = pending, self.strategy.reach > 0
        for pane in key.windows[window].outputs:
            if pane.timestamp < limit and (merging or not pane.pane.is_last):
                limit = pane.timestamp
        latest = limit + self.strategy.allowed_lateness
        in_time = latest + 1 < self.strategy.cleanup_time(window.last)
        key.retraction_holds.set(window, latest if in_time else NEVER)


@attrs.frozen
class StampedOutputTimes(OutputTimes):
    """Timestamps, holds and retraction holds of panes that are stamped by all elements of their window.

    Attributes:
        stamping: reads timestamps of contents.
        contents: what windows hold.
    """

    stamping: Stamping
    contents: Contents

    def timestamp(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the timestamp of a window's content, but not earlier than downstream groupings accept."""
        whole = self.stamping.timestamp(self.contents.of(key, window))
        return min(max(whole, self._earliest_accepted(key, window, watermark)), window.last)

    def timestamp_of_arrival(self, arrival: Arrival) -> int:
        """Return the timestamp of a pane that holds the elements of one arrival, in microseconds."""
        stamped = self.stamping.add_timestamps(arrival)
        return min(self.stamping.timestamp(stamped.content), arrival.window.last)

    def on_arrival(self, key: KeyState, arrival: Arrival, watermark: int) -> None:
        """Hold the output watermark for the pane of all elements of a window."""
        window = arrival.window
        self.record_earliest(key, window, arrival, watermark)
        timestamp = self.timestamp(key, window, watermark)
        if timestamp >= watermark:
            key.holds.set(window, timestamp)
        self.update_retraction_hold(key, window, watermark)

    def record_earliest(
        self, key: KeyState, window: BoundedWindow, arrival: Arrival, watermark: int
    ) -> None:
        """Record the earliest timestamp of an arrival if panes take the latest, which can be retracted."""
        if self._can_decrease:
            state = key.windows[window]
            earliest = max(arrival.earliest, self._earliest_accepted(key, window, watermark))
            state.earliest = min(state.earliest, earliest)

    def update_retraction_hold(
        self, key: KeyState, window: BoundedWindow, watermark: int, pending: int = NEVER
    ) -> None:
        """Hold the output watermark while panes of a window can still be retracted or replaced."""
        pending = self._earliest_pending(key, window, watermark)
        super().update_retraction_hold(key, window, watermark, pending)

    @property
    def _can_decrease(self) -> bool:
        return self.stamping.changing and self.stamping.sign < 0

    def _earliest_accepted(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the earliest timestamp that downstream groupings accept."""
        complete = min(watermark, key.holds.get(window), key.retraction_holds.get(window))
        return complete - self.strategy.allowed_lateness

    def _earliest_pending(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the earliest timestamp that the next pane can have; NEVER if it would be empty.

        A window whose last firing had no output can still have timestamps: retractions with other
        timestamps than their values leave some. The next pane can have these.
        """
        state = key.windows[window]
        timestamp = NEVER
        if state.pending or (not state.outputs and self._has_timestamp(key, window)):
            timestamp = self.timestamp(key, window, watermark)
        return min(timestamp, state.earliest) if self._can_decrease else timestamp

    def _has_timestamp(self, key: KeyState, window: BoundedWindow) -> bool:
        return self.stamping.timestamp(self.contents.of(key, window)) != NEVER


def output_times(
    strategy: WindowingStrategy, contents: Contents, stamping: Stamping | None
) -> OutputTimes:
    """Return the output times of a grouping, whose contents have timestamps if there is a stamping."""
    if stamping is None:
        return OutputTimes(strategy)
    return StampedOutputTimes(strategy, stamping, contents)
