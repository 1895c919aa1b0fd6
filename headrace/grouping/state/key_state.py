"""The state of one key of a grouping: its live windows with their timers and holds.

The state is small plain data, which a state store can write (:func:`freeze`, :func:`thaw`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter
from typing import Any, NamedTuple

import attrs

from headrace.grouping.reduction import Content
from headrace.grouping.state.parts import Parts
from headrace.grouping.state.timer_queue import TimerQueue
from headrace.stored_formats import KEY_STATE, check_format
from headrace.triggers.pane import PaneInfo
from headrace.triggers.trigger import NEVER, TriggerState
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow


class Output(NamedTuple):
    """A pane that was emitted and may have to be retracted."""

    value: Any
    timestamp: int
    window: BoundedWindow
    pane: PaneInfo


@attrs.define(slots=True)
class WindowState:
    """The state of one window of one key.

    Attributes:
        trigger: state of the trigger.
        content: the content of the next pane.
        pending: the number of elements since the last pane, and of unretracted panes of windows that have
            since merged or changed; if it is 0, the next pane is empty.
        index: number of the next pane.
        nonspeculative: number of the next pane that is not EARLY.
        past_early: whether this window, or one merged into it, has fired a pane that was not EARLY.
        outputs: the last panes that have not been retracted, in order of window start.
        expired: whether it has fired its last pane and is retained for elements that can still join it.
        earliest: the earliest timestamp so far, if the timestamp of a pane can become earlier.
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


class PaneNumbers(NamedTuple):
    """The pane numbers from which a window continues if it returns (see :class:`WindowState`)."""

    next_index: int
    next_nonspeculative: int
    past_early: bool


@attrs.define(slots=True)
class KeyState:
    """The state of one key.

    Attributes:
        windows: the windows that are kept: live ones, and retained ones that have expired.
        order: the same windows in order; only for merging window functions.
        event_timers: the watermarks at which windows are evaluated again.
        processing_timers: the processing times at which windows are evaluated again.
        holds: the timestamps of panes to come, which the output watermark must not pass.
        retraction_holds: how far the output watermark may go while a pane may still be retracted.
        start_hold: how far it may go while elements may join a window here from as early as its start.
        closed_until: every window that ended later than this is still kept; only for merging windows.
        parts: the parts of merged windows; only if windows can split.
        window_of_part: the window of each part, if it is not the window that covers the part.
        retired_numbers: pane numbers of windows that have merged or split, and may return.
        dropped: what was dropped from windows, by the elements' own windows, since retractions of it are
            dropped too; only for merging window functions and input with retractions.
    """

    windows: dict[BoundedWindow, WindowState] = attrs.field(factory=dict)
    order: list[BoundedWindow] = attrs.field(factory=list)
    event_timers: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)
    processing_timers: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)
    holds: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)
    retraction_holds: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)
    start_hold: int = NEVER
    closed_until: int = MIN_MICROS
    parts: Parts = attrs.field(factory=Parts)
    window_of_part: dict[BoundedWindow, BoundedWindow] = attrs.field(factory=dict)
    retired_numbers: dict[BoundedWindow, PaneNumbers] = attrs.field(factory=dict)
    dropped: dict[BoundedWindow, Content] = attrs.field(factory=dict)

    @property
    def hold(self) -> int:
        """The event time that the output watermark must not pass; NEVER if there is no hold."""
        return min(self.holds.first, self.retraction_holds.first, self.start_hold)

    @property
    def is_empty(self) -> bool:
        """Whether the state is empty."""
        return not (self.windows or self.retired_numbers or self.dropped or len(self.parts))

    def forget(self, window: BoundedWindow) -> None:
        """Remove a live window, with its timers and holds."""
        del self.windows[window]
        for queue in self.queues:
            queue.set(window, NEVER)

    @property
    def queues(self) -> tuple[TimerQueue[BoundedWindow], ...]:
        """The timers and holds of windows."""
        return self.event_timers, self.processing_timers, self.holds, self.retraction_holds

    def forget_retired(self, window: BoundedWindow) -> None:
        """Remove what is kept of a window that is not live, or of a part that belongs to no window."""
        self.retired_numbers.pop(window, None)
        self.dropped.pop(window, None)
        self.parts.forget(window)

    def add_window(self, window: BoundedWindow, state: WindowState) -> None:
        """Add a live window to a key whose windows merge, and cancel the cleanup timer that it may have."""
        self.event_timers.set(window, NEVER)
        self.windows[window] = state
        insort(self.order, window)

    def remove_window(self, window: BoundedWindow) -> WindowState:
        """Remove a live window from a key whose windows merge, and return its state."""
        state = self.windows[window]
        self.forget(window)
        del self.order[bisect_left(self.order, window)]
        return state


_values_of = attrgetter(*(field.name for field in attrs.fields(WindowState)))


def freeze(key: KeyState) -> tuple[Any, ...]:
    """Return the state of a key as plain data.

    >>> thaw(freeze(KeyState()), merging=False) == KeyState()
    True
    """
    windows = [(window, *_values_of(state)) for window, state in key.windows.items()]
    moments = [queue.moments for queue in key.queues]
    bounds = key.start_hold, key.closed_until
    kept = key.window_of_part, key.retired_numbers, key.dropped
    return (KEY_STATE, windows, moments, bounds, key.parts.freeze(), *kept)


def thaw(frozen: tuple[Any, ...], merging: bool) -> KeyState:
    """Make the state of a key from plain data.

    Args:
        frozen: the data that :func:`freeze` returned.
        merging: whether the key's windows merge.

    Raises:
        PipelineError: the data has another version of the format.
    """
    version, *_ = frozen
    check_format("the stored state", version, "key state")
    _, rows, moments, bounds, parts, window_of_part, retired_numbers, dropped = frozen
    windows = {window: WindowState(*values) for window, *values in rows}
    order = sorted(windows) if merging else []
    queues, kept = map(TimerQueue, moments), (window_of_part, retired_numbers, dropped)
    fields: tuple[Any, ...] = windows, order, *queues, *bounds, Parts.thaw(parts), *kept
    return KeyState(*fields)
