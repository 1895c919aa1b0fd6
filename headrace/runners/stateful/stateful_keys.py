"""The keyed operator of stateful DoFns: states and timers of one key, by window.

The order of a round is: the elements of the key; then the event-time timers that are due, in the order of
their times, including those that are set meanwhile; then the timers of processing time. A timer that is due
at the time at which its window expires fires before the window expires.

When a window expires, its timers of processing time fire, then the method with ``on_window_expiration`` is
called, then its states are removed. So a batch, in which no processing time passes, calls the same methods as
a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from inspect import isgeneratorfunction
from itertools import groupby, repeat
from operator import length_hint
from typing import Any, Protocol

from headrace.errors import note_element
from headrace.grouping.bundle import Bundle
from headrace.grouping.keyed_operator import Moments
from headrace.grouping.state.timer_queue import TimerQueue
from headrace.runners.error_context import note_method
from headrace.runners.stateful.dofn_keys import DoFnKeys
from headrace.runners.stateful.stateful_calls import (
    KeyRun,
    Method,
    StatefulCall,
    bound,
    function_of,
    method_of,
)
from headrace.runners.stateful.stateful_outputs import DoFnOutputs
from headrace.runners.stateful.stateful_state import DoFnState, KeyCells, TimerId, WindowCells
from headrace.sdk.coders.own_values import own
from headrace.sdk.pardo.binding import exploded
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.state.state_cells import StateCell
from headrace.sdk.pardo.stateful_dofn import Stateful
from headrace.sdk.pipelines.elementwise import ProcessEach
from headrace.sdk.typehints.generator_ends import ends_with_yield
from headrace.stored_formats import STATEFUL_STATE, check_format
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.window import BoundedWindow, packed, unpacked
from headrace.windowing.window_fn import Windows


class ProcessCalls(Protocol):
    """Calls of ``process`` with its arguments."""

    def results(self, rows: Iterator[Any], bundle: KeyRun, /) -> Iterator[Any]:
        """Call it lazily on each element of a run."""


class StatefulKeys(DoFnKeys):
    """The keyed operator of one stateful DoFn.

    Args:
        dofn: the DoFn.
        declared: its states and timers.
        strategy: the windowing strategy of the input; its windows do not merge.
        args: additional arguments of ``process``.
        kwargs: additional arguments of ``process``, by name.
        checked: label of the step, to check that ``process`` does not change its elements, and methods do not
            change what they emit; empty for no check.
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
        super().__init__(dofn, checked)
        self._declared = declared
        self._strategy = strategy
        self._has_ttl = any(spec.time_to_live is not None for spec in declared.states.values())
        function = function_of(dofn)
        self._generates = isgeneratorfunction(function)
        self._ends = self._generates and ends_with_yield(function)
        self._bound = partial(bound, dofn, self.emitting(function))
        self._process: ProcessCalls = self._bound(ProcessEach(dofn, args, dict(kwargs or {})))
        self._on_timer: dict[str, Method] = {
            timer: method_of(self.emitting(getattr(dofn, name)))
            for timer, name in declared.callbacks.items()
        }
        expires = self.emitting(getattr(dofn, declared.expiration, _nothing))
        self._on_expiration = method_of(expires) if declared.expiration else None

    def new_state(self) -> DoFnState:
        """Return the state of a new key."""
        return DoFnState()

    def process(self, state: DoFnState, elements: Bundle, clock: Clock, out: DoFnOutputs) -> None:
        """Process elements that arrived together; late ones are dropped."""
        cells = self._cells(state, clock)
        state.key = own(elements.values[-1][0])
        for window, rows in _by_window(elements):
            if self._strategy.is_late(window.last, clock.watermark):
                out.dropped += len(rows)
            else:
                self._process_in(window, rows, cells, out)
        self._forget_unused(state, cells)

    def run_to_completion(
        self, elements: Bundle, start: Clock, end: Clock, out: DoFnOutputs
    ) -> None:
        """Process all elements of a key, then what is due until the end of time."""
        state = self.new_state()
        self.process(state, elements, start, out)
        if self._declared.timers or self._on_expiration is not None:
            self.wake(state, end, out)

    def _process_in(
        self, window: BoundedWindow, rows: Bundle, cells: KeyCells, out: DoFnOutputs
    ) -> None:
        cells.open(window)
        in_window: Windows = (window,)
        for part in rows.pieces(1) if self.checked else (rows,):
            columns = part.values, part.timestamps, repeat(in_window), part.panes, part.diffs
            self._process_run(KeyRun(*columns, cells=cells, window=window), out)

    def _process_run(self, run: KeyRun, out: DoFnOutputs) -> None:
        """Call ``process`` on each element, and collect its outputs."""
        # The elements of a key lie apart in memory; to copy their list loads them all at once.
        values = iter(run.values.copy())
        self.start_bundle()
        try:
            self.windows = (run.window,)
            with self.unchanged(run.values):
                results = self._process.results(values, run)
                out.add_run(results, run, self._generates, self._ends)
        except Exception as error:
            note_element(error, run.values[max(0, len(run) - length_hint(values) - 1)])
            raise

    def _call(self, method: Method, call: StatefulCall, out: DoFnOutputs) -> None:
        """Call a method of the DoFn, and collect its outputs."""
        self.start_bundle()
        self.windows = (call.window,)
        out.add(method(call), call)

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
        call = StatefulCall(
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
            call = StatefulCall(cells, state.key, window, last, last, sets_timers=False)
            with note_method(self._declared.expiration):
                self._call(self._on_expiration, call, out)
        cells.close(window)
        state.windows.pop(window, None)

    def _forget_unused(self, state: DoFnState, cells: KeyCells) -> None:
        """Remove empty cells, and the windows that have neither cells nor timers."""
        self.past_timer = max(self.past_timer, cells.past_timer)
        for window in cells.touched:
            if not cells.close(window) and self._on_expiration is None:
                state.windows.pop(window, None)
                state.expirations.set(window, NEVER)
        if self.check_state is not None:
            self.check_state(self.freeze(state))

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
        """Return the state of a key as short plain data; a batch also reads the states of other keys."""
        states = self._declared.states
        cells = [
            ({name: states[name].freeze(c) for name, c in own.cells.items()}, own.expire_at)
            for own in state.windows.values()
        ]
        timers = (
            state.event_timers.moments,
            state.processing_timers.moments,
            state.holds.moments,
        )
        windows = packed(list(state.windows))
        return STATEFUL_STATE, state.key, windows, cells, timers if any(timers) else None

    def thaw(self, frozen: tuple[Any, ...]) -> DoFnState:
        """Return the state that :meth:`freeze` stored, without what the DoFn no longer declares."""
        check_format("the stored state", frozen[0], "stateful state")
        _, key, windows, rows, timers = frozen
        state = DoFnState(key)
        for window, (cells, expire_at) in zip(unpacked(windows), rows, strict=True):
            state.windows[window] = WindowCells(dict(self._thawed(cells)), expire_at)
            state.expirations.set(window, self._strategy.expiry(window.last))
        if timers is not None:
            self._thaw_timers(state, timers)
        return state

    def _thaw_timers(self, state: DoFnState, timers: Iterable[dict[TimerId, int]]) -> None:
        declared = [
            {timer: at for timer, at in moments.items() if timer.name in self._declared.timers}
            for moments in timers
        ]
        for timer in (*declared[0], *declared[1]):
            state.windows[timer.window].timers[timer] = None
        state.event_timers, state.processing_timers, state.holds = map(TimerQueue, declared)

    def _thawed(self, cells: dict[str, object]) -> Iterable[tuple[str, StateCell]]:
        for name, value in cells.items():
            spec = self._declared.states.get(name)
            if spec is not None:
                yield name, spec.thaw(value)


def _by_window(elements: Bundle) -> Iterable[tuple[BoundedWindow, Bundle]]:
    """Return neighboring elements in the same window; one in several windows is one in each of them."""
    if len(elements) == 1:
        return [(window, elements) for window in next(iter(elements.windows))]
    rows = exploded(elements)
    if isinstance(rows.windows, repeat):
        return [(next(rows.windows)[0], rows)]
    return _runs(rows)


def _runs(rows: Bundle) -> Iterator[tuple[BoundedWindow, Bundle]]:
    start = 0
    for (window,), same in groupby(rows.windows):
        end = start + sum(1 for _ in same)
        yield window, rows.part(start, end)
        start = end


def _nothing() -> None:
    """Stand for a method that a DoFn does not have."""
