"""A script played against one grouping, or several in a row.

A script is a list of events: ``("elements", [Element, …])``, ``("watermark", t)`` or
``("clock", t)``. What one grouping says in an event, the next one hears in the same event: data
first, then how far the watermark and the clock have come.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tests.oracle.story import (
    MAX,
    MIN,
    Arrival,
    Element,
    Firing,
    Merge,
    Moment,
    Pane,
    Story,
    Window,
    arrivals,
    fresh,
    outstanding,
    panes_out,
    past_early,
    times,
)
from tests.oracle.triggers import Default, Trigger
from tests.oracle.windows import Global, WindowFn

Script = Sequence[tuple[str, Any]]


@attrs.frozen
class Strategy:
    """Where, when and how."""

    windows: WindowFn = attrs.field(factory=Global)
    trigger: Trigger = attrs.field(factory=Default)
    mode: str = "DISCARDING"
    lateness: int = 0
    timestamps: str = "EOW"
    on_time: bool = True
    closing: bool = False


@attrs.frozen
class Stage:
    """A grouping; before it, elements become others by ``remap``, in new windows if ``assigns``."""

    strategy: Strategy
    contents: Any
    remap: Callable[[Any, Any], tuple[Any, Any]] = lambda key, value: (key, value)
    assigns: bool = True


@attrs.define
class Played:
    """What a grouping said, what it dropped, and its output watermark after each event."""

    panes: list[Pane] = attrs.field(factory=list)
    dropped: list[tuple[Element, Window]] = attrs.field(factory=list)
    watermarks: list[int] = attrs.field(factory=list)


def replay(script: Script, stages: Sequence[Stage]) -> list[Played]:
    """Play a script."""
    groupings = [Grouping(stage) for stage in stages]
    for number, (kind, what) in enumerate(script):
        elements = what if kind == "elements" else []
        watermark = what if kind == "watermark" else None
        clock = what if kind == "clock" else None
        for grouping in groupings:
            panes = grouping.hear(number, elements, watermark, clock)
            elements = [Element(p.key, p.value, p.timestamp, p.diff, (p.window,)) for p in panes]
            watermark = grouping.played.watermarks[-1]
    return [grouping.played for grouping in groupings]


@attrs.define
class Grouping:
    """The stories of all windows of all keys, and what time it is."""

    stage: Stage
    watermark: int = MIN
    now: int = 0
    event: int = 0
    asked: set[tuple[Any, Window]] = attrs.field(factory=set)
    stories: dict[Any, dict[Window, Story]] = attrs.field(factory=lambda: defaultdict(dict))
    played: Played = attrs.field(factory=Played)

    @property
    def strategy(self) -> Strategy:
        return self.stage.strategy

    def hear(
        self, event: int, elements: list[Element], watermark: int | None, clock: int | None
    ) -> list[Pane]:
        """One event: what has come together, then how far the watermark and the clock have come."""
        heard, watermark_before, now_before = len(self.played.panes), self.watermark, self.now
        self.event, self.now = event, self.now if clock is None else clock
        self.asked.clear()
        elements = [self.placed(e) for e in elements]
        for key in dict.fromkeys(e.key for e in elements):
            self.arrive(key, [e for e in elements if e.key == key])
        self.watermark = self.watermark if watermark is None else watermark
        for key, stories in self.stories.items():
            for window in sorted(stories):
                now = self.now if (key, window) in self.asked else now_before
                before = Moment(watermark_before, now, window[1] - 1)
                if self.expired(window) or self.wakes(stories[window], window, before):
                    self.ask(key, window)
        self.played.watermarks.append(self.output_watermark())
        return self.played.panes[heard:]

    def placed(self, e: Element) -> Element:
        key, value = self.stage.remap(e.key, e.value)
        windows = e.windows
        if self.stage.assigns or windows is None:
            windows = tuple(self.strategy.windows.assign((key, value), e.timestamp))
        return attrs.evolve(e, key=key, value=value, windows=windows)

    def arrive(self, key: Any, elements: list[Element]) -> None:
        """Merge, put each element where it is not late, and ask the windows that were touched."""
        stories = self.stories[key]
        rows = [(window, e) for e in elements for window in e.windows]
        while True:
            become = self.strategy.windows.merge(stories.keys() | {window for window, _ in rows})
            alive = {become[window] for window in stories}
            late = [w for w, _ in rows if become[w] not in alive and self.expired(become[w])]
            if not late:
                break
            self.played.dropped += [(e, w) for w, e in rows if w in late]
            rows = [(w, e) for w, e in rows if w not in late]
        touched = self.unite(stories, become)
        for target in sorted({become[w] for w, _ in rows}):
            joined = [e for w, e in rows if become[w] == target]
            if self.strategy.trigger.done(stories.get(target, ())):
                self.played.dropped += [(e, target) for e in joined]
            else:
                output_times = tuple(self.output_time(e, target) for e in joined)
                arrival = Arrival(tuple(joined), output_times, self.now)
                stories[target] = (*stories.get(target, ()), arrival)
                touched.add(target)
        for target in sorted(touched):
            self.ask(key, target)

    def unite(self, stories: dict[Window, Story], become: dict[Window, Window]) -> set[Window]:
        """Let live windows become what they become, all at once, and say which are new."""
        united: dict[Window, Story] = {}
        for target in sorted({become[window] for window in stories}):
            sources = tuple((w, stories[w]) for w in sorted(stories) if become[w] == target)
            if [w for w, _ in sources] != [target]:
                united[target] = (Merge(sources, target, self.moment(target)),)
        stories_that_stay = {w: s for w, s in stories.items() if become[w] == w and w not in united}
        stories.clear()
        stories.update(stories_that_stay | united)
        return set(united)

    def wakes(self, story: Story, window: Window, before: Moment) -> bool:
        """Whether something that its trigger waits for has come to pass since a moment."""
        trigger = self.strategy.trigger
        return not trigger.done(story) and trigger.wakes(story, before, self.moment(window))

    def ask(self, key: Any, window: Window) -> None:
        """Let a window fire if it is ready, or if it will not get another chance."""
        self.asked.add((key, window))
        story, trigger = self.stories[key][window], self.strategy.trigger
        moment, expired = self.moment(window), self.expired(window)
        done = trigger.done(story)
        ready = not done and trigger.ready(story, moment)
        if (ready or expired) and (self.news(story, window) or not done):
            closing = expired or trigger.done((*story, Firing(moment)))
            story = self.stories[key][window] = (*story, self.fire(key, window, closing))
        if expired:
            self.stories[key] = {w: s for w, s in self.stories[key].items() if w != window}

    def fire(self, key: Any, window: Window, closing: bool) -> Firing:
        """Send what the firing of a window has to say, if anything."""
        story, moment, strategy = self.stories[key][window], self.moment(window), self.strategy
        pane = self.next_pane(key, window, closing)
        on_time = pane.timing == "ON_TIME" and strategy.on_time and strategy.trigger.has_on_time
        if not (self.news(story, window) or on_time or (closing and strategy.closing)):
            return Firing(moment)
        out = [attrs.evolve(pane, value=v, diff=d) for v, d in self.values(story)]
        if strategy.mode == "RETRACTING":
            taken_back = outstanding(story)
            self.played.panes += [attrs.evolve(p, diff=-1, event=self.event) for p in taken_back]
        self.played.panes += out
        return Firing(moment, out[-1] if out else None, changed=True)

    def news(self, story: Story, window: Window) -> bool:
        """Whether something is new: elements, or that what was said was said of windows that are no more."""
        retracts = self.strategy.mode == "RETRACTING"
        moved = retracts and any(p.window != window for p in outstanding(story))
        return moved or bool(fresh(story))

    def values(self, story: Story) -> list[tuple[Any, int]]:
        contents, everything = self.stage.contents, list(arrivals(story))
        if self.strategy.mode == "DISCARDING":
            return contents.changes([e for a in fresh(story) for e in a.elements])
        elements = [e for a in everything for e in a.elements]
        if self.strategy.mode == "RETRACTING" and contents.vanished(elements):
            return []
        return [(contents.all(elements), 1)]

    def next_pane(self, key: Any, window: Window, closing: bool) -> Pane:
        """The pane that is due, all but its value."""
        story, moment = self.stories[key][window], self.moment(window)
        before = panes_out(story)
        on_time_or_early = "ON_TIME" if moment.past_window else "EARLY"
        timing = "LATE" if past_early(story) else on_time_or_early
        nonspeculative = sum(p.timing != "EARLY" for p in before) if timing != "EARLY" else -1
        timestamp = self.hold(story, window)
        return Pane(
            key=key,
            window=window,
            value=None,
            diff=1,
            timestamp=moment.last if timestamp is None else timestamp,
            timing=timing,
            index=len(before),
            nonspeculative=nonspeculative,
            first=not before,
            last=closing,
            event=self.event,
        )

    def output_time(self, e: Element, window: Window) -> int | None:
        """When an element comes out, if it is not late: from the watermark to its window's end."""
        last = window[1] - 1
        if last < self.watermark:
            return None
        at_end = self.strategy.timestamps == "EOW"
        return last if at_end else min(max(e.timestamp, self.watermark), last)

    def hold(self, story: Story, window: Window) -> int | None:
        """What keeps the output watermark back: the timestamp of the next pane, unless late."""
        choose = {"EOW": lambda _: window[1] - 1, "EARLIEST": min, "LATEST": max}
        waiting = times(story)
        return choose[self.strategy.timestamps](waiting) if waiting else None

    def recall(self, story: Story) -> int | None:
        """What keeps it back too: the last moment to take back a pane that may have to be.

        Later, a grouping behind this one could drop the retraction and take what replaces it.
        """
        if self.strategy.mode != "RETRACTING":
            return None
        standing = [p.timestamp for p in outstanding(story) if not p.last]
        return min(standing) + self.strategy.lateness if standing else None

    def output_watermark(self) -> int:
        alive = [(s, w) for stories in self.stories.values() for w, s in stories.items()]
        bounds = [self.hold(s, w) for s, w in alive] + [self.recall(s) for s, _ in alive]
        return min([self.watermark, *(bound for bound in bounds if bound is not None)])

    def moment(self, window: Window) -> Moment:
        return Moment(self.watermark, self.now, window[1] - 1)

    def expired(self, window: Window) -> bool:
        return self.watermark >= min(window[1] - 1 + self.strategy.lateness + 1, MAX)
