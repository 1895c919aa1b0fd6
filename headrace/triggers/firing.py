"""Firing: what a pane says, how it is called, and what it takes back."""

from __future__ import annotations

from typing import Final

from headrace.triggers.bundle import RETRACT
from headrace.triggers.contents import Contents
from headrace.triggers.key_state import KeyState, Output, WindowState
from headrace.triggers.output_times import OutputTimes
from headrace.triggers.pane import PaneInfo, PaneInfoTiming, pane_info
from headrace.triggers.pane_output import Panes
from headrace.triggers.reduction import Reduction
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER
from headrace.windowing.window import BoundedWindow

_EARLY: Final = PaneInfoTiming.EARLY
_ON_TIME: Final = PaneInfoTiming.ON_TIME
_LATE: Final = PaneInfoTiming.LATE


class Firing:
    """The panes of one grouping.

    Args:
        strategy: where, when and how.
        reduction: what a pane holds.
        contents: what windows hold.
        times: timestamps and holds of panes.
    """

    def __init__(
        self,
        strategy: WindowingStrategy,
        reduction: Reduction,
        contents: Contents,
        times: OutputTimes,
    ) -> None:
        self._strategy = strategy
        self._reduction = reduction
        self._contents = contents
        self._times = times
        self._empty_on_time = (
            strategy.on_time is OnTimeBehavior.FIRE_ALWAYS and strategy.trigger.has_on_time
        )
        self._empty_last = strategy.closing is ClosingBehavior.FIRE_ALWAYS
        self._send = {
            AccumulationMode.DISCARDING: self._send_and_discard,
            AccumulationMode.ACCUMULATING: self._send_all,
            AccumulationMode.RETRACTING: self._retract_and_send,
        }[strategy.accumulation_mode]

    def fire(
        self,
        key: KeyState,
        window: BoundedWindow,
        watermark: int,
        closing: bool,
        out: Panes,
        asked: bool = True,
    ) -> None:
        """Send a pane, unless it has nothing new and nobody wants it empty.

        Args:
            key: the key.
            window: one of its live windows.
            watermark: the input watermark, in microseconds.
            closing: whether it is the last pane of the window.
            out: takes the pane.
            asked: whether the trigger was asked; else the pane goes out in any case.
        """
        state = key.windows[window]
        timing = _timing(state, window.last, watermark)
        due_when_empty = (timing is _ON_TIME and self._empty_on_time) or (
            closing and self._empty_last
        )
        if asked and not (state.pending or due_when_empty):
            return
        early = timing is _EARLY
        pane = pane_info(timing, state.index, -1 if early else state.nonspeculative, closing)
        timestamp = self._times.timestamp(key, window, watermark)
        if self._send(key, window, timestamp, pane, out):
            state.index += 1
            state.nonspeculative += not early
            state.past_early = state.past_early or not early
        state.pending = 0
        key.holds.set(window, NEVER)
        self._times.recall(key, window, watermark)

    def speak(self, key: KeyState, window: BoundedWindow, watermark: int, out: Panes) -> None:
        """Send a pane for which no trigger was asked: what was said of its elements is taken back."""
        expired = self._strategy.expiry(window.last) <= watermark
        self.fire(key, window, watermark, expired, out, asked=False)
        key.windows[window].expired = expired

    def _send_and_discard(
        self, key: KeyState, window: BoundedWindow, timestamp: int, pane: PaneInfo, out: Panes
    ) -> bool:
        state = key.windows[window]
        for value, diff in self._reduction.deltas(state.content):
            out.emit(value, timestamp, window, pane, diff)
        state.content = self._reduction.empty()
        return True

    def _send_all(
        self, key: KeyState, window: BoundedWindow, timestamp: int, pane: PaneInfo, out: Panes
    ) -> bool:
        content = self._contents.of(key, window)
        out.emit(self._reduction.result(content), timestamp, window, pane)
        return True

    def _retract_and_send(
        self, key: KeyState, window: BoundedWindow, timestamp: int, pane: PaneInfo, out: Panes
    ) -> bool:
        state = key.windows[window]
        for old in state.outputs:
            out.emit(old.value, old.timestamp, old.window, old.pane, RETRACT)
        state.outputs = ()
        content = self._contents.of(key, window)
        if self._reduction.vanished(content):
            return False
        value = self._reduction.result(content)
        out.emit(value, timestamp, window, pane)
        state.outputs = (Output(value, timestamp, window, pane),)
        return True


def _timing(state: WindowState, last: int, watermark: int) -> PaneInfoTiming:
    """LATE after a pane that was not early; else EARLY up to the end of the window; else ON_TIME."""
    if state.past_early:
        return _LATE
    return _EARLY if watermark <= last else _ON_TIME
