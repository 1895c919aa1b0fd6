"""What a grouping remembers of one key: its live windows, and when they want attention.

All of it is small plain data, so that it can be written to a state store as it is (:func:`freeze`,
:func:`thaw`). The three heaps are indexes over the windows: an entry counts only while its window still
names that very moment, so nothing is ever searched for or removed from the middle.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any, Final, NamedTuple

import attrs

from headrace.errors import HeadraceError
from headrace.triggers.pane import PaneInfo
from headrace.triggers.reduction import Content
from headrace.triggers.trigger import NEVER, TriggerState
from headrace.windowing.window import BoundedWindow

FORMAT: Final = 1
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
        fresh: how many elements have come since the last pane.
        hold: the timestamp of the pane to come, which the output watermark may not pass; NEVER if none.
        index: number of the next pane.
        nonspeculative: number of the next pane that is not EARLY.
        past_early: whether a pane that was not EARLY went out, of this window or of one merged into it.
        outputs: the last panes that have not been retracted, in order of window start.
        due: the watermark at which the window wants to be looked at.
        alarm: the processing time at which it wants to be looked at.
    """

    trigger: TriggerState
    content: Content
    fresh: int = 0
    hold: int = NEVER
    index: int = 0
    nonspeculative: int = 0
    past_early: bool = False
    outputs: tuple[Output, ...] = ()
    due: int = NEVER
    alarm: int = NEVER


_DUE: Final = attrgetter("due")
_ALARM: Final = attrgetter("alarm")
_HOLD: Final = attrgetter("hold")

_Heap = list[tuple[int, BoundedWindow]]


@attrs.define(slots=True)
class KeyState:
    """The live windows of one key, with heaps over their moments.

    ``order`` is the sorted list of live windows; it is kept only for window functions that merge.
    """

    windows: dict[BoundedWindow, WindowState] = attrs.field(factory=dict)
    order: list[BoundedWindow] = attrs.field(factory=list)
    dues: _Heap = attrs.field(factory=list)
    alarms: _Heap = attrs.field(factory=list)
    holds: _Heap = attrs.field(factory=list)

    def set_due(self, window: BoundedWindow, state: WindowState, moment: int) -> None:
        """Ask for attention when the watermark reaches a moment."""
        if moment != state.due:
            state.due = moment
            heappush(self.dues, (moment, window))

    def set_alarm(self, window: BoundedWindow, state: WindowState, moment: int) -> None:
        """Ask for attention when processing time reaches a moment."""
        if moment != state.alarm:
            state.alarm = moment
            if moment != NEVER:
                heappush(self.alarms, (moment, window))

    def set_hold(self, window: BoundedWindow, state: WindowState, moment: int) -> None:
        """Keep the output watermark from passing a moment; NEVER lets it go."""
        if moment != state.hold:
            state.hold = moment
            if moment != NEVER:
                heappush(self.holds, (moment, window))

    def pop_due(self, watermark: int) -> list[BoundedWindow]:
        """Take the windows that asked for a watermark no later than this, the earliest first."""
        popped = []
        while self.due <= watermark:
            window = heappop(self.dues)[1]
            self.windows[window].due = NEVER
            popped.append(window)
        return popped

    def pop_alarms(self, now: int) -> list[BoundedWindow]:
        """Take the windows that asked for a processing time no later than this, the earliest first."""
        popped = []
        while self.alarm <= now:
            window = heappop(self.alarms)[1]
            self.windows[window].alarm = NEVER
            popped.append(window)
        return popped

    @property
    def due(self) -> int:
        """The earliest watermark that a window waits for; NEVER if none."""
        return self._first(self.dues, _DUE)

    @property
    def alarm(self) -> int:
        """The earliest processing time that a window waits for; NEVER if none."""
        return self._first(self.alarms, _ALARM)

    @property
    def hold(self) -> int:
        """The moment that the output watermark may not pass; NEVER if none."""
        return self._first(self.holds, _HOLD)

    def _first(self, heap: _Heap, moment_of: Callable[[WindowState], int]) -> int:
        windows = self.windows
        while heap:
            moment, window = heap[0]
            state = windows.get(window)
            if state is not None and moment_of(state) == moment:
                return moment
            heappop(heap)
        return NEVER

    def enlist(self, window: BoundedWindow, state: WindowState) -> None:
        """Add a live window to a key whose windows merge."""
        self.windows[window] = state
        insort(self.order, window)

    def strike(self, window: BoundedWindow) -> None:
        """Forget a live window of a key whose windows merge."""
        del self.windows[window]
        del self.order[bisect_left(self.order, window)]


_FIELDS: Final = tuple(field.name for field in attrs.fields(WindowState))
_values_of: Final = attrgetter(*_FIELDS)


def freeze(key: KeyState) -> tuple[Any, ...]:
    """Return the state of a key as plain data.

    >>> thaw(freeze(KeyState()), merging=False) == KeyState()
    True
    """
    return FORMAT, [(window, *_values_of(state)) for window, state in key.windows.items()]


def thaw(frozen: tuple[Any, ...], merging: bool) -> KeyState:
    """Make the state of a key from what :func:`freeze` gave.

    Raises:
        HeadraceError: the data was written by another version of the format.
    """
    version, rows = frozen
    if version != FORMAT:
        raise HeadraceError(
            f"the stored state has format {version}, and this version reads format {FORMAT}",
            remedy="read it with the version of Headrace that wrote it, or start from a new checkpoint",
        )
    key = KeyState({window: WindowState(*values) for window, *values in rows})
    if merging:
        key.order = sorted(key.windows)
    for heap, moment_of in ((key.dues, _DUE), (key.alarms, _ALARM), (key.holds, _HOLD)):
        moments = ((moment_of(state), window) for window, state in key.windows.items())
        heap.extend(moment for moment in moments if moment[0] != NEVER)
        heapify(heap)
    return key
