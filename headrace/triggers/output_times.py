"""Where panes lie in event time, and how long the output watermark waits for them.

A *hold* keeps the output watermark at the timestamp of a pane to come. A *recall* keeps it where groupings
behind this one, which allow as much lateness, still take a retraction and what replaces it.
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
    """Timestamps, holds and retraction_holds of one grouping's panes.

    Args:
        strategy: where, when and how.
        contents: what windows hold.
        stamping: knows the timestamps of what windows hold, if panes are stamped by all of it.
        changing: whether the input can hold retractions.
    """

    strategy: WindowingStrategy
    contents: Contents
    stamping: Stamping | None
    changing: bool
    _retracts: bool = attrs.field(init=False)
    _falls: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Note whether panes are taken back, and whether their timestamps can become earlier."""
        strategy = self.strategy
        self._retracts = strategy.accumulation_mode is AccumulationMode.RETRACTING
        latest = strategy.timestamp_combiner is TimestampCombiner.OUTPUT_AT_LATEST
        self._falls = self._retracts and self.changing and latest

    def timestamp(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the timestamp of a pane that goes out now, in microseconds."""
        if self.stamping is None:
            return min(key.holds.get(window), window.last)
        return self._of_all(key, window, watermark)

    def _of_all(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the timestamp of all that a window holds, as far back as groupings behind take it."""
        assert self.stamping is not None
        whole = self.stamping.timestamp(self.contents.of(key, window))
        return min(max(whole, self._taken_until(key, window, watermark)), window.last)

    def of_arrival(self, arrival: Arrival) -> int:
        """Return the timestamp of a pane that holds the elements of one arrival, in microseconds."""
        last = arrival.window.last
        if self.stamping is None:
            timestamp = self.strategy.output_time(last, arrival.earliest, arrival.latest)
        else:
            timestamp = self.stamping.timestamp(self.stamping.stamped(arrival).content)
        return min(timestamp, last)

    def arrived(self, key: KeyState, arrival: Arrival, watermark: int) -> None:
        """Wait for the pane of elements that have come into their window."""
        window = arrival.window
        if self.stamping is None:
            if window.last >= watermark:
                self._hold(key, arrival, watermark)
            return
        self.seen(key, window, arrival, watermark)
        timestamp = self._of_all(key, window, watermark)
        if timestamp >= watermark:
            key.holds.set(window, timestamp)
        self.recall(key, window, watermark)

    def seen(self, key: KeyState, window: BoundedWindow, arrival: Arrival, watermark: int) -> None:
        """Note the earliest timestamp, where that of a pane can fall back on it."""
        if self._falls:
            state = key.windows[window]
            earliest = max(arrival.earliest, self._taken_until(key, window, watermark))
            state.earliest = min(state.earliest, earliest)

    def _taken_until(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the earliest timestamp that groupings behind surely take."""
        complete = min(watermark, key.holds.get(window), key.retraction_holds.get(window))
        return complete - self.strategy.allowed_lateness

    def _hold(self, key: KeyState, arrival: Arrival, watermark: int) -> None:
        """Hold the output watermark at the timestamp of the pane to come, or at the input watermark.

        An element behind the watermark counts as if it were at the watermark: its pane must not
        come out late on its account.
        """
        window, last = arrival.window, arrival.window.last
        hold = self.strategy.output_time(last, arrival.earliest, arrival.latest)
        hold = min(max(hold, watermark), last)
        before = key.holds.get(window)
        if before not in (NEVER, hold):
            hold = self.strategy.output_time(last, min(hold, before), max(hold, before))
        key.holds.set(window, hold)

    def merged(
        self,
        key: KeyState,
        window: BoundedWindow,
        holds: Sequence[int],
        retraction_holds: Sequence[int],
        watermark: int,
    ) -> None:
        """Take over the holds and retraction_holds of the windows that have become one.

        A window that shrank into the past cannot hold on for what has not come out.
        """
        last = window.last
        held = [hold for hold in holds if hold != NEVER]
        hold = NEVER
        if held and last >= min(*held, watermark):
            hold = min(self.strategy.output_time(last, min(held), max(held)), last)
        key.holds.set(window, hold)
        key.retraction_holds.set(window, min(retraction_holds, default=NEVER))
        self.recall(key, window, watermark)

    def recall(self, key: KeyState, window: BoundedWindow, watermark: int) -> None:
        """Note how far the output watermark may go before panes are taken back or replaced.

        Not at all if nothing can be taken back, or not as late as that: where windows do not merge, the
        last pane of a window stands for good.
        """
        if not self._retracts:
            return
        state, merging = key.windows[window], self.strategy.reach > 0
        limit = NEVER
        for pane in state.outputs:
            if pane.timestamp < limit and (merging or not pane.pane.is_last):
                limit = pane.timestamp
        if self.stamping is not None:
            limit = min(limit, self._of_news(key, window, watermark))
        latest = limit + self.strategy.allowed_lateness
        in_time = latest + 1 < self.strategy.gone(window.last)
        key.retraction_holds.set(window, latest if in_time else NEVER)

    def _of_news(self, key: KeyState, window: BoundedWindow, watermark: int) -> int:
        """Return the earliest timestamp that a pane to come may have; NEVER if nothing is new."""
        state = key.windows[window]
        timestamp = self._of_all(key, window, watermark) if state.pending else NEVER
        return min(timestamp, state.earliest) if self._falls else timestamp
