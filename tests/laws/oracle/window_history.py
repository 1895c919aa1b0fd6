"""The history of a window: all its events in order, and functions of it.

A history is a tuple of arrivals, firings and merges. A merge holds the histories of the source windows. When
a window splits, its history is a source of each part.
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
    """An input element; ``windows`` are its present windows, for a grouping that assigns no new ones."""

    key: Any
    value: Any = attrs.field(hash=False)
    timestamp: int
    diff: int = 1
    windows: tuple[Window, ...] | None = None


@attrs.frozen
class Pane:
    """An output element, and the number of the script event that caused it."""

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
class WindowClock:
    """The input watermark, the processing time, and the last timestamp of the window."""

    watermark: int
    now: int
    last: int

    @property
    def past_window(self) -> bool:
        return self.watermark > self.last


@attrs.frozen(cache_hash=True)
class Arrival:
    """Elements that arrived together.

    ``combined_timestamp`` is the result of the timestamp combiner over all elements of the window at that
    time, or None if it has none. ``retained`` is false for elements after which nothing of their window is
    left.
    """

    elements: tuple[Element, ...]
    clock: WindowClock
    combined_timestamp: int | None = None
    retained: bool = True

    @property
    def now(self) -> int:
        return self.clock.now


@attrs.frozen(cache_hash=True)
class Firing:
    """A firing of the trigger; ``emitted``: whether it had output; ``pane``: the last output."""

    clock: WindowClock
    pane: Pane | None = attrs.field(default=None, hash=False)
    emitted: bool = False


@attrs.frozen(cache_hash=True)
class ForcedFiring:
    """A firing without the trigger: another window was split, or this one expired."""

    clock: WindowClock
    pane: Pane | None = attrs.field(default=None, hash=False)


@attrs.frozen(cache_hash=True)
class Merge:
    """The start of a window that results from other windows, with their histories.

    ``outputs`` are the outstanding panes of the sources that this window takes over. ``previous`` is its
    own history, if the same window existed before. With ``must_fire``, it fires at once, since panes of the
    sources that no window takes over are retracted. Without sources, the window starts anew.
    """

    sources: tuple[tuple[Window, History], ...]
    target: Window
    clock: WindowClock
    outputs: tuple[Pane, ...] = attrs.field(default=(), hash=False)
    previous: History = ()
    combined_timestamp: int | None = None
    must_fire: bool = False

    @property
    def continued(self) -> History:
        """The history that pane indexes continue from: that of the same window, as a source or before."""
        return dict(self.sources).get(self.target, self.previous)


History = tuple["Arrival | Firing | ForcedFiring | Merge", ...]


def seen_by_trigger(history: History) -> History:
    """The part of a history that the trigger sees."""
    entries = [
        attrs.evolve(h, sources=_sources_seen_by_trigger(h)) if isinstance(h, Merge) else h
        for h in history
    ]
    return tuple(
        h
        for h in entries
        if not isinstance(h, ForcedFiring) and not (isinstance(h, Merge) and not h.sources)
    )


def _sources_seen_by_trigger(merge: Merge) -> tuple[tuple[Window, History], ...]:
    return tuple((window, seen_by_trigger(source)) for window, source in merge.sources)


def arrivals(history: History) -> Iterator[Arrival]:
    """All arrivals."""
    for entry in history:
        if isinstance(entry, Arrival):
            yield entry
        elif isinstance(entry, Merge):
            for _, source in entry.sources:
                yield from arrivals(source)


def pending_arrivals(history: History) -> list[Arrival]:
    """The arrivals since the last firing."""
    result: list[Arrival] = []
    for entry in history:
        if isinstance(entry, Arrival):
            result.append(entry)
        elif isinstance(entry, Merge):
            result = [a for _, source in entry.sources for a in pending_arrivals(source)]
        else:
            result = []
    return result


def has_pending(history: History) -> bool:
    """Whether there are pending arrivals, or outstanding panes in windows that no longer exist."""
    pending = False
    for entry in history:
        if isinstance(entry, Arrival):
            pending = True
        elif isinstance(entry, Merge):
            moved = any(p.window != entry.target for p in entry.outputs)
            pending = (
                moved or entry.must_fire or any(has_pending(source) for _, source in entry.sources)
            )
        else:
            pending = False
    return pending


def latest_combined_timestamp(history: History) -> int | None:
    """The combined timestamp of all elements that the window contains now."""
    for entry in reversed(history):
        if isinstance(entry, Arrival | Merge):
            return entry.combined_timestamp
    return None


def numbered_panes(history: History) -> list[Pane]:
    """The panes of this very window, which count for the index of the next one."""
    result: list[Pane] = []
    for entry in history:
        if isinstance(entry, Firing | ForcedFiring) and entry.pane:
            result.append(entry.pane)
        elif isinstance(entry, Merge):
            result = numbered_panes(entry.continued)
    return result


def has_fired_non_early(history: History) -> bool:
    """Whether this window, or one of its sources, has emitted an ON_TIME or LATE pane."""
    for entry in history:
        if isinstance(entry, Firing | ForcedFiring):
            if entry.pane and entry.pane.timing != "EARLY":
                return True
        elif isinstance(entry, Merge):
            before = [entry.previous, *(source for _, source in entry.sources)]
            if any(map(has_fired_non_early, before)):
                return True
    return False


def outstanding_panes(history: History) -> list[Pane]:
    """The outputs that are not retracted yet, in order of window start."""
    result: list[Pane] = []
    for entry in history:
        if isinstance(entry, ForcedFiring) or (isinstance(entry, Firing) and entry.emitted):
            result = [entry.pane] if entry.pane else []
        elif isinstance(entry, Merge):
            result = list(entry.outputs)
    return sorted(result, key=lambda pane: pane.window)
