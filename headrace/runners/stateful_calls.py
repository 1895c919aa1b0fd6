"""Calls of the methods of a stateful DoFn: what their parameters receive.

A method is analyzed once. For each call its parameters get the element, the metadata, the cells of the
current key and window, and handles of timers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter as Declared, signature
from typing import Any, Final, Protocol

import attrs

from headrace.errors import PipelineError
from headrace.sdk.dofn import Parameter, StateParam, TimerParam
from headrace.sdk.state import StateSpec
from headrace.sdk.state_cells import StateCell
from headrace.sdk.timers import TimerSpec
from headrace.triggers.pane import NO_FIRING, PaneInfo
from headrace.triggers.trigger import Clock
from headrace.windowing.time import (
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
    micros,
)
from headrace.windowing.window import BoundedWindow


class Cells(Protocol):
    """The states and timers of the key that is being processed."""

    @property
    def clock(self) -> Clock:
        """The watermark and the processing time."""

    def cell(self, window: BoundedWindow, spec: StateSpec) -> StateCell:
        """Return a cell of a window."""

    def set_timer(
        self, call: Call, spec: TimerSpec, tag: str, moment: int, output: int | None
    ) -> None:
        """Set a timer of the window of a call."""

    def clear_timer(self, window: BoundedWindow, spec: TimerSpec, tag: str) -> None:
        """Remove a timer."""


@attrs.frozen
class Call:
    """One call of a method of a DoFn.

    Attributes:
        cells: the states and timers of the key.
        key: the key.
        window: the window.
        timestamp: the timestamp that the method sees, in microseconds.
        output: the timestamp of its outputs, in microseconds.
        pane: the pane of the element.
        diff: the diff of the element.
        tag: the dynamic tag of the timer that fires.
        fires: whether it is the method of a timer.
        sets_timers: whether timers can be set; not while the window expires.
    """

    cells: Cells
    key: Any
    window: BoundedWindow
    timestamp: int
    output: int
    pane: PaneInfo = NO_FIRING
    diff: int = 1
    tag: str = ""
    fires: bool = False
    sets_timers: bool = True


@attrs.frozen
class TimerHandle:
    """A timer of the key and window of a call; see :class:`headrace.sdk.timers.Timer`."""

    call: Call
    spec: TimerSpec

    def set(
        self,
        timestamp: TimestampTypes,
        dynamic_timer_tag: str = "",
        output_timestamp: TimestampTypes | None = None,
    ) -> None:
        """Set the timer, in place of an earlier time."""
        output = None if output_timestamp is None else micros(output_timestamp)
        self.call.cells.set_timer(
            self.call, self.spec, dynamic_timer_tag, micros(timestamp), output
        )

    def set_relative(
        self,
        offset: DurationTypes,
        dynamic_timer_tag: str = "",
        output_timestamp: TimestampTypes | None = None,
    ) -> None:
        """Set a timer of processing time to fire after a duration."""
        if self.spec.in_event_time:
            raise PipelineError(
                f"set_relative is called on the event-time timer {self.spec.name!r}",
                remedy="use set with a timestamp, or a timer with TimeDomain.REAL_TIME",
            )
        moment = Timestamp(micros=self.call.cells.clock.now + duration_micros(offset))
        self.set(moment, dynamic_timer_tag, output_timestamp)

    def clear(self, dynamic_timer_tag: str = "") -> None:
        """Remove the timer, if it is set."""
        self.call.cells.clear_timer(self.call.window, self.spec, dynamic_timer_tag)


Getter = Callable[[Call], Any]

_METADATA: Final[dict[str, Getter]] = {
    "TimestampParam": lambda call: Timestamp(micros=call.timestamp),
    "WindowParam": lambda call: call.window,
    "PaneInfoParam": lambda call: call.pane,
    "DiffParam": lambda call: call.diff,
    "KeyParam": lambda call: call.key,
    "DynamicTimerTagParam": lambda call: call.tag,
}


@attrs.frozen
class Method:
    """A method of a stateful DoFn with the getters of its parameters.

    Attributes:
        fn: the method.
        constants: additional arguments, by name.
        getters: what its other parameters receive.
    """

    fn: Callable[..., Any]
    constants: dict[str, Any]
    getters: tuple[tuple[str, Getter], ...]

    def __call__(self, call: Call, *element: Any) -> Any:
        """Call the method, for an element if it is ``process``."""
        received = {name: get(call) for name, get in self.getters}
        return self.fn(*element, **self.constants, **received)


def method_of(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Method:
    """Return a method of a stateful DoFn, for calls.

    Args:
        fn: the method.
        args: arguments of ``process`` after the element.
        kwargs: arguments by name.
    """
    declared = list(signature(fn).parameters.values())
    getters = [
        (p.name, _getter(p.default))
        for p in declared
        if isinstance(p.default, Parameter) and p.default.name != "ElementParam"
    ]
    return Method(fn, {**dict(_named(declared, args)), **kwargs}, tuple(getters))


def _named(declared: list[Declared], args: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of additional arguments; parameters that ask for something are skipped."""
    plain = (p.name for p in declared[1:] if not isinstance(p.default, Parameter))
    return zip(plain, args, strict=False)


def _getter(parameter: Parameter) -> Getter:
    if isinstance(parameter, StateParam):
        state = parameter.spec
        return lambda call: call.cells.cell(call.window, state)
    if isinstance(parameter, TimerParam):
        timer = parameter.spec
        return lambda call: TimerHandle(call, timer)
    return _METADATA[parameter.name]
