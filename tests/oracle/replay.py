"""A script played against one grouping, or several in a row.

A script is a list of events: ``("elements", [Element, …])``, ``("watermark", t)`` or
``("clock", t)``. What one grouping says in an event, the next one hears in the same event: data
first, then how far the watermark and the clock have come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tests.oracle.holds import Holds, least
from tests.oracle.kept import Change, Kept, Places, Row
from tests.oracle.story import (
    MIN,
    Arrival,
    Element,
    Firing,
    Merge,
    Moment,
    Pane,
    Story,
    Unasked,
    Window,
    fresh,
    has_news,
    outstanding,
    panes_out,
    past_early,
    told,
)
from tests.oracle.taking import Taking
from tests.oracle.triggers import Default, Trigger
from tests.oracle.windows import Global, Sessions, WindowFn

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
    """A grouping; before it, elements become others by ``remap``, in new windows if ``assigns``.

    ``changing`` tells whether its input may hold retractions, ``inherited`` whether a grouping behind
    it keeps its windows.
    """

    strategy: Strategy
    contents: Any
    remap: Callable[[Any, Any], tuple[Any, Any]] = lambda key, value: (key, value)
    assigns: bool = True
    changing: bool = False
    inherited: bool = False

    @property
    def comes_apart(self) -> bool:
        """Whether windows that have become one can be several again.

        A discarding grouping only says what has changed, and in which window that was said stays.
        """
        of = self.strategy
        return of.windows.merges() and self.changing and of.mode != "DISCARDING"

    @property
    def holds(self) -> Holds:
        of = self.strategy
        merges, reach = of.windows.merges(), of.windows.reach()
        return Holds(of.timestamps, of.mode, of.lateness, merges, reach, self.changing)


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
    """What is kept of all keys, and what time it is."""

    stage: Stage
    holds: Holds = attrs.field(init=False)
    watermark: int = MIN
    now: int = 0
    event: int = 0
    asked: set[tuple[Any, Window]] = attrs.field(factory=set)
    keys: dict[Any, Kept] = attrs.field(factory=dict)
    played: Played = attrs.field(factory=Played)

    @holds.default
    def _holds_of_the_stage(self) -> Holds:
        return self.stage.holds

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
        for key, kept in self.keys.items():
            for window in sorted(kept.stories.keys() - kept.closed):
                now = self.now if (key, window) in self.asked else now_before
                before = Moment(watermark_before, now, window[1] - 1)
                if self.expired(window) or self.wakes(kept.stories[window], window, before):
                    self.ask(key, window)
            kept.forget(self.gone)
            kept.check()
        self.played.watermarks.append(self.output_watermark())
        return self.played.panes[heard:]

    def placed(self, e: Element) -> Element:
        key, value = self.stage.remap(e.key, e.value)
        windows = e.windows
        if self.stage.assigns or windows is None:
            windows = tuple(self.strategy.windows.assign((key, value), e.timestamp))
        return attrs.evolve(e, key=key, value=value, windows=windows)

    # Elements come

    def arrive(self, key: Any, elements: list[Element]) -> None:
        """Take elements, let windows become others, and ask those that were touched."""
        kept = self.keys.setdefault(key, self.nothing())
        if not kept.stories:
            kept.since = self.watermark - self.strategy.lateness - self.holds.reach
        rows = self.taken(key, [(window, e) for e in elements for window in e.windows])
        before, earlier_rows = kept.places(), kept.rows
        kept.rows = [*earlier_rows, *rows]
        change = Change(before, kept.places())
        gone = [(own, e) for own, e in rows if own not in change.after]
        touched = self.tell(key, gone, change.before, change.stay, stays=False)
        if not kept.apart:
            kept.rows = earlier_rows  # they come when windows have become others
        speakers = self.move(key, change)
        kept.rows = [*earlier_rows, *rows]
        touched |= self.tell(key, rows, change.after, change.after, stays=True)
        for window in sorted(speakers):
            self.speak_at_once(key, window)
        for window in sorted((touched & kept.stories.keys()) | set(change.new())):
            self.ask(key, window)

    def nothing(self) -> Kept:
        return Kept(self.strategy.windows, self.stage.contents, self.stage.comes_apart)

    def taken(self, key: Any, rows: list[Row]) -> list[Row]:
        """Drop the elements that are too late, and those whose window has closed.

        A retraction of what is not there joins no windows; it is taken until its own window has expired.
        """
        kept = self.keys[key]
        stories = kept.stories
        joining = {own for own, _ in rows if kept.would_stand(own, rows)}

        def is_done(sources: list[Window], target: Window) -> bool:
            story: Story = stories[target] if sources == [target] else ()
            if not story:
                merged = tuple((w, stories[w]) for w in sources)
                story = (Merge(merged, target, self.moment(target)),)
            return self.done(story)

        taking = Taking(
            self.strategy.windows,
            frozenset(stories),
            self.expired,
            is_done,
            kept.since,
            self.stage.inherited,
        )
        taken = taking.taken(joining)
        taken |= {own for own, _ in rows if own not in joining and not self.expired(own)}
        self.played.dropped += [(e, own) for own, e in rows if own not in taken]
        return [(own, e) for own, e in rows if own in taken]

    def tell(
        self, key: Any, rows: list[Row], places: Places, left: Places, stays: bool
    ) -> set[Window]:
        """Let windows know of the elements that came to them, and say which these are.

        ``left`` says what the windows hold now.
        """
        stories = self.keys[key].stories
        touched = sorted({places[own] for own, _ in rows if own in places})
        for window in touched:
            came = tuple(e for own, e in rows if places.get(own) == window)
            arrival = Arrival(came, self.moment(window), self.raw(key, window, left), stays)
            stories[window] = (*stories.get(window, ()), arrival)
        return set(touched)

    def raw(self, key: Any, window: Window, places: Places) -> int | None:
        """What the timestamps combine to of all that lies in a window."""
        kept = self.keys[key]
        return self.holds.raw(e for own, e in kept.rows if places.get(own) == window)

    # Windows become others

    def move(self, key: Any, change: Change) -> set[Window]:
        """Let windows become others, all at once; what nobody takes over is taken back at once.

        What has to speak at once is returned.
        """
        kept = self.keys[key]
        stories, old, new = dict(kept.stories), change.old(), change.new()
        for window in old:
            del kept.stories[window]
            if kept.apart and panes_out(stories[window]):
                kept.ceased[window] = stories[window]
        speakers = self.correct(change, {window: outstanding(stories[window]) for window in old})
        for window in new:
            kept.stories[window] = self.begin(key, window, change, stories, window in speakers)
            kept.ceased.pop(window, None)
        kept.closed -= {*old, *new}
        return speakers

    def begin(
        self,
        key: Any,
        window: Window,
        change: Change,
        stories: dict[Window, Story],
        speaks: bool,
    ) -> Story:
        """The story of a window that comes from others, or that was there before, or that is new."""
        sources = tuple((source, stories[source]) for source in sorted(change.sources(window)))
        earlier = self.keys[key].ceased.get(window, ())
        if not (sources or earlier):
            return ()
        outputs = tuple(
            pane
            for source, story in sources
            for pane in (outstanding(story) if self.retracts else ())
            if self.heir(change, source, pane) == window
        )
        raw = self.raw(key, window, change.after)
        return (Merge(sources, window, self.moment(window), outputs, earlier, raw, speaks),)

    def correct(self, change: Change, said: dict[Window, list[Pane]]) -> set[Window]:
        """Take back what windows said that have come apart, and say what is left of them."""
        speakers: set[Window] = set()
        if not self.retracts:
            return speakers
        for window in sorted(said):
            lost = [pane for pane in said[window] if self.heir(change, window, pane) is None]
            self.take_back(lost)
            if lost:
                speakers |= change.heirs(window) - {pane.window for pane in said[window]}
        return speakers

    def heir(self, change: Change, window: Window, pane: Pane) -> Window | None:
        """The window that takes over an output of another one: that in which it lies, if there is one.

        Where windows never come apart, it is the one that the other has become.
        """
        start, end = pane.window
        heirs = sorted(change.heirs(window))
        if not self.stage.comes_apart:
            return heirs[0]
        return next((w for w in heirs if w[0] <= start and end <= w[1]), None)

    def speak_at_once(self, key: Any, window: Window) -> None:
        kept, moment = self.keys[key], self.moment(window)
        out = self.say(key, window, self.expired(window))
        kept.stories[window] = (*kept.stories[window], Unasked(moment, out))
        kept.closed |= {window} if self.expired(window) else set()

    # Triggers

    def done(self, story: Story) -> bool:
        return self.strategy.trigger.done(told(story))

    def wakes(self, story: Story, window: Window, before: Moment) -> bool:
        """Whether something that its trigger waits for has come to pass since a moment."""
        wakes = self.strategy.trigger.wakes
        return not self.done(story) and wakes(told(story), before, self.moment(window))

    def ask(self, key: Any, window: Window) -> None:
        """Let a window fire if it is ready, or if it will not get another chance."""
        kept = self.keys[key]
        if window in kept.closed:
            return
        self.asked.add((key, window))
        story, moment, expired = kept.stories[window], self.moment(window), self.expired(window)
        done = self.done(story)
        ready = not done and self.strategy.trigger.ready(told(story), moment)
        if (ready or expired) and (has_news(story) or not done):
            closing = expired or self.done((*story, Firing(moment)))
            out, spoke = self.fire(key, window, closing)
            if ready:
                kept.stories[window] = (*story, Firing(moment, out, spoke))
            elif spoke:
                kept.stories[window] = (*story, Unasked(moment, out))
        if expired:
            kept.closed.add(window)

    # Panes

    def fire(self, key: Any, window: Window, closing: bool) -> tuple[Pane | None, bool]:
        """Send what the firing of a window has to say; return its value, and whether there was any."""
        story, moment, strategy = self.keys[key].stories[window], self.moment(window), self.strategy
        timing = self.timing(story, moment)
        on_time = timing == "ON_TIME" and strategy.on_time and strategy.trigger.has_on_time
        if not (has_news(story) or on_time or (closing and strategy.closing)):
            return None, False
        return self.say(key, window, closing), True

    def say(self, key: Any, window: Window, closing: bool) -> Pane | None:
        """Send a pane, after what it replaces has been taken back; return its value that went out."""
        pane = self.next_pane(key, window, closing)
        out = [attrs.evolve(pane, value=v, diff=d) for v, d in self.values(key, window)]
        if self.retracts:
            self.take_back(outstanding(self.keys[key].stories[window]))
        self.played.panes += out
        return out[-1] if out else None

    def take_back(self, panes: list[Pane]) -> None:
        self.played.panes += [attrs.evolve(pane, diff=-1, event=self.event) for pane in panes]

    @property
    def retracts(self) -> bool:
        return self.strategy.mode == "RETRACTING"

    def values(self, key: Any, window: Window) -> list[tuple[Any, int]]:
        contents, kept = self.stage.contents, self.keys[key]
        if self.strategy.mode == "DISCARDING":
            return contents.changes([e for a in fresh(kept.stories[window]) for e in a.elements])
        elements = kept.elements(window)
        if self.retracts and contents.vanished(elements):
            return []
        return [(contents.all(elements), 1)]

    def timing(self, story: Story, moment: Moment) -> str:
        if past_early(story):
            return "LATE"
        return "ON_TIME" if moment.past_window else "EARLY"

    def next_pane(self, key: Any, window: Window, closing: bool) -> Pane:
        """The pane that is due, all but its value."""
        kept, moment = self.keys[key], self.moment(window)
        story = kept.stories[window]
        before, timing = panes_out(story), self.timing(story, moment)
        nonspeculative = sum(p.timing != "EARLY" for p in before) if timing != "EARLY" else -1
        return Pane(
            key=key,
            window=window,
            value=None,
            diff=1,
            timestamp=self.holds.stamp(story, self.raw(key, window, kept.places()), moment),
            timing=timing,
            index=len(before),
            nonspeculative=nonspeculative,
            first=not before,
            last=closing,
            event=self.event,
        )

    # What time it is

    def output_watermark(self) -> int:
        """How far the output is complete; a watermark never goes back."""
        bounds = [self.hold(w, s) for kept in self.keys.values() for w, s in kept.stories.items()]
        reached = least([self.watermark, *bounds])
        return max([reached, *self.played.watermarks[-1:]])

    def hold(self, window: Window, story: Story) -> int | None:
        """What holds the output watermark back on account of a window.

        A grouping behind that keeps merging windows gets some that reach as far back as their start;
        or further, if they merge where they do not overlap.
        """
        held, of = self.holds.held(story), self.holds
        starts = self.stage.inherited and of.merges
        known = of.reach if isinstance(self.strategy.windows, Sessions) else 0
        start = window[0] + of.lateness + known - 1 if starts else None
        return least([held.pane, held.recall, start])

    def moment(self, window: Window) -> Moment:
        return Moment(self.watermark, self.now, window[1] - 1)

    def expired(self, window: Window) -> bool:
        return self.watermark >= self.holds.expiry(window)

    def gone(self, window: Window) -> bool:
        return self.watermark >= self.holds.forget(window)
