"""The story of a window: all that has happened to it, in order, and what follows from that.

A story is a tuple of arrivals, firings and merges. A merge holds the stories of the windows
that a window comes from: several that become one, or one that comes apart, and then its story is part
of the stories of all that is left of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

Window = tuple[int, int]

MAX = 9_223_372_036_854_775_000
MIN = -MAX
GLOBAL: Window = (MIN, MAX - 86_400_000_000)


@attrs.frozen(cache_hash=True)
class Element:
    """What comes in; ``windows`` are those that it already lies in, if it gets no new ones."""

    key: Any
    value: Any = attrs.field(hash=False)
    timestamp: int
    diff: int = 1
    windows: tuple[Window, ...] | None = None


@attrs.frozen
class Pane:
    """What goes out, and the number of the event that made it."""

    key: Any
    window: Window
    value: Any
    diff: int
    timestamp: int
    timing: str
    index: int
    nonspeculative: int
    first: bool
    last: bool
    event: int


@attrs.frozen
class Moment:
    """What time it is: input watermark, processing time, and the last instant of the window."""

    watermark: int
    now: int
    last: int

    @property
    def past_window(self) -> bool:
        return self.watermark > self.last


@attrs.frozen(cache_hash=True)
class Arrival:
    """Elements that came together.

    ``raw`` is the timestamp that all elements combine to that the window holds then, and None if they
    combine to none. ``stays`` is false of elements that left nothing of the window that they lie in.
    """

    elements: tuple[Element, ...]
    moment: Moment
    raw: int | None = None
    stays: bool = True

    @property
    def now(self) -> int:
        return self.moment.now


@attrs.frozen(cache_hash=True)
class Firing:
    """The trigger fired; ``out`` is the value that went out, ``changed`` whether anything did."""

    moment: Moment
    out: Pane | None = attrs.field(default=None, hash=False)
    changed: bool = False


@attrs.frozen(cache_hash=True)
class Unasked:
    """The window spoke, and its trigger knows nothing of it: another one came apart, or it expired."""

    moment: Moment
    out: Pane | None = attrs.field(default=None, hash=False)


@attrs.frozen(cache_hash=True)
class Merge:
    """The windows that a window comes from, with their stories.

    ``outputs`` are those of theirs that it takes over. ``earlier`` is its own story, if it has stood
    before. It ``speaks`` at once if others of theirs, which nobody takes over, are taken back. Without
    sources it is a window that begins anew.
    """

    sources: tuple[tuple[Window, Story], ...]
    target: Window
    moment: Moment
    outputs: tuple[Pane, ...] = attrs.field(default=(), hash=False)
    earlier: Story = ()
    raw: int | None = None
    speaks: bool = False

    @property
    def same(self) -> Story:
        """The story whose numbers go on: that of the same window, now or before."""
        return dict(self.sources).get(self.target, self.earlier)


Story = tuple["Arrival | Firing | Unasked | Merge", ...]


def told(story: Story) -> Story:
    """What of a story its trigger gets to know."""
    heard = [attrs.evolve(h, sources=_told(h)) if isinstance(h, Merge) else h for h in story]
    return tuple(
        h
        for h in heard
        if not isinstance(h, Unasked) and not (isinstance(h, Merge) and not h.sources)
    )


def _told(merge: Merge) -> tuple[tuple[Window, Story], ...]:
    return tuple((window, told(source)) for window, source in merge.sources)


def arrivals(story: Story) -> Iterator[Arrival]:
    """Everything that ever came."""
    for happening in story:
        if isinstance(happening, Arrival):
            yield happening
        elif isinstance(happening, Merge):
            for _, source in happening.sources:
                yield from arrivals(source)


def fresh(story: Story) -> list[Arrival]:
    """What came since the last firing."""
    found: list[Arrival] = []
    for happening in story:
        if isinstance(happening, Arrival):
            found.append(happening)
        elif isinstance(happening, Merge):
            found = [a for _, source in happening.sources for a in fresh(source)]
        else:
            found = []
    return found


def has_news(story: Story) -> bool:
    """Whether something is fresh, or what was said was said of windows that are no more."""
    news = False
    for happening in story:
        if isinstance(happening, Arrival):
            news = True
        elif isinstance(happening, Merge):
            moved = any(p.window != happening.target for p in happening.outputs)
            news = (
                moved
                or happening.speaks
                or any(has_news(source) for _, source in happening.sources)
            )
        else:
            news = False
    return news


def panes_out(story: Story) -> list[Pane]:
    """The panes that count for the numbers of the next one: those of this very window."""
    found: list[Pane] = []
    for happening in story:
        if isinstance(happening, Firing | Unasked) and happening.out:
            found.append(happening.out)
        elif isinstance(happening, Merge):
            found = panes_out(happening.same)
    return found


def past_early(story: Story) -> bool:
    """Whether a pane that was not early ever went out, here or from where the window comes from."""
    for happening in story:
        if isinstance(happening, Firing | Unasked):
            if happening.out and happening.out.timing != "EARLY":
                return True
        elif isinstance(happening, Merge):
            before = [happening.earlier, *(source for _, source in happening.sources)]
            if any(map(past_early, before)):
                return True
    return False


def outstanding(story: Story) -> list[Pane]:
    """The outputs that still stand, in order of window start."""
    found: list[Pane] = []
    for happening in story:
        if isinstance(happening, Unasked) or (isinstance(happening, Firing) and happening.changed):
            found = [happening.out] if happening.out else []
        elif isinstance(happening, Merge):
            found = list(happening.outputs)
    return sorted(found, key=lambda pane: pane.window)
