"""The states and timers of one key of a stateful DoFn, by window, and how calls change them."""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs

from headrace.errors import PipelineError
from headrace.grouping.state.timer_queue import TimerQueue
from headrace.runners.checks.timestamp_checks import past_timer
from headrace.runners.stateful.stateful_calls import StatefulCall
from headrace.sdk.pardo.state.closed_cells import close_cell, open_cell
from headrace.sdk.pardo.state.specs import StateSpec
from headrace.sdk.pardo.state.state_cells import StateCell
from headrace.sdk.pardo.state.timers import TimerSpec
from headrace.sdk.pardo.stateful_dofn import Stateful
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.window import GLOBAL_END_MICROS, BoundedWindow


class TimerId(NamedTuple):
    """The identity of a timer of one key."""

    window: BoundedWindow
    name: str
    tag: str


@attrs.define(slots=True)
class WindowCells:
    """The states of one window.

    Attributes:
        cells: the cells that are not empty, by name.
        expire_at: the processing times at which cells are removed, by name.
        timers: the timers that are set.
    """

    cells: dict[str, StateCell] = attrs.field(factory=dict)
    expire_at: dict[str, int] = attrs.field(factory=dict)
    timers: dict[TimerId, None] = attrs.field(factory=dict)


@attrs.define(slots=True)
class DoFnState:
    """The states and timers of one key.

    Attributes:
        key: the key; None before its first element.
        windows: the states of each window.
        event_timers: the times of event-time timers.
        processing_timers: the times of timers of processing time.
        holds: the output timestamps of timers, which the output watermark must not pass.
        expirations: the watermarks at which windows expire.
    """

    key: Any = None
    windows: dict[BoundedWindow, WindowCells] = attrs.field(factory=dict)
    event_timers: TimerQueue[TimerId] = attrs.field(factory=TimerQueue)
    processing_timers: TimerQueue[TimerId] = attrs.field(factory=TimerQueue)
    holds: TimerQueue[TimerId] = attrs.field(factory=TimerQueue)
    expirations: TimerQueue[BoundedWindow] = attrs.field(factory=TimerQueue)


@attrs.define
class KeyCells:
    """The states and timers of the key that is being processed, for its calls.

    Attributes:
        declared: the states and timers of the DoFn.
        strategy: the windowing strategy.
        state: the state of the key.
        clock: the watermark and the processing time.
        touched: the windows that were used.
        past_timer: see :attr:`StepMetrics.past_timer <headrace.sdk.metrics.step_metrics.StepMetrics>`.
    """

    declared: Stateful
    strategy: WindowingStrategy
    state: DoFnState
    clock: Clock
    touched: dict[BoundedWindow, None] = attrs.field(factory=dict)
    past_timer: int = 0

    def open(self, window: BoundedWindow) -> WindowCells:
        """Return the states of a window, which expires when the watermark passes it."""
        self.touched[window] = None
        own = self.state.windows.get(window)
        if own is None:
            own = self.state.windows[window] = WindowCells()
            self.state.expirations.set(window, self.strategy.expiry(window.last))
        return own

    def cell(self, window: BoundedWindow, spec: StateSpec) -> StateCell:
        """Return a cell of a window."""
        cells = self.open(window).cells
        found = cells.get(spec.name)
        if found is None:
            found = cells[spec.name] = self.declared.states[spec.name].new_cell()
        else:
            open_cell(found)
        return found

    def close(self, window: BoundedWindow) -> bool:
        """Remove empty cells, note when the others end; return whether there are any, or timers."""
        own = self.state.windows.get(window)
        if own is None:
            return False
        empty = []
        for name, cell in own.cells.items():
            close_cell(cell)
            if cell.is_empty:
                empty.append(name)
            elif cell.written:
                cell.written = False
                length = self.declared.states[name].time_to_live
                if length is not None:
                    own.expire_at[name] = self.clock.now + length
        for name in empty:
            del own.cells[name]
            own.expire_at.pop(name, None)
        return bool(own.cells or own.timers)

    def remove_old(self) -> None:
        """Remove the cells whose time to live has passed."""
        for window, own in self.state.windows.items():
            for name in [name for name, end in own.expire_at.items() if end <= self.clock.now]:
                del own.expire_at[name]
                del own.cells[name]
                self.touched[window] = None

    def set_timer(
        self, call: StatefulCall, spec: TimerSpec, tag: str, moment: int, output: int | None
    ) -> None:
        """Set a timer of the window of a call; one that is later than the window fires when that expires."""
        if not call.sets_timers:
            return
        window, timer = call.window, TimerId(call.window, spec.name, tag)
        if output is not None:
            _check_output(call, spec, moment, output)
        if not spec.in_event_time:
            self.state.processing_timers.set(timer, moment)
            self.past_timer = max(self.past_timer, past_timer(moment, self.clock.now))
            default = call.output
        else:
            expiry = self.strategy.expiry(window.last)
            if call.fires and call.timestamp >= expiry and moment > expiry:
                self.clear_timer(window, spec, tag)  # the window has no time left
                return
            self.state.event_timers.set(timer, min(moment, expiry))
            default = max(call.output, min(moment, window.last))
        self.open(window).timers[timer] = None
        self.state.holds.set(timer, default if output is None else output)

    def clear_timer(self, window: BoundedWindow, spec: TimerSpec, tag: str) -> None:
        """Remove a timer."""
        timer = TimerId(window, spec.name, tag)
        self.open(window).timers.pop(timer, None)
        for queue in (self.state.event_timers, self.state.processing_timers, self.state.holds):
            queue.set(timer, NEVER)

    def release(self, timer: TimerId) -> int:
        """Remove the hold of a timer that fires, and return its output timestamp."""
        self.open(timer.window).timers.pop(timer, None)
        output = self.state.holds.get(timer)
        self.state.holds.set(timer, NEVER)
        return output


def _check_output(call: StatefulCall, spec: TimerSpec, moment: int, output: int) -> None:
    """Check an output timestamp: it must not be after the time of the timer, nor before the call's."""
    if spec.in_event_time and output > moment:
        raise PipelineError(
            f"the timer {spec.name!r} fires at {Timestamp(micros=moment)}, but its outputs would have "
            f"the later timestamp {Timestamp(micros=output)}",
            remedy="give an output_timestamp that is not later than the time of the timer",
        )
    if output < min(call.output, GLOBAL_END_MICROS - 1):  # nothing after that end is late
        raise PipelineError(
            f"the outputs of the timer {spec.name!r} would have the timestamp {Timestamp(micros=output)}, "
            f"which is before that of the element or timer that sets it, {Timestamp(micros=call.output)}: "
            "they could be late",
            remedy="give an output_timestamp that is not earlier than the timestamp of the element",
        )
