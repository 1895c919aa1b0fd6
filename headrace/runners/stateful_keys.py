"""The keyed operator of stateful DoFns: states and timers of one key, by window.

The order of a round is: the elements of the key; then the event-time timers that are due, in the order of
their times, including those that are set meanwhile; then the timers of processing time. A timer that is due
at the time at which its window expires fires before the window expires.

When a window expires, its timers of processing time fire, then the method with ``on_window_expiration`` is
called, then its states are removed. So a batch, in which no processing time passes, calls the same methods as
a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from headrace.runners.context_managers import ContextManagers
from headrace.runners.error_context import note_element
from headrace.runners.mutation import unchanged
from headrace.runners.stateful_calls import Call, Method, method_of
from headrace.runners.stateful_state import DoFnState, KeyCells, TimerId, WindowCells
from headrace.sdk.dofn import BundleContextParam, DoFn
from headrace.sdk.outputs import Step, check_iterable
from headrace.sdk.state_cells import StateCell
from headrace.sdk.stateful_dofn import Stateful
from headrace.stored_formats import STATEFUL_STATE, check_format
from headrace.triggers.bundle import Element
from headrace.triggers.emission import is_late
from headrace.triggers.keyed_operator import Moments
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.timer_queue import TimerQueue
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.window import BoundedWindow


@attrs.define(eq=False)
class DoFnOutputs:
    """The outputs of several calls.

    Attributes:
        step: the step, for errors.
        values: all outputs.
        ends: the cumulative number of outputs after each call.
        rows: the timestamp, window and pane of the outputs of each call; the values are None.
        dropped: the number of late elements that were dropped.
    """

    step: Step
    values: list[Any] = attrs.field(factory=list)
    ends: list[int] = attrs.field(factory=list)
    rows: list[Element] = attrs.field(factory=list)
    dropped: int = 0

    def add(self, result: Iterable[Any] | None, call: Call) -> None:
        """Add the result of a call."""
        if result is None:
            return
        check_iterable(result, self.step)
        self.values.extend(result)
        self.ends.append(len(self.values))
        self.rows.append(Element(None, call.output, (call.window,), call.pane))


class StatefulKeys:
    """The keyed operator of one stateful DoFn.

    Args:
        dofn: the DoFn.
        declared: its states and timers.
        strategy: the windowing strategy of the input; its windows do not merge.
        args: additional arguments of ``process``.
        kwargs: additional arguments of ``process``, by name.
        checked: label of the step, to check that ``process`` does not change its elements; empty for no
            check.

    Attributes:
        dofn: the DoFn.
        contexts: the context managers that its methods ask for.
    """

    def __init__(
        self,
        dofn: DoFn,
        declared: Stateful,
        strategy: WindowingStrategy,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        checked: str = "",
    ) -> None:
        self.dofn = dofn
        self._checked = checked
        self._in_bundle = False
        self._declared = declared
        self._strategy = strategy
        self._has_ttl = any(spec.time_to_live is not None for spec in declared.states.values())
        self.contexts = contexts = ContextManagers()
        self._start = contexts.bound(dofn.start_bundle)
        self._finish = contexts.bound(dofn.finish_bundle)
        self._process = method_of(contexts.bound(dofn.process), args, dict(kwargs or {}))
        self._on_timer: dict[str, Method] = {
            timer: method_of(contexts.bound(getattr(dofn, name)), (), {})
            for timer, name in declared.callbacks.items()
        }
        expires = contexts.bound(getattr(dofn, declared.expiration, _nothing))
        self._on_expiration = method_of(expires, (), {}) if declared.expiration else None

    def new_state(self) -> DoFnState:
        """Return the state of a new key."""
        return DoFnState()

    def process(
        self, state: DoFnState, elements: Sequence[Element], clock: Clock, out: DoFnOutputs
    ) -> None:
        """Process elements that arrived together; late ones are dropped."""
        cells = self._cells(state, clock)
        for element in elements:
            state.key = element.value[0]
            for window in element.windows:
                if is_late(self._strategy, window.last, clock.watermark):
                    out.dropped += 1
                else:
                    self._process_in(window, element, cells, out)
        self._forget_unused(state, cells)

    def _process_in(
        self, window: BoundedWindow, element: Element, cells: KeyCells, out: DoFnOutputs
    ) -> None:
        cells.open(window)
        timestamp, pane, diff = element.timestamp, element.pane, element.diff
        call = Call(cells, cells.state.key, window, timestamp, timestamp, pane, diff)
        try:
            if self._checked:
                with unchanged([element.value], "process", self._checked):
                    self._call(self._process, call, out, element.value)
            else:
                self._call(self._process, call, out, element.value)
        except Exception as error:
            note_element(error, element.value)
            raise

    def _call(self, method: Method, call: Call, out: DoFnOutputs, *element: Any) -> None:
        """Call a method of the DoFn in a bundle, and collect its outputs."""
        if not self._in_bundle:
            self._in_bundle = True
            self.contexts.enter(BundleContextParam)
            self._start()
        out.add(method(call, *element), call)

    def end_bundle(self) -> Iterable[Any] | None:
        """Finish the bundle, if one was started, and return the outputs of ``finish_bundle``."""
        if not self._in_bundle:
            return None
        self._in_bundle = False
        outputs: Iterable[Any] | None = self._finish()
        return outputs

    def _cells(self, state: DoFnState, clock: Clock) -> KeyCells:
        cells = KeyCells(self._declared, self._strategy, state, clock)
        if self._has_ttl:
            cells.remove_old()
        return cells

    def wake(self, state: DoFnState, clock: Clock, out: DoFnOutputs) -> None:
        """Fire the timers that are due, and expire the windows that the watermark has passed."""
        cells = self._cells(state, clock)
        while self._advance_watermark(state, cells, clock.watermark, out) or self._advance_time(
            state, cells, clock.now, out
        ):
            pass
        self._forget_unused(state, cells)

    def _advance_watermark(
        self, state: DoFnState, cells: KeyCells, watermark: int, out: DoFnOutputs
    ) -> bool:
        """Fire the next event-time timer or expire the next window, if one is due."""
        timers, expirations = state.event_timers, state.expirations
        if timers.first <= min(watermark, expirations.first):
            moment = timers.first
            self._fire(cells, timers.pop_first(), moment, out)
            return True
        if expirations.first <= watermark:
            self._expire(state, cells, expirations.pop_first(), out)
            return True
        return False

    def _advance_time(self, state: DoFnState, cells: KeyCells, now: int, out: DoFnOutputs) -> bool:
        """Fire the next timer of processing time, if it is due."""
        timers = state.processing_timers
        if timers.first > now:
            return False
        moment = timers.first
        self._fire(cells, timers.pop_first(), moment, out)
        return True

    def _fire(
        self,
        cells: KeyCells,
        timer: TimerId,
        moment: int,
        out: DoFnOutputs,
        sets_timers: bool = True,
    ) -> None:
        output = cells.release(timer)
        spec = self._declared.timers[timer.name]
        call = Call(
            cells,
            cells.state.key,
            timer.window,
            moment if spec.in_event_time else output,
            output,
            tag=timer.tag,
            fires=True,
            sets_timers=sets_timers,
        )
        try:
            self._call(self._on_timer[timer.name], call, out)
        except Exception as error:
            error.add_note(f"from the timer {timer.name!r}")
            raise

    def _expire(
        self, state: DoFnState, cells: KeyCells, window: BoundedWindow, out: DoFnOutputs
    ) -> None:
        """Fire what is left of a window, and remove its states."""
        timers = state.processing_timers
        for timer in timers.in_order(state.windows[window].timers):
            moment = timers.get(timer)
            if moment != NEVER:  # else the method of another timer has cleared it
                timers.set(timer, NEVER)
                self._fire(cells, timer, moment, out, sets_timers=False)
        if self._on_expiration is not None:
            last = window.last
            call = Call(cells, state.key, window, last, last, sets_timers=False)
            self._call(self._on_expiration, call, out)
        cells.close(window)
        state.windows.pop(window, None)

    def _forget_unused(self, state: DoFnState, cells: KeyCells) -> None:
        """Remove empty cells, and the windows that have neither cells nor timers."""
        for window in cells.touched:
            if not cells.close(window) and self._on_expiration is None:
                state.windows.pop(window, None)
                state.expirations.set(window, NEVER)

    def moments(self, state: DoFnState) -> Moments | None:
        """Return the next timers and the hold of a key; None if its state is empty."""
        if not state.windows:
            return None
        ends = (end for cells in state.windows.values() for end in cells.expire_at.values())
        return Moments(
            min(state.event_timers.first, state.expirations.first),
            min(state.processing_timers.first, min(ends, default=NEVER)),
            min(state.holds.first, self._expiration_hold(state)),
        )

    def _expiration_hold(self, state: DoFnState) -> int:
        """Return the earliest timestamp of the outputs of ``on_window_expiration``."""
        if self._on_expiration is None:
            return NEVER
        return min(window.last for window in state.windows)

    def freeze(self, state: DoFnState) -> tuple[Any, ...]:
        """Return the state of a key as plain data."""
        windows = [
            (window, {n: c.freeze() for n, c in own.cells.items()}, own.expire_at)
            for window, own in state.windows.items()
        ]
        queues = (
            state.event_timers.moments,
            state.processing_timers.moments,
            state.holds.moments,
            state.expirations.moments,
        )
        return STATEFUL_STATE, state.key, windows, queues

    def thaw(self, frozen: tuple[Any, ...]) -> DoFnState:
        """Return the state that :meth:`freeze` stored, without what the DoFn no longer declares."""
        check_format("the stored state", frozen[0], STATEFUL_STATE)
        _, key, rows, queues = frozen
        windows = {
            window: WindowCells(dict(self._thawed(cells)), expire_at)
            for window, cells, expire_at in rows
        }
        *timers, expirations = queues
        declared = [
            {timer: at for timer, at in moments.items() if timer.name in self._declared.timers}
            for moments in timers
        ]
        for timer in (*declared[0], *declared[1]):
            windows[timer.window].timers[timer] = None
        return DoFnState(key, windows, *map(TimerQueue, (*declared, expirations)))

    def _thawed(self, cells: dict[str, Any]) -> Iterable[tuple[str, StateCell]]:
        for name, value in cells.items():
            spec = self._declared.states.get(name)
            if spec is not None:
                cell = spec.new_cell()
                cell.thaw(value)
                yield name, cell


def _nothing() -> None:
    """Stand for a method that a DoFn does not have."""
