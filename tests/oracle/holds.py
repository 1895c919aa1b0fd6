"""The timestamps of panes, and what holds the output watermark back: told from a window's whole story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import attrs

from tests.oracle.story import (
    MAX,
    Arrival,
    Element,
    Merge,
    Moment,
    Story,
    Unasked,
    Window,
    has_news,
    outstanding,
)

COMBINE = {"EARLIEST": min, "LATEST": max}


@attrs.frozen
class Held:
    """What holds the output watermark back on account of a window, and None where nothing does.

    ``pane`` is the timestamp of the pane to come, unless that is late. ``recall`` is the last moment to
    take back a pane that may have to be: later, a grouping behind this one could drop the retraction
    and take what replaces it. ``oldest`` is the timestamp of the oldest element that ever came.
    """

    pane: int | None = None
    recall: int | None = None
    oldest: int | None = None


@attrs.frozen
class Holds:
    """How the panes of a grouping are stamped, and held for; ``reach`` is that of its windows."""

    timestamps: str
    mode: str
    lateness: int
    merges: bool
    reach: int
    changing: bool

    @property
    def by_all(self) -> bool:
        """Whether a pane is stamped by all that it holds, not by what is new alone."""
        return self.mode == "RETRACTING" and self.timestamps != "EOW"

    def raw(self, elements: Iterable[Element]) -> int | None:
        """What the timestamps of elements combine to; one counts if it came more often than it went."""
        if self.timestamps == "EOW":
            return None
        counts: Counter[int] = Counter()
        for e in elements:
            counts[e.timestamp] += e.diff
        return COMBINE[self.timestamps]((t for t in counts if counts[t] > 0), default=None)

    def stamp(self, story: Story, raw: int | None, moment: Moment) -> int:
        """The timestamp of a pane that goes out now."""
        held = self.held(story)
        if self.by_all:
            return self.by_raw(raw, moment, held)
        return moment.last if held.pane is None else held.pane

    def by_raw(self, raw: int | None, moment: Moment, held: Held) -> int:
        """That of all that the pane holds, as far back as groupings behind still take it."""
        furthest = self.bound(moment, held) - self.lateness
        return moment.last if raw is None else min(max(raw, furthest), moment.last)

    def bound(self, moment: Moment, held: Held) -> int:
        """How far the output watermark can have come on account of this window."""
        return least([moment.watermark, held.pane, held.recall])  # type: ignore[return-value]

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - there are few groupings
    def held(self, story: Story) -> Held:
        """What holds the output watermark back at the end of a story."""
        if not story:
            return Held()
        *earlier, happening = story
        before = self.held(tuple(earlier))
        if isinstance(happening, Arrival):
            return self.after_arrival(story, happening, before)
        if isinstance(happening, Merge):
            return self.after_merge(story, happening)
        if isinstance(happening, Unasked) or happening.changed:
            recall = self.recall(story, happening.moment, before, None)
            return attrs.evolve(before, pane=None, recall=recall)
        return before

    def after_arrival(self, story: Story, arrival: Arrival, before: Held) -> Held:
        moment, stamp = arrival.moment, None
        pane = self.waiting(arrival, before) if arrival.stays else before.pane
        if self.by_all:
            stamp = self.by_raw(arrival.raw, moment, before)
            in_time = arrival.stays and stamp >= moment.watermark
            pane = stamp if in_time else before.pane
        came = min(e.timestamp for e in arrival.elements)
        came = max(came, self.bound(moment, before) - self.lateness)
        after = Held(pane, None, least([before.oldest, came]))
        return attrs.evolve(after, recall=self.recall(story, moment, after, stamp))

    def waiting(self, arrival: Arrival, before: Held) -> int | None:
        """Wait for new elements, from the watermark to the end of the window."""
        watermark, last = arrival.moment.watermark, arrival.moment.last
        if last < watermark:
            return before.pane
        times = [min(max(e.timestamp, watermark), last) for e in arrival.elements]
        return self.combined(times + [before.pane] * (before.pane is not None), last)

    def after_merge(self, story: Story, merge: Merge) -> Held:
        """Hold on for all that is held: each of the windows that come from one does."""
        moment, sources = merge.moment, [self.held(source) for _, source in merge.sources]
        panes = [s.pane for s in sources if s.pane is not None]
        shrank = not panes or moment.last < min(*panes, moment.watermark)
        held = Held(
            pane=None if shrank else min(self.combined(panes, moment.last), moment.last),
            recall=least(s.recall for s in sources),
            oldest=least(s.oldest for s in sources),
        )
        stamp = self.by_raw(merge.raw, moment, held) if self.by_all else None
        return attrs.evolve(held, recall=self.recall(story, moment, held, stamp))

    def combined(self, times: list[int], last: int) -> int:
        return last if self.timestamps == "EOW" else COMBINE[self.timestamps](times)

    def recall(self, story: Story, moment: Moment, held: Held, stamp: int | None) -> int | None:
        """Until when all that stands, and the pane that would go out now, can be taken back in time."""
        if self.mode != "RETRACTING":
            return None
        candidates = [p.timestamp for p in outstanding(story) if self.merges or not p.last]
        if stamp is not None and has_news(story):
            candidates.append(stamp)
        if (
            self.by_all
            and self.changing
            and self.timestamps == "LATEST"
            and held.oldest is not None
        ):
            candidates.append(held.oldest)
        recall = min(candidates, default=None)
        if recall is None or recall + self.lateness + 1 >= self.forget(
            (moment.last, moment.last + 1)
        ):
            return None
        return recall + self.lateness

    def expiry(self, window: Window) -> int:
        """From when on a window does not speak any more."""
        return min(window[1] + self.lateness, MAX)

    def forget(self, window: Window) -> int:
        """From when on a window is gone: nothing that is in time can reach back to it."""
        return min(self.expiry(window) + self.reach, MAX)


def least(moments: Iterable[int | None]) -> int | None:
    return min((m for m in moments if m is not None), default=None)
