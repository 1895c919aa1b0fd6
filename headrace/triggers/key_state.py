"""What a grouping remembers of one key: its live windows, and when they want attention.

All of it is small plain data, so that it can be written to a state store as it is (:func:`freeze`,
:func:`thaw`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter
from typing import Any, Final, NamedTuple

import attrs

from headrace.errors import HeadraceError
from headrace.triggers.pane import PaneInfo
from headrace.triggers.parts import Parts
from headrace.triggers.reduction import Content
from headrace.triggers.timer_queue import TimerQueue
from headrace.triggers.trigger import NEVER, TriggerState
from headrace.windowing.time import MIN_MICROS
from headrace.windowing.window import BoundedWindow

FORMAT: Final = 2
"""Version of the frozen form; raised whenever its shape changes."""


class Output(NamedTuple):
    """A pane that went out and may have to be retracted: everything that it said."""

    value: Any
    timestamp: int
    window: BoundedWindow
    pane: PaneInfo


@attrs.define(slots=True)
class WindowState:
    """One live window of one key.

    Attributes:
        trigger: state of the trigger.
        content: what the pane would hold.
        pending: how many elements have come since the last pane, and how many panes stand in windows
            that have merged or moved since; a pane with neither is empty.
        index: number of the next pane.
        nonspeculative: number of the next pane that is not EARLY.
        past_early: whether a pane that was not EARLY went out, of this window or of one merged into it.
        outputs: the last panes that have not been retracted, in order of window start.
        expired: whether it has sent its last pane, and is kept only for elements that still reach it.
        earliest: the earliest timestamp that has come, where the timestamp of a pane can become earlier.
    """

    trigger: TriggerState
    content: Content
    pending: int = 0
    index: int = 0
    nonspeculative: int = 0
    past_early: bool = False
    outputs: tuple[Output, ...] = ()
    expired: bool = False
    earliest: int = NEVER


class Numbers(NamedTuple):
    """The numbers with which a window goes on that may come back (see :class:`WindowState`)."""

    next_index: int
    next_nonspeculative: int
    past_early: bool


@attrs.define(slots=True)
class KeyState:
    """The live windows of one key.

    Attributes:
        windows: the live windows.
        order: the same in order, kept only for window functions that merge.
        event_timers: the watermarks that windows wait for.
        processing_timers: the processing times that windows wait for.
        holds: the timestamps of panes to come, which the output watermark may not pass.
        retraction_holds: how far the output watermark may go before panes that stand are retracted.
        start: how far it may go while windows are kept that others may join from as far back as their start.
        since: no window of the key that ends later than this is gone; only for windows that merge.
        parts: what windows were merged from; kept only where they can come apart again.
        homes: the window of each part, where it is not the one that covers it.
        ceased: numbers of windows that have become others, and may come back.
    """

    windows: dict[BoundedWindow, WindowState] = attrs.field(factory=dict)
    order: list[BoundedWindow] = attrs.field(factory=list)
    event_timers: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)
    processing_timers: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)
    holds: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)
    retraction_holds: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)
    start: int = NEVER
    since: int = MIN_MICROS
    parts: Parts = attrs.field(factory=Parts)
    homes: dict[BoundedWindow, BoundedWindow] = attrs.field(factory=dict)
    ceased: dict[BoundedWindow, Numbers] = attrs.field(factory=dict)

    @property
    def hold(self) -> int:
        """The moment that the output watermark may not pass; NEVER if there is none."""
        return min(self.holds.first, self.retraction_holds.first, self.start)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return not (self.windows or self.ceased or len(self.parts))

    def forget(self, window: BoundedWindow) -> None:
        """Let a live window go, with all its moments."""
        del self.windows[window]
        for timers in (
            self.event_timers,
            self.processing_timers,
            self.holds,
            self.retraction_holds,
        ):
            timers.set(window, NEVER)

    def leave(self, window: BoundedWindow) -> None:
        """Forget what is left of a window that is no more, or of a part that is in none."""
        self.ceased.pop(window, None)
        self.parts.forget(window)

    def add_window(self, window: BoundedWindow, state: WindowState) -> None:
        """Add a live window to a key whose windows merge; it may have waited to be forgotten."""
        self.event_timers.set(window, NEVER)
        self.windows[window] = state
        insort(self.order, window)

    def remove_window(self, window: BoundedWindow) -> None:
        """Let a live window go from a key whose windows merge."""
        self.forget(window)
        del self.order[bisect_left(self.order, window)]


_values_of = attrgetter(*(field.name for field in attrs.fields(WindowState)))


def freeze(key: KeyState) -> tuple[Any, ...]:
    """Return the state of a key as plain data.

    >>> thaw(freeze(KeyState()), merging=False) == KeyState()
    True
    """
    windows = [(window, *_values_of(state)) for window, state in key.windows.items()]
    timers = (key.event_timers, key.processing_timers, key.holds, key.retraction_holds)
    moments = [queue.moments for queue in timers]
    bounds = key.start, key.since
    return FORMAT, windows, moments, bounds, key.parts.freeze(), key.homes, key.ceased


def thaw(frozen: tuple[Any, ...], merging: bool) -> KeyState:
    """Make the state of a key from what :func:`freeze` gave.

    Args:
        frozen: the plain data.
        merging: whether the key's windows merge.

    Raises:
        HeadraceError: the data was written by another version of the format.
    """
    version, *_ = frozen
    if version != FORMAT:
        raise HeadraceError(
            f"the stored state has format {version}, and this version reads format {FORMAT}",
            remedy="read it with the version of Headrace that wrote it, or start from a new checkpoint",
        )
    _, rows, moments, bounds, parts, homes, ceased = frozen
    windows = {window: WindowState(*values) for window, *values in rows}
    order = sorted(windows) if merging else []
    event_timers, processing_timers, holds, retraction_holds = map(TimerQueue, moments)
    start, since = bounds
    return KeyState(
        windows=windows,
        order=order,
        event_timers=event_timers,
        processing_timers=processing_timers,
        holds=holds,
        retraction_holds=retraction_holds,
        start=start,
        since=since,
        parts=Parts.thaw(parts),
        homes=homes,
        ceased=ceased,
    )
