"""Calls of the methods of a stateful DoFn: what their parameters receive.

A method is analyzed once. Its parameters get the element, the metadata, the cells of the current key and
window, and handles of timers. ``process`` is called on all elements of a key and window that arrived
together, with columns as a :mod:`ParDo <headrace.sdk.pardo.binding>` is; the other methods are called one by
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Final, Protocol

import attrs

from headrace.errors import PipelineError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.coders.own_values import own
from headrace.sdk.elements.immutable import is_immutable
from headrace.sdk.pardo.binding import BoundCall, ColumnOf, bind, column_of
from headrace.sdk.pardo.bundle_dofn import RunDoFn
from headrace.sdk.pardo.dofn import CALL, DoFn, Parameter, StateParam, TimerParam
from headrace.sdk.pardo.state.specs import StateSpec
from headrace.sdk.pardo.state.state_cells import StateCell
from headrace.sdk.pardo.state.timers import TimerSpec
from headrace.sdk.pipelines.elementwise import ProcessEach
from headrace.sdk.typehints.declared import parameters_of
from headrace.triggers.pane import NO_FIRING, PaneInfo
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import (
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
    from_micros,
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
        self, call: StatefulCall, spec: TimerSpec, tag: str, moment: int, output: int | None
    ) -> None:
        """Set a timer of the window of a call."""

    def clear_timer(self, window: BoundedWindow, spec: TimerSpec, tag: str) -> None:
        """Remove a timer."""


@attrs.frozen
class StatefulCall:
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

    def state(self, spec: StateSpec) -> StateCell:
        """Return a state of the key and window."""
        return self.cells.cell(self.window, spec)

    def timer(self, spec: TimerSpec) -> TimerHandle:
        """Return a timer of the key and window."""
        return TimerHandle(self, spec)


@attrs.frozen
class TimerHandle:
    """A timer of the key and window of a call; see :class:`headrace.sdk.pardo.state.timers.Timer`."""

    call: StatefulCall
    spec: TimerSpec

    def set(
        self,
        timestamp: TimestampTypes,
        dynamic_timer_tag: str = "",
        output_timestamp: TimestampTypes | None = None,
    ) -> None:
        """Set the timer, in place of an earlier time."""
        if type(dynamic_timer_tag) is not str:
            _check_tag(self.spec, dynamic_timer_tag)
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

    def current_relative_time(self) -> Timestamp:
        """Return the current time in the time domain of the timer."""
        clock = self.call.cells.clock
        return Timestamp(micros=clock.watermark if self.spec.in_event_time else clock.now)

    def clear(self, dynamic_timer_tag: str = "") -> None:
        """Remove the timer, if it is set."""
        self.call.cells.clear_timer(self.call.window, self.spec, dynamic_timer_tag)


def _check_tag(spec: TimerSpec, tag: object) -> None:
    """Check that a tag cannot change, since it identifies the timer."""
    if not is_immutable(tag):
        raise PipelineError(
            f"the dynamic tag of the timer {spec.name!r} is {shorten(tag)}, which can change",
            remedy="use a string as the dynamic_timer_tag",
        )


Getter = Callable[[StatefulCall], Any]

_METADATA: Final[dict[str, Getter]] = {
    "TimestampParam": lambda call: from_micros(call.timestamp),
    "WindowParam": lambda call: call.window,
    "PaneInfoParam": lambda call: call.pane,
    "DiffParam": lambda call: call.diff,
    "KeyParam": lambda call: own(call.key),
    "DynamicTimerTagParam": lambda call: call.tag,
    CALL.name: lambda call: call,
}


@attrs.define(eq=False)
class KeyRun(Bundle):
    """Elements of one key in one window, which arrived together.

    Attributes:
        cells: the states and timers of the key.
        window: the window.
    """

    cells: Cells = attrs.field(kw_only=True)
    window: BoundedWindow = attrs.field(kw_only=True)

    def calls(self) -> Iterator[StatefulCall]:
        """Yield a call for each element."""
        for value, timestamp, _, pane, diff in self.rows():
            yield StatefulCall(self.cells, value[0], self.window, timestamp, timestamp, pane, diff)


def column_of_run(parameter: Parameter) -> ColumnOf:
    """Return the column that a parameter of ``process`` asks for, of a :class:`KeyRun`."""
    if isinstance(parameter, StateParam):
        state = parameter.spec
        return _column(lambda run: repeat(run.cells.cell(run.window, state)))
    if isinstance(parameter, TimerParam):
        timer = parameter.spec
        return _column(lambda run: (TimerHandle(call, timer) for call in run.calls()))
    if parameter is CALL:
        return _column(KeyRun.calls)
    return column_of(parameter)


def function_of(dofn: DoFn) -> Callable[..., Any]:
    """Return the function that is called on each element."""
    return dofn.function if isinstance(dofn, RunDoFn) else dofn.process


def bound(dofn: DoFn, function: Callable[..., object], given: ProcessEach) -> BoundCall:
    """Return the call of a function of a DoFn on a :class:`KeyRun`.

    Args:
        dofn: the DoFn.
        function: its function, or one that calls it.
        given: has the additional arguments.
    """
    if isinstance(dofn, RunDoFn):
        return dofn.bound(function, given.args)
    return bind(function, given.args, given.kwargs, column_of_run)


def _column(of: Callable[[KeyRun], Iterable[object]]) -> ColumnOf:
    given: Any = of
    column: ColumnOf = given
    return column


@attrs.frozen
class Method:
    """A method of a timer, or one that is called when a window expires.

    Attributes:
        fn: the method.
        getters: what its parameters receive, by name.
    """

    fn: Callable[..., Any]
    getters: tuple[tuple[str, Getter], ...]

    def __call__(self, call: StatefulCall) -> Any:
        """Call the method."""
        return self.fn(**{name: get(call) for name, get in self.getters})


def method_of(fn: Callable[..., object]) -> Method:
    """Return a method for calls."""
    return Method(
        fn,
        tuple(
            (p.name, _getter(p.default))
            for p in parameters_of(fn)
            if isinstance(p.default, Parameter)
        ),
    )


def _getter(parameter: Parameter) -> Getter:
    if isinstance(parameter, StateParam):
        state = parameter.spec
        return lambda call: call.cells.cell(call.window, state)
    if isinstance(parameter, TimerParam):
        timer = parameter.spec
        return lambda call: TimerHandle(call, timer)
    return _METADATA[parameter.name]
