"""WHEN: is a trigger ready, is it done, is it time to ask? Told from its window's whole story.

A trigger inside another one has a story of its own, part of the story of the outer one: what it has
heard since it was last started (:func:`heard`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import attrs

from tests.oracle.story import Arrival, Firing, Merge, Moment, Story, arrivals, fresh


class Trigger:
    has_on_time = False

    def ready(self, story: Story, moment: Moment) -> bool:
        raise NotImplementedError

    def done(self, story: Story) -> bool:
        return False

    def wakes(self, story: Story, before: Moment, now: Moment) -> bool:
        """Whether something that it waits for has come to pass without anything arriving."""
        return self.ready(story, now) and not self.ready(story, before)


def fired(story: Story) -> bool:
    """Whether it has fired, here or in any of the windows that merged."""
    return any(
        any(fired(source) for _, source in h.sources)
        if isinstance(h, Merge)
        else isinstance(h, Firing)
        for h in story
    )


class Once(Trigger):
    """Fires once, on what has arrived; once fired, in any window, it stays done."""

    def done(self, story: Story) -> bool:
        return fired(story)


@attrs.frozen
class AfterCount(Once):
    count: int

    def ready(self, story: Story, moment: Moment) -> bool:
        return sum(len(a.elements) for a in arrivals(story)) >= self.count


@attrs.frozen
class AfterBytes(Once):
    """``measure`` says how many bytes the engine takes a value for."""

    size: int
    measure: Callable[[Any], int]

    def ready(self, story: Story, moment: Moment) -> bool:
        return sum(self.measure(e.value) for a in arrivals(story) for e in a.elements) >= self.size


@attrs.frozen
class AfterElement(Once):
    predicate: Callable[[Any], bool]

    def ready(self, story: Story, moment: Moment) -> bool:
        return any(self.predicate(e.value) for a in arrivals(story) for e in a.elements)


@attrs.frozen
class AfterProcessingTime(Once):
    delay: int = 0

    def ready(self, story: Story, moment: Moment) -> bool:
        return any(moment.now >= a.now + self.delay for a in arrivals(story))


@attrs.frozen
class AtPeriod(Once):
    period: int
    offset: int = 0

    def ready(self, story: Story, moment: Moment) -> bool:
        return any(self.number(moment.now) > self.number(a.now) for a in arrivals(story))

    def number(self, instant: int) -> int:
        return (instant - self.offset) // self.period


@attrs.frozen
class Always(Trigger):
    def ready(self, story: Story, moment: Moment) -> bool:
        return bool(fresh(story))


@attrs.frozen
class Never(Trigger):
    def ready(self, story: Story, moment: Moment) -> bool:
        return False


@attrs.frozen
class Default(Trigger):
    has_on_time = True

    def ready(self, story: Story, moment: Moment) -> bool:
        return moment.past_window


class Composite(Trigger):
    """A trigger made of others, its parts."""

    @property
    def parts(self) -> tuple[Trigger, ...]:
        raise NotImplementedError

    @property
    def has_on_time(self) -> bool:
        return any(part.has_on_time for part in self.parts)

    def on_arrival(self, i: int, own: Story, arrival: Arrival, before: Story) -> Story:
        return (*own, arrival)

    def on_firing(self, i: int, own: Story, firing: Firing, before: Story) -> Story:
        return (*own, firing)

    def on_merge(self, i: int, merge: Merge) -> Story:
        own = tuple((window, heard(self, i, source)) for window, source in merge.sources)
        return (attrs.evolve(merge, sources=own),)

    def waiting(self, story: Story) -> Iterable[int]:
        """The parts that it waits for."""
        return [i for i in range(len(self.parts)) if not self.part_done(i, story)]

    def wakes(self, story: Story, before: Moment, now: Moment) -> bool:
        return any(
            self.parts[i].wakes(heard(self, i, story), before, now) for i in self.waiting(story)
        )

    def part_ready(self, i: int, story: Story, moment: Moment) -> bool:
        return self.parts[i].ready(heard(self, i, story), moment)

    def part_done(self, i: int, story: Story) -> bool:
        return self.parts[i].done(heard(self, i, story))


@lru_cache(maxsize=1 << 14)
def heard(whole: Composite, i: int, story: Story) -> Story:
    """The own story of a part, out of the story of the whole."""
    if not story:
        return ()
    *earlier, happening = story
    before = tuple(earlier)
    own = heard(whole, i, before)
    if isinstance(happening, Arrival):
        return whole.on_arrival(i, own, happening, before)
    if isinstance(happening, Firing):
        return whole.on_firing(i, own, happening, before)
    return whole.on_merge(i, happening)


def restarted(trigger: Trigger, own: Story) -> Story:
    """A repeated trigger begins a new story when it is done."""
    return () if trigger.done(own) else own


@attrs.frozen
class Repeatedly(Composite):
    repeated: Trigger

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return (self.repeated,)

    def on_firing(self, i: int, own: Story, firing: Firing, before: Story) -> Story:
        return restarted(self.repeated, (*own, firing))

    def on_merge(self, i: int, merge: Merge) -> Story:
        return restarted(self.repeated, super().on_merge(i, merge))

    def ready(self, story: Story, moment: Moment) -> bool:
        return self.part_ready(0, story, moment)


@attrs.frozen
class AfterWatermark(Composite):
    early: Trigger = attrs.field(factory=Never, converter=lambda t: t or Never())
    late: Trigger | None = None
    has_on_time = True

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return (self.early, self.late or Never())

    def is_late(self, story: Story) -> bool:
        """Whether a firing has seen the end of the window; in a merged one, of all its sources."""
        late = False
        for happening in story:
            if isinstance(happening, Firing):
                late = late or happening.moment.past_window
            elif isinstance(happening, Merge):
                late = happening.moment.past_window and all(
                    self.is_late(source) for _, source in happening.sources
                )
        return late

    def speaks(self, i: int, story: Story) -> bool:
        return self.is_late(story) == (i == 1)

    def on_arrival(self, i: int, own: Story, arrival: Arrival, before: Story) -> Story:
        return (*own, arrival) if self.speaks(i, before) else own

    def on_firing(self, i: int, own: Story, firing: Firing, before: Story) -> Story:
        stays = self.speaks(i, before) and self.speaks(i, (*before, firing))
        return restarted(self.parts[i], (*own, firing)) if stays else ()

    def on_merge(self, i: int, merge: Merge) -> Story:
        merged = super().on_merge(i, merge) if self.speaks(i, (merge,)) else ()
        return restarted(self.parts[i], merged)

    def ready(self, story: Story, moment: Moment) -> bool:
        if self.is_late(story):
            return self.part_ready(1, story, moment)
        return moment.past_window or self.part_ready(0, story, moment)

    def waiting(self, story: Story) -> Iterable[int]:
        return [1 if self.is_late(story) else 0]

    def wakes(self, story: Story, before: Moment, now: Moment) -> bool:
        passed = now.past_window and not before.past_window
        return (passed and not self.is_late(story)) or super().wakes(story, before, now)

    def done(self, story: Story) -> bool:
        return self.late is None and self.is_late(story)


@attrs.frozen
class AfterAny(Composite):
    triggers: tuple[Trigger, ...]

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers

    def on_firing(self, i: int, own: Story, firing: Firing, before: Story) -> Story:
        return (*own, firing) if self.parts[i].ready(own, firing.moment) else ()

    def ready(self, story: Story, moment: Moment) -> bool:
        return any(self.part_ready(i, story, moment) for i in range(len(self.parts)))

    def done(self, story: Story) -> bool:
        return any(self.part_done(i, story) for i in range(len(self.parts)))


@attrs.frozen
class AfterAll(Composite):
    triggers: tuple[Trigger, ...]

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers

    def on_firing(self, i: int, own: Story, firing: Firing, before: Story) -> Story:
        return own if self.parts[i].done(own) else (*own, firing)

    def ready(self, story: Story, moment: Moment) -> bool:
        return all(
            self.part_done(i, story) or self.part_ready(i, story, moment)
            for i in range(len(self.parts))
        )

    def done(self, story: Story) -> bool:
        return all(self.part_done(i, story) for i in range(len(self.parts)))


@attrs.frozen
class AfterEach(Composite):
    triggers: tuple[Trigger, ...]

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return self.triggers

    def turn(self, story: Story) -> int:
        """Whose turn it is: the first that is not done."""
        n = len(self.parts)
        return next((i for i in range(n) if not self.part_done(i, story)), n)

    def on_arrival(self, i: int, own: Story, arrival: Arrival, before: Story) -> Story:
        return (*own, arrival) if i == self.turn(before) else own

    def on_firing(self, i: int, own: Story, firing: Firing, before: Story) -> Story:
        return (*own, firing) if i == self.turn(before) else own

    def on_merge(self, i: int, merge: Merge) -> Story:
        earlier_done = all(self.part_done(j, (merge,)) for j in range(i))
        return super().on_merge(i, merge) if earlier_done else ()

    def ready(self, story: Story, moment: Moment) -> bool:
        return self.part_ready(self.turn(story), story, moment)

    def waiting(self, story: Story) -> Iterable[int]:
        return [self.turn(story)]

    def done(self, story: Story) -> bool:
        return self.turn(story) == len(self.parts)


@attrs.frozen
class OrFinally(Composite):
    trigger: Trigger
    until: Trigger

    @property
    def parts(self) -> tuple[Trigger, ...]:
        return (self.trigger, self.until)

    def on_firing(self, i: int, own: Story, firing: Firing, before: Story) -> Story:
        over = self.part_ready(1, before, firing.moment)
        if i == 1:
            return (*own, firing) if over else own
        return () if over else (*own, firing)

    def ready(self, story: Story, moment: Moment) -> bool:
        return self.part_ready(0, story, moment) or self.part_ready(1, story, moment)

    def done(self, story: Story) -> bool:
        return self.part_done(0, story) or self.part_done(1, story)
