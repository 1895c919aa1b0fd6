"""The timestamps of panes and the holds on the output watermark, from the complete history of a window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import attrs

from tests.laws.oracle.window_history import (
    MAX,
    Arrival,
    Element,
    ForcedFiring,
    History,
    Merge,
    Window,
    WindowClock,
    has_pending,
    latest_combined_timestamp,
    outstanding_panes,
)

COMBINE = {"EARLIEST": min, "LATEST": max}


@attrs.frozen
class WindowHolds:
    """The watermark holds of a window; None if there is no hold.

    ``pane`` is the timestamp of the next pane, unless that is late. ``retraction`` is the latest watermark at
    which an outstanding pane can be retracted: after that, the next grouping could drop the retraction and
    accept its replacement. ``oldest`` is the timestamp of the oldest element that ever arrived.
    """

    pane: int | None = None
    retraction: int | None = None
    oldest: int | None = None


@attrs.frozen
class HoldPolicy:
    """How the panes of a grouping get timestamps and hold the watermark; ``reach`` is that of the windows."""

    timestamps: str
    mode: str
    lateness: int
    merges: bool
    reach: int
    changing: bool

    @property
    def stamps_by_all(self) -> bool:
        """Whether a pane's timestamp combines all its elements, not only the pending ones."""
        return self.mode == "RETRACTING" and self.timestamps != "EOW"

    def combined_timestamp(self, elements: Iterable[Element]) -> int | None:
        """The combined timestamp of the elements that are not retracted."""
        if self.timestamps == "EOW":
            return None
        counts: Counter[int] = Counter()
        for e in elements:
            counts[e.timestamp] += e.diff
        return COMBINE[self.timestamps]((t for t in counts if counts[t] > 0), default=None)

    def stamp(self, history: History, combined_timestamp: int | None, clock: WindowClock) -> int:
        """The timestamp of a pane that is emitted now."""
        holds = self.holds_after(history)
        if self.stamps_by_all:
            return self.bounded_stamp(combined_timestamp, clock, holds)
        return clock.last if holds.pane is None else holds.pane

    def bounded_stamp(
        self, combined_timestamp: int | None, clock: WindowClock, holds: WindowHolds
    ) -> int:
        """The combined timestamp of all elements, bounded so that the next grouping accepts it."""
        furthest = self.bound(clock, holds) - self.lateness
        return (
            clock.last
            if combined_timestamp is None
            else min(max(combined_timestamp, furthest), clock.last)
        )

    def bound(self, clock: WindowClock, holds: WindowHolds) -> int:
        """An upper bound of the output watermark, as far as this window holds it."""
        return least([clock.watermark, holds.pane, holds.retraction])  # type: ignore[return-value]

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - there are few groupings
    def holds_after(self, history: History) -> WindowHolds:
        """The holds at the end of a history."""
        if not history:
            return WindowHolds()
        *earlier, entry = history
        before = self.holds_after(tuple(earlier))
        if isinstance(entry, Arrival):
            return self.after_arrival(history, entry, before)
        if isinstance(entry, Merge):
            return self.after_merge(history, entry)
        if isinstance(entry, ForcedFiring) or entry.emitted:
            stamp = self.stamp_of_rest(history, entry.clock, before)
            retraction = self.retraction_hold(history, entry.clock, before, stamp)
            return attrs.evolve(before, pane=None, retraction=retraction)
        return before

    def stamp_of_rest(
        self, history: History, clock: WindowClock, before: WindowHolds
    ) -> int | None:
        """The timestamp of a pane after a firing, if elements without a value have one."""
        combined = latest_combined_timestamp(history)
        if not self.stamps_by_all or combined is None:
            return None
        return self.bounded_stamp(combined, clock, attrs.evolve(before, pane=None))

    def after_arrival(self, history: History, arrival: Arrival, before: WindowHolds) -> WindowHolds:
        clock, stamp = arrival.clock, None
        pane = self.hold_for_arrivals(arrival, before) if arrival.retained else before.pane
        if self.stamps_by_all:
            stamp = self.bounded_stamp(arrival.combined_timestamp, clock, before)
            in_time = arrival.retained and stamp >= clock.watermark
            pane = stamp if in_time else before.pane
        oldest = min(e.timestamp for e in arrival.elements)
        oldest = max(oldest, self.bound(clock, before) - self.lateness)
        after = WindowHolds(pane, None, least([before.oldest, oldest]))
        return attrs.evolve(after, retraction=self.retraction_hold(history, clock, after, stamp))

    def hold_for_arrivals(self, arrival: Arrival, before: WindowHolds) -> int | None:
        """The hold for new elements, between the watermark and the end of the window."""
        watermark, last = arrival.clock.watermark, arrival.clock.last
        if last < watermark:
            return before.pane
        times = [min(max(e.timestamp, watermark), last) for e in arrival.elements]
        held = [] if before.pane is None else [before.pane]
        return self.combine(times + held, last)

    def after_merge(self, history: History, merge: Merge) -> WindowHolds:
        """The holds of a merged or split window: it keeps those of all its sources."""
        clock, sources = merge.clock, [self.holds_after(source) for _, source in merge.sources]
        panes = [s.pane for s in sources if s.pane is not None]
        shrank = not panes or clock.last < min(*panes, clock.watermark)
        holds = WindowHolds(
            pane=None if shrank else min(self.combine(panes, clock.last), clock.last),
            retraction=least(s.retraction for s in sources),
            oldest=least(s.oldest for s in sources),
        )
        stamp = (
            self.bounded_stamp(merge.combined_timestamp, clock, holds)
            if self.stamps_by_all
            else None
        )
        return attrs.evolve(holds, retraction=self.retraction_hold(history, clock, holds, stamp))

    def combine(self, times: list[int], last: int) -> int:
        return last if self.timestamps == "EOW" else COMBINE[self.timestamps](times)

    def retraction_hold(
        self, history: History, clock: WindowClock, holds: WindowHolds, stamp: int | None
    ) -> int | None:
        """The latest watermark at which all outstanding panes, and one emitted now, can be retracted."""
        if self.mode != "RETRACTING":
            return None
        outstanding = outstanding_panes(history)
        candidates = [p.timestamp for p in outstanding if self.merges or not p.last]
        has_rest = not outstanding and latest_combined_timestamp(history) is not None
        if stamp is not None and (has_pending(history) or has_rest):
            candidates.append(stamp)
        if (
            self.stamps_by_all
            and self.changing
            and self.timestamps == "LATEST"
            and holds.oldest is not None
        ):
            candidates.append(holds.oldest)
        retraction = min(candidates, default=None)
        if retraction is None or retraction + self.lateness + 1 >= self.forget(
            (clock.last, clock.last + 1)
        ):
            return None
        return retraction + self.lateness

    def expiry(self, window: Window) -> int:
        """The watermark at which a window expires."""
        return min(window[1] + self.lateness, MAX)

    def forget(self, window: Window) -> int:
        """The watermark at which a window is forgotten: no element in time can merge with it any more."""
        return min(self.expiry(window) + self.reach, MAX)


def least(times: Iterable[int | None]) -> int | None:
    return min((m for m in times if m is not None), default=None)
