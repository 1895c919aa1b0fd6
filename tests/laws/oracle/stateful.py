"""Plays a script to a small stateful program: plain dictionaries and lists, no code of the runners.

A program is data: the actions that are done for an element, for a timer, and when a window expires.

====================  ==========================================================================
action                meaning
====================  ==========================================================================
("add",)              add the value to the bag; for a timer its tag
("count",)            add 1 to the counter
("set", tag, d, o)    set an event-time timer to the call's timestamp and ``d`` microseconds; its outputs
                      have the call's timestamp and ``o``, or, if ``o`` is None, the default timestamp
("unset", tag)        clear that timer
("wait", tag, t)      set a timer of processing time to ``t``
("stop", tag)         clear that timer
("clear",)            remove the bag and the counter
("emit", name)        emit the name, the tag, the bag and the counter
====================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import attrs

from tests.laws.oracle.window_history import MAX, MIN, Window
from tests.laws.oracle.windows import WindowFn

Actions = tuple[tuple[Any, ...], ...]


@attrs.frozen
class Program:
    """The actions of a stateful DoFn; for elements by the value modulo their number.

    Without ``expiration`` (None) the DoFn has no method for the end of a window. With ``changes`` it puts
    each value into a list, and changes the lists that it has added, read or emitted; nothing else may change
    by that.
    """

    elements: tuple[Actions, ...]
    event: Actions = ()
    clock: Actions = ()
    expiration: Actions | None = None
    changes: bool = False


@attrs.frozen
class Emitted:
    """An output, and the number of the script event that caused it."""

    key: Any
    window: Window
    value: Any
    timestamp: int
    event: int


@attrs.define
class Timer:
    time: int
    output: int
    serial: int


@attrs.define
class WindowState:
    """The state of a key and window; timers by domain and tag."""

    opened: int
    bag: list[Any] = attrs.field(factory=list)
    counter: int = 0
    timers: dict[tuple[str, str], Timer] = attrs.field(factory=dict)


@attrs.frozen
class Now:
    """A call: its window, the timestamp that it sees, that of its outputs, and what it may do."""

    key: Any
    window: Window
    timestamp: int
    output: int
    what: Any
    fires: bool = False
    sets: bool = True


class Stateful:
    """A stateful program in the windows of a window function."""

    def __init__(self, program: Program, windows: WindowFn, lateness: int) -> None:
        self.program = program
        self.windows = windows
        self.lateness = lateness
        self.states: dict[Any, dict[Window, WindowState]] = {}
        self.watermark = self.output_watermark = MIN
        self.now = 0
        self.dropped = 0
        self.event = -1
        self.emitted: list[Emitted] = []
        self.watermarks: list[int] = []
        self._serial = count()

    def play(self, script: Sequence[tuple[str, Any]]) -> Stateful:
        """Play all events of a script, whose rows are (key, value, timestamp, 1)."""
        for kind, what in script:
            self.event += 1
            if kind == "elements":
                for key, value, timestamp, _ in what:
                    self._arrive(key, value, timestamp)
                for key in {row[0] for row in what}:
                    self._forget(key)
            elif kind == "watermark":
                self.watermark = max(self.watermark, what)
            else:
                self.now = what
            for key in list(self.states):
                while self._next(key):
                    pass
                self._forget(key)
            self._advance_output()
        return self

    def _advance_output(self) -> None:
        holds = [self.watermark]
        for windows in self.states.values():
            for (_, end), state in windows.items():
                holds += [timer.output for timer in state.timers.values()]
                holds += [end - 1] * (self.program.expiration is not None)
        self.output_watermark = max(self.output_watermark, min(holds))
        self.watermarks.append(self.output_watermark)

    def _expiry(self, window: Window) -> int:
        return min(window[1] + self.lateness, MAX)

    def _arrive(self, key: Any, value: Any, timestamp: int) -> None:
        for window in self.windows.assign(None, timestamp):
            if self._expiry(window) <= self.watermark:
                self.dropped += 1
                continue
            self._state(key, window)
            actions = self.program.elements[value % len(self.program.elements)]
            self._do(actions, Now(key, window, timestamp, timestamp, value))

    def _state(self, key: Any, window: Window) -> WindowState:
        windows = self.states.setdefault(key, {})
        if window not in windows:
            windows[window] = WindowState(next(self._serial))
        return windows[window]

    def _forget(self, key: Any) -> None:
        """Remove what is empty."""
        windows = self.states.get(key, {})
        for window, state in list(windows.items()):
            empty = not (state.bag or state.counter or state.timers)
            if empty and self.program.expiration is None:
                del windows[window]
        if not windows:
            self.states.pop(key, None)

    def _next(self, key: Any) -> bool:
        """Do what is due next: event-time timers, the end of a window, timers of processing time."""
        windows = self.states.get(key, {})
        ends = [(self._expiry(w), 1, s.opened, w, None) for w, s in windows.items()]
        timers = [
            (timer.time, 0, timer.serial, w, name)
            for w, state in windows.items()
            for name, timer in state.timers.items()
        ]
        by_event = [row for row in timers if row[4][0] == "event" and row[0] <= self.watermark]
        by_clock = [row for row in timers if row[4][0] == "clock" and row[0] <= self.now]
        due = sorted([*by_event, *(row for row in ends if row[0] <= self.watermark)], key=_order)
        due = due or sorted(by_clock, key=_order)
        if not due:
            return False
        _, _, _, window, name = due[0]
        if name is None:
            self._expire(key, window)
        else:
            self._fire(key, window, name)
        return True

    def _fire(self, key: Any, window: Window, name: tuple[str, str], sets: bool = True) -> None:
        timer = self.states[key][window].timers.pop(name)
        domain, tag = name
        by_event = domain == "event"
        seen = timer.time if by_event else timer.output
        actions = self.program.event if by_event else self.program.clock
        self._do(actions, Now(key, window, seen, timer.output, tag, True, sets))

    def _expire(self, key: Any, window: Window) -> None:
        timers = self.states[key][window].timers
        for name in sorted(timers, key=lambda name: (timers[name].time, timers[name].serial)):
            if name in timers:
                self._fire(key, window, name, sets=False)
        last = window[1] - 1
        if self.program.expiration is not None:
            self._do(self.program.expiration, Now(key, window, last, last, "end", sets=False))
        del self.states[key][window]

    def _do(self, actions: Actions, now: Now) -> None:
        for verb, *what in actions:
            getattr(self, f"_{verb}")(now, self._state(now.key, now.window), *what)

    def _add(self, now: Now, state: WindowState) -> None:
        state.bag.append(now.what)

    def _count(self, now: Now, state: WindowState) -> None:
        state.counter += 1

    def _clear(self, now: Now, state: WindowState) -> None:
        state.bag.clear()
        state.counter = 0

    def _emit(self, now: Now, state: WindowState, name: str) -> None:
        value = (name, now.what, tuple(state.bag), state.counter)
        self.emitted.append(Emitted(now.key, now.window, value, now.output, self.event))

    def _set(self, now: Now, state: WindowState, tag: str, delay: int, output: int | None) -> None:
        if not now.sets:
            return
        time, expiry = now.timestamp + delay, self._expiry(now.window)
        if now.fires and now.timestamp >= expiry and time > expiry:
            state.timers.pop(("event", tag), None)
            return
        stamp = max(now.output, min(time, now.window[1] - 1))
        if output is not None:
            stamp = now.timestamp + output
        self._put(state, ("event", tag), min(time, expiry), stamp)

    def _wait(self, now: Now, state: WindowState, tag: str, time: int) -> None:
        if now.sets:
            self._put(state, ("clock", tag), time, now.output)

    def _put(self, state: WindowState, name: tuple[str, str], time: int, output: int) -> None:
        """Set a timer; one that is set to the same time again keeps its place among equal ones."""
        before = state.timers.get(name)
        serial = before.serial if before and before.time == time else next(self._serial)
        state.timers[name] = Timer(time, output, serial)

    def _unset(self, now: Now, state: WindowState, tag: str) -> None:
        state.timers.pop(("event", tag), None)

    def _stop(self, now: Now, state: WindowState, tag: str) -> None:
        state.timers.pop(("clock", tag), None)


def _order(due: tuple[Any, ...]) -> tuple[int, int, int]:
    return due[0], due[1], due[2]
