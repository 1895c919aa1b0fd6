"""The story of a window: all that has happened to it, in order, and what follows from that.

A story is a tuple of arrivals, firings and merges; a merge holds the stories that it made one.
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
    """Elements that came together, and the output time of each, None for one that was late."""

    elements: tuple[Element, ...]
    times: tuple[int | None, ...]
    now: int


@attrs.frozen(cache_hash=True)
class Firing:
    """The trigger fired; ``out`` is the value that went out, ``changed`` whether anything did."""

    moment: Moment
    out: Pane | None = attrs.field(default=None, hash=False)
    changed: bool = False


@attrs.frozen(cache_hash=True)
class Merge:
    """The windows that were, with their stories, and the window that they became."""

    sources: tuple[tuple[Window, Story], ...]
    target: Window
    moment: Moment

    @property
    def same(self) -> Story:
        """The story that the merged window goes on with: that of a source of the same extent."""
        return dict(self.sources).get(self.target, ())


Story = tuple["Arrival | Firing | Merge", ...]


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
        elif isinstance(happening, Firing):
            found = []
        else:
            found = [a for _, source in happening.sources for a in fresh(source)]
    return found


def times(story: Story) -> list[int]:
    """The output times of what is fresh and was not late, none past the window that it is in."""
    found: list[int] = []
    for happening in story:
        if isinstance(happening, Arrival):
            found += [t for t in happening.times if t is not None]
        elif isinstance(happening, Firing):
            found = []
        else:
            moment, before = happening.moment, [t for _, s in happening.sources for t in times(s)]
            shrank = not before or moment.last < min(*before, moment.watermark)
            found = [] if shrank else [min(t, moment.last) for t in before]
    return found


def panes_out(story: Story) -> list[Pane]:
    """The panes that count for the numbers of the next one: a window that grew starts anew."""
    found: list[Pane] = []
    for happening in story:
        if isinstance(happening, Firing) and happening.out:
            found.append(happening.out)
        elif isinstance(happening, Merge):
            found = panes_out(happening.same)
    return found


def past_early(story: Story) -> bool:
    """Whether a pane that was not early ever went out, here or from a part of a merged window."""
    for happening in story:
        if isinstance(happening, Firing) and happening.out and happening.out.timing != "EARLY":
            return True
        if isinstance(happening, Merge) and any(past_early(s) for _, s in happening.sources):
            return True
    return False


def outstanding(story: Story) -> list[Pane]:
    """The outputs that still stand, in order of window start."""
    found: list[Pane] = []
    for happening in story:
        if isinstance(happening, Firing) and happening.changed:
            found = [happening.out] if happening.out else []
        elif isinstance(happening, Merge):
            found = [p for _, source in happening.sources for p in outstanding(source)]
    return sorted(found, key=lambda pane: pane.window)
