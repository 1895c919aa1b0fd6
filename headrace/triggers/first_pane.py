"""Windows with at most one pane so far, in groupings that fire the first pane of a window at its end.

Such a window needs no state of a trigger and no timers of its own: its content is enough, and after the
pane the value that may have to be retracted. A :class:`~headrace.triggers.key_state.KeyState` is made of it
only when a second pane is possible, and replaced by it again if no window of the key needs more.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from headrace.triggers.key_state import KeyState, Output, WindowState
from headrace.triggers.output_times import OutputTimes
from headrace.triggers.reduction import Content, Reduction
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock, Trigger
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window import BoundedWindow


def fires_first_at_end(strategy: WindowingStrategy, changing: bool) -> bool:
    """Return whether a window with elements has its first pane exactly at its end, with its end as timestamp.

    Args:
        strategy: where, when and how.
        changing: whether the input can hold retractions.
    """
    return (
        strategy.trigger.fires_only_at_end
        and strategy.timestamp_combiner is TimestampCombiner.OUTPUT_AT_EOW
        and strategy.closing is not ClosingBehavior.FIRE_ALWAYS
        and not (changing or strategy.late_tag)
    )


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
        strategy: where, when and how (:func:`fires_first_at_end`).
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
            key.windows[window] = WindowState(self._trigger.start, found.content, pending=1)
            key.holds.set(window, window.last)
            return
        discarding = self.strategy.accumulation_mode is AccumulationMode.DISCARDING
        key.windows[window] = WindowState(
            trigger=self._after_firing(window, clock),
            content=self.reduction.empty() if discarding else found.content,
            index=1,
            nonspeculative=1,
            past_early=True,
            outputs=() if found.output is None else (found.output,),
            expired=self.strategy.expiry(window.last) <= clock.watermark,
        )
        self.times.update_retraction_hold(key, window, clock.watermark)

    def windows(self, key: KeyState, clock: Clock) -> list[FirstPaneWindow] | None:
        """Return the windows of a key in order; None if one of them needs more than its content."""
        if key.retired_numbers or key.processing_timers.first != NEVER:
            return None
        found = [self._window(key, window, clock) for window in key.order]
        known = [window for window in found if window is not None]
        return known if len(known) == len(found) else None

    def _window(self, key: KeyState, window: BoundedWindow, clock: Clock) -> FirstPaneWindow | None:
        state = key.windows[window]
        if self._is_new(state):
            held = key.holds.get(window) == window.last
            return FirstPaneWindow(window, state.content) if held else None
        if not self._has_fired(state, window, clock):
            return None
        discarding = self.strategy.accumulation_mode is AccumulationMode.DISCARDING
        content = None if discarding else state.content
        return FirstPaneWindow(window, content, True, next(iter(state.outputs), None))

    def _is_new(self, state: WindowState) -> bool:
        """Return whether a window has had no pane, and replaces no window that has had one."""
        fired = state.past_early or state.index or state.outputs or state.expired
        return not fired and bool(state.pending) and bool(state.trigger == self._trigger.start)

    def _has_fired(self, state: WindowState, window: BoundedWindow, clock: Clock) -> bool:
        """Return whether a window has had exactly one pane, and no elements since."""
        retracting = self.strategy.accumulation_mode is AccumulationMode.RETRACTING
        numbers = state.index, state.nonspeculative, state.past_early, state.pending
        return (
            numbers == (1, 1, True, 0)
            and [output.window for output in state.outputs] == [window] * retracting
            and bool(state.trigger == self._after_firing(window, clock))
        )

    def _after_firing(self, window: BoundedWindow, clock: Clock) -> object:
        return self._trigger.on_fire(self._trigger.start, window.last, clock)

    @property
    def _trigger(self) -> Trigger:
        return self.strategy.trigger
