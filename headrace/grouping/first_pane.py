"""Windows with at most one pane so far, in groupings that fire the first pane of a window at its end.

Such a window needs no state of a trigger and no timers of its own: its content is enough, and after the
pane the value that may have to be retracted. A :class:`~headrace.grouping.state.key_state.KeyState` is made
of it only when a second pane is possible, and replaced by it again if no window of the key needs more.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from headrace.grouping.panes.output_times import OutputTimes
from headrace.grouping.reduction import Content, Reduction
from headrace.grouping.state.key_state import KeyState, Output, WindowState
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock, TriggerState
from headrace.windowing.window import BoundedWindow


class FirstPaneWindow(NamedTuple):
    """A window that has had at most one pane.

    Attributes:
        window: the window.
        content: the content of the next pane; in discarding mode None after the first pane.
        fired: whether it has had its first pane.
        output: that pane, if it may have to be retracted.
    """

    window: BoundedWindow
    content: Content
    fired: bool = False
    output: Output | None = None


@attrs.frozen
class FirstPaneStates:
    """Conversion between windows with at most one pane and the state of a key.

    Attributes:
        strategy: where, when and how.
        reduction: what a pane holds.
        times: timestamps and holds of panes.
    """

    strategy: WindowingStrategy
    reduction: Reduction
    times: OutputTimes

    def add(self, key: KeyState, found: FirstPaneWindow, clock: Clock) -> None:
        """Add a window to the state of a key, without its timers."""
        window = found.window
        if not found.fired:
            start = self.strategy.trigger.start
            key.windows[window] = WindowState(start, found.content, pending=1)
            key.holds.set(window, window.last)
            return
        key.windows[window] = WindowState(
            trigger=self._after_firing(window, clock),
            content=self.reduction.empty() if self._discards else found.content,
            index=1,
            nonspeculative=1,
            past_early=True,
            outputs=() if found.output is None else (found.output,),
            expired=self.strategy.expiry(window.last) <= clock.watermark,
        )
        self.times.update_retraction_hold(key, window, clock.watermark)

    def windows(self, key: KeyState, clock: Clock) -> list[FirstPaneWindow] | None:
        """Return the windows of a key in order; None if one of them needs more than its content."""
        if key.processing_timers.first != NEVER:
            return None
        found = [self._window(key, window, clock) for window in sorted(key.windows)]
        known = [window for window in found if window is not None]
        return known if len(known) == len(found) else None

    def _window(self, key: KeyState, window: BoundedWindow, clock: Clock) -> FirstPaneWindow | None:
        """Return a window if :meth:`add` makes the same state of it; else None.

        No pane is EARLY here, so that of its numbers only the index can differ.
        """
        state = key.windows[window]
        if not state.past_early:
            new = state.trigger == self.strategy.trigger.start
            held = key.holds.get(window) == window.last
            return FirstPaneWindow(window, state.content) if new and held else None
        if state.index != 1 or state.pending or state.trigger != self._after_firing(window, clock):
            return None
        content = None if self._discards else state.content
        return FirstPaneWindow(window, content, True, next(iter(state.outputs), None))

    @property
    def _discards(self) -> bool:
        return self.strategy.accumulation_mode is AccumulationMode.DISCARDING

    def _after_firing(self, window: BoundedWindow, clock: Clock) -> TriggerState:
        trigger = self.strategy.trigger
        return trigger.on_fire(trigger.start, window.last, clock)
