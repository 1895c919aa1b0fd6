"""Windows that have not fired yet, or whose last pane was the one at their end.

Such a window needs no state of a trigger and no timers of its own: its content is enough, and after the
pane the value that may have to be retracted, and the number of EARLY panes before it. A
:class:`~headrace.grouping.state.key_state.KeyState` is made of it only when a late pane is possible, and
replaced by it again if no window of the key needs more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headrace.grouping.grouping import Grouping
from headrace.grouping.reduction import Content
from headrace.grouping.state.key_state import KeyState, Output, WindowState
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock, Trigger, TriggerState
from headrace.windowing.window import BoundedWindow


class LightWindow(NamedTuple):
    """A window that has not fired, or whose last pane was the one at its end.

    Attributes:
        window: the window.
        content: the content of the next pane; in discarding mode None after the pane.
        fired: whether it has had the pane at its end.
        output: that pane, if it may have to be retracted.
        early: the number of EARLY panes before it.
    """

    window: BoundedWindow
    content: Content
    fired: bool = False
    output: Output | None = None
    early: int = 0


def key_state(
    grouping: Grouping, windows: Iterable[LightWindow], closed_until: int, clock: Clock
) -> KeyState:
    """Return the full state of a key with light windows.

    Args:
        grouping: the grouping of the key.
        windows: the windows, in order.
        closed_until: every window that ended later than this is still kept; only for merging windows.
        clock: the current times.
    """
    key = KeyState(closed_until=closed_until)
    for found in windows:
        _add(grouping, key, found, clock)
        if grouping.merges:
            key.order.append(found.window)
        grouping.set_timers(key, found.window, clock)
    return key


def _add(grouping: Grouping, key: KeyState, found: LightWindow, clock: Clock) -> None:
    """Add a window to the state of a key, without its timers."""
    window, strategy = found.window, grouping.strategy
    if not found.fired:
        key.windows[window] = WindowState(strategy.trigger.start, found.content, pending=1)
        key.holds.set(window, window.last)
        return
    key.windows[window] = WindowState(
        trigger=_after_firing(strategy.trigger, window, clock),
        content=grouping.reduction.empty() if strategy.discards else found.content,
        index=found.early + 1,
        nonspeculative=1,
        past_early=True,
        outputs=() if found.output is None else (found.output,),
        expired=strategy.is_late(window.last, clock.watermark),
    )
    grouping.times.update_retraction_hold(key, window, clock.watermark)


def light_windows(
    strategy: WindowingStrategy, key: KeyState, clock: Clock
) -> list[LightWindow] | None:
    """Return the windows of a key in order; None if one of them needs more than its content."""
    if key.processing_timers.first != NEVER:
        return None
    found = [_window(strategy, key, window, clock) for window in sorted(key.windows)]
    known = [window for window in found if window is not None]
    return known if len(known) == len(found) else None


def _window(
    strategy: WindowingStrategy, key: KeyState, window: BoundedWindow, clock: Clock
) -> LightWindow | None:
    """Return a window if :func:`key_state` makes the same state of it; else None.

    After an EARLY pane there is no hold until the next element, so such a window needs its full state.
    """
    state, trigger = key.windows[window], strategy.trigger
    if not state.past_early:
        held = key.holds.get(window) == window.last
        new = state.trigger == trigger.start
        return LightWindow(window, state.content) if new and held else None
    early = state.index - 1
    fired_at_end = state.nonspeculative == 1 and not state.pending
    if not fired_at_end or state.trigger != _after_firing(trigger, window, clock):
        return None
    if early and strategy.window_fn.is_merging():
        return None
    content = None if strategy.discards else state.content
    return LightWindow(window, content, True, next(iter(state.outputs), None), early)


def _after_firing(trigger: Trigger, window: BoundedWindow, clock: Clock) -> TriggerState:
    return trigger.on_fire(trigger.start, window.last, clock)
