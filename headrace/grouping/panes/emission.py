"""Emission of panes: what is late, and how a pane is made.

All panes of all runners are made here. :meth:`PaneEmitter.fire` makes the panes of a window with a trigger
and state. A window with only one pane, at its end, needs neither: :meth:`PaneEmitter.emit_final` and
:meth:`PaneEmitter.final_panes` make that pane from its content alone. Windows that fire after each number of
elements need the number of their panes: :meth:`PaneEmitter.early_panes` and :meth:`PaneEmitter.on_time_panes`
make the panes of many keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, Final

from headrace.errors import shorten
from headrace.grouping.bundle import INSERT, RETRACT, Bundle
from headrace.grouping.pane_output import Arrival, ArrivalColumns, Panes
from headrace.grouping.panes.output_times import OutputTimes
from headrace.grouping.reduction import Content, NoteRow, Reduction
from headrace.grouping.state.contents import Contents
from headrace.grouping.state.key_state import KeyState, Output, WindowState
from headrace.triggers.pane import ONLY_FIRING, PaneInfo, PaneInfoTiming, pane_info
from headrace.triggers.refinement import ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER
from headrace.windowing.column import Column
from headrace.windowing.window import BoundedWindow

_EARLY: Final = PaneInfoTiming.EARLY
_ON_TIME: Final = PaneInfoTiming.ON_TIME
_LATE: Final = PaneInfoTiming.LATE
_FIRST: Final = pane_info(_ON_TIME, 0, 0, False)


class PaneEmitter:
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
        self._discards, self._retracts = strategy.discards, strategy.retracts

    def fire(
        self,
        key: KeyState,
        window: BoundedWindow,
        watermark: int,
        closing: bool,
        out: Panes,
        skip_empty: bool = True,
    ) -> None:
        """Emit a pane, unless it is empty and the strategy does not ask for empty panes.

        Args:
            key: the state of the key.
            window: one of its live windows.
            watermark: the input watermark, in microseconds.
            closing: whether it is the last pane of the window.
            out: receives the pane.
            skip_empty: whether an empty pane may be skipped; False to emit the pane in any case.
        """
        state = key.windows[window]
        timing = _timing(state, window.last, watermark)
        due_when_empty = (timing is _ON_TIME and self._empty_on_time) or (
            closing and self._empty_last
        )
        if skip_empty and not (state.pending or due_when_empty):
            return
        early = timing is _EARLY
        pane = pane_info(timing, state.index, -1 if early else state.nonspeculative, closing)
        timestamp = self._times.timestamp(key, window, watermark)
        send = self._send_and_discard if self._discards else self._retract_and_send
        if send(key, window, timestamp, pane, out):
            state.index += 1
            state.nonspeculative += not early
            state.past_early = state.past_early or not early
        state.pending = 0
        key.holds.set(window, NEVER)
        self._times.update_retraction_hold(key, window, watermark)

    def fire_without_trigger(
        self, key: KeyState, window: BoundedWindow, watermark: int, out: Panes
    ) -> None:
        """Emit a pane without evaluating the trigger, since an earlier pane of its elements was retracted."""
        expired = self._strategy.is_late(window.last, watermark)
        self.fire(key, window, watermark, expired, out, skip_empty=False)
        key.windows[window].expired = expired

    def emit_final(self, arrival: Arrival, out: Panes) -> None:
        """Emit the only pane of a window, which holds the elements of one arrival."""
        window = arrival.window
        timestamp = self._times.timestamp_of_arrival(arrival)
        for value, diff in self._final_values(arrival.content):
            out.emit(value, timestamp, window, ONLY_FIRING, diff)

    def final_panes(self, arrivals: ArrivalColumns) -> Bundle:
        """Return the only panes of many windows, of insertions alone, as a bundle."""
        pairs = _pairs(arrivals, self._reduction.finals)
        return Bundle(pairs, arrivals.lasts, arrivals.windows, repeat(ONLY_FIRING))

    def early_panes(self, arrivals: ArrivalColumns, numbers: Iterable[int]) -> Bundle:
        """Return the next EARLY panes of many windows, of insertions alone, as a bundle.

        Args:
            arrivals: the windows; in discarding mode their contents must not be used afterwards.
            numbers: how many EARLY panes each window has had.
        """
        panes = list(map(_early_pane, numbers))
        return Bundle(self._read(arrivals), arrivals.lasts, arrivals.windows, panes)

    def retractions(self, arrivals: ArrivalColumns, numbers: Iterable[int]) -> Bundle:
        """Return the retractions of the last EARLY panes of many windows as a bundle.

        Args:
            arrivals: the windows, with the value of each pane in place of a content.
            numbers: how many EARLY panes each window has had.
        """
        pairs = list(zip(arrivals.keys, arrivals.contents, strict=True))
        panes = [_early_pane(number - 1) for number in numbers]
        return Bundle(pairs, arrivals.lasts, arrivals.windows, panes, repeat(RETRACT))

    def on_time_panes(
        self, arrivals: ArrivalColumns, watermark: int, numbers: Sequence[int] = ()
    ) -> Bundle:
        """Return the ON_TIME panes of many windows that end now, of insertions alone, as a bundle.

        Args:
            arrivals: the windows; in discarding mode their contents must not be used afterwards.
            watermark: the input watermark, in microseconds.
            numbers: how many EARLY panes each window has had, if one of them has had some.
        """
        panes = self._on_time_infos(arrivals.lasts, watermark)
        if any(numbers):
            rows = zip(panes, numbers, strict=False)
            panes = [pane_info(_ON_TIME, number, 0, pane.is_last) for pane, number in rows]
        return Bundle(self._read(arrivals), arrivals.lasts, arrivals.windows, panes)

    def _read(self, arrivals: ArrivalColumns) -> list[Any]:
        """Return the values of panes with their keys."""
        reduction = self._reduction
        return _pairs(arrivals, reduction.finals if self._discards else reduction.results)

    def _on_time_infos(self, lasts: Column[int], watermark: int) -> Column[PaneInfo]:
        """Return the first pane of each window; the last one, too, if the window closes with it."""
        strategy = self._strategy
        if strategy.trigger.may_finish(strategy):
            return repeat(ONLY_FIRING)
        first, last = (next(lasts),) * 2 if isinstance(lasts, repeat) else (min(lasts), max(lasts))
        expired = strategy.is_late(last, watermark)
        if expired == strategy.is_late(first, watermark):
            return repeat(ONLY_FIRING if expired else _FIRST)
        return [ONLY_FIRING if strategy.is_late(last, watermark) else _FIRST for last in lasts]

    def _final_values(self, content: Content) -> Iterable[tuple[object, int]]:
        """Return the rows of the only pane of a window; in every mode it holds all elements."""
        if self._discards:
            return self._reduction.deltas(content)
        if self._retracts and self._reduction.is_empty(content):
            return ()
        return ((self._reduction.result(content), INSERT),)

    def _send_and_discard(
        self, key: KeyState, window: BoundedWindow, timestamp: int, pane: PaneInfo, out: Panes
    ) -> bool:
        state = key.windows[window]
        for value, diff in self._reduction.deltas(state.content):
            out.emit(value, timestamp, window, pane, diff)
        state.content = self._reduction.empty()
        return True

    def _retract_and_send(
        self, key: KeyState, window: BoundedWindow, timestamp: int, pane: PaneInfo, out: Panes
    ) -> bool:
        """Retract the old panes, if they may have to be, and emit one with all elements, if there are any."""
        state = key.windows[window]
        for old in state.outputs:
            out.emit(old.value, old.timestamp, old.window, old.pane, RETRACT)
        state.outputs = ()
        content = self._contents.of(key, window)
        if self._retracts and self._reduction.is_empty(content):
            return False
        value = self._reduction.result(content)
        out.emit(value, timestamp, window, pane)
        if self._retracts:
            kept = self._reduction.copy_result(value)  # a reader of the pane may change it
            state.outputs = (Output(kept, timestamp, window, pane),)
        return True


def _pairs(
    arrivals: ArrivalColumns, read: Callable[[Sequence[Content], NoteRow], list[Any]]
) -> list[Any]:
    """Return the values of contents with their keys; an error names the key."""

    def note(error: Exception, row: int) -> None:
        error.add_note(f"for the key {shorten(arrivals.keys[row])}")

    if not arrivals.keys:
        return []
    return list(zip(arrivals.keys, read(arrivals.contents, note), strict=True))


def _early_pane(number: int) -> PaneInfo:
    """Return an EARLY pane by its number."""
    return pane_info(_EARLY, number, -1, False)


def _timing(state: WindowState, last: int, watermark: int) -> PaneInfoTiming:
    """Return the timing: EARLY until the window ends, then ON_TIME once, then LATE."""
    if state.past_early:
        return _LATE
    return _EARLY if watermark <= last else _ON_TIME
