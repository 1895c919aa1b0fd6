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
from headrace.triggers.agenda import Agenda
from headrace.triggers.pane import PaneInfo
from headrace.triggers.reduction import Content
from headrace.triggers.strategy import WindowingStrategy
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
        fresh: how many elements have come since the last pane, and how many panes stand in windows
            that have merged or moved since; a pane with neither is empty.
        index: number of the next pane.
        nonspeculative: number of the next pane that is not EARLY.
        past_early: whether a pane that was not EARLY went out, of this window or of one merged into it.
        outputs: the last panes that have not been retracted, in order of window start.
    """

    trigger: TriggerState
    content: Content
    fresh: int = 0
    index: int = 0
    nonspeculative: int = 0
    past_early: bool = False
    outputs: tuple[Output, ...] = ()


@attrs.define(slots=True)
class KeyState:
    """The live windows of one key.

    Attributes:
        windows: the live windows.
        order: the same in order, kept only for window functions that merge.
        dues: the watermarks that windows wait for.
        alarms: the processing times that windows wait for.
        holds: the timestamps of panes to come, which the output watermark may not pass.
        recalls: how far the output watermark may go before panes that stand are retracted.
    """

    windows: dict[BoundedWindow, WindowState] = attrs.field(factory=dict)
    order: list[BoundedWindow] = attrs.field(factory=list)
    dues: Agenda[BoundedWindow] = attrs.field(factory=Agenda)
    alarms: Agenda[BoundedWindow] = attrs.field(factory=Agenda)
    holds: Agenda[BoundedWindow] = attrs.field(factory=Agenda)
    recalls: Agenda[BoundedWindow] = attrs.field(factory=Agenda)

    @property
    def hold(self) -> int:
        """The moment that the output watermark may not pass; NEVER if there is none."""
        return min(self.holds.first, self.recalls.first)

    def forget(self, window: BoundedWindow) -> None:
        """Let a live window go, with all its moments."""
        del self.windows[window]
        for agenda in (self.dues, self.alarms, self.holds, self.recalls):
            agenda.set(window, NEVER)

    def enlist(self, window: BoundedWindow, state: WindowState) -> None:
        """Add a live window to a key whose windows merge."""
        self.windows[window] = state
        insort(self.order, window)

    def strike(self, window: BoundedWindow) -> None:
        """Let a live window go from a key whose windows merge."""
        self.forget(window)
        del self.order[bisect_left(self.order, window)]


def recall(state: WindowState, last: int, strategy: WindowingStrategy) -> int:
    """Return how far the output watermark may go before the panes that stand have been retracted.

    Groupings behind this one allow as much lateness, so up to there none of them drops a retraction
    apart from what replaces it. NEVER, if nothing can be retracted, or not as late as that: a pane at
    the end of its window is not, unless the window has grown since.

    Args:
        state: the window.
        last: its last instant, in microseconds.
        strategy: of the grouping.
    """
    if not state.outputs:
        return NEVER
    standing = (pane.timestamp for pane in state.outputs if not pane.pane.is_last)
    latest = min(standing, default=NEVER) + strategy.allowed_lateness
    return latest if latest + 1 < strategy.expiry(last) else NEVER


_values_of = attrgetter(*(field.name for field in attrs.fields(WindowState)))


def freeze(key: KeyState) -> tuple[Any, ...]:
    """Return the state of a key as plain data.

    >>> thaw(freeze(KeyState()), merging=False) == KeyState()
    True
    """
    windows = [(window, *_values_of(state)) for window, state in key.windows.items()]
    agendas = (key.dues, key.alarms, key.holds, key.recalls)
    return FORMAT, windows, *(agenda.moments for agenda in agendas)


def thaw(frozen: tuple[Any, ...], merging: bool) -> KeyState:
    """Make the state of a key from what :func:`freeze` gave.

    Args:
        frozen: the plain data.
        merging: whether the key's windows merge.

    Raises:
        HeadraceError: the data was written by another version of the format.
    """
    version, rows, *moments = frozen
    if version != FORMAT:
        raise HeadraceError(
            f"the stored state has format {version}, and this version reads format {FORMAT}",
            remedy="read it with the version of Headrace that wrote it, or start from a new checkpoint",
        )
    windows = {window: WindowState(*values) for window, *values in rows}
    return KeyState(windows, sorted(windows) if merging else [], *map(Agenda, moments))
