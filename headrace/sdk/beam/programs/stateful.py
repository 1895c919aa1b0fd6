"""Stateful DoFns of Beam, with states and timers of our keys."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import Any, Final

from apache_beam.transforms.userstate import get_dofn_specs

from headrace.sdk.beam.programs.arguments import TimerMethod
from headrace.sdk.beam.programs.direct import DirectCalls
from headrace.sdk.beam.programs.keys import KeyCoding
from headrace.sdk.beam.programs.states import own_state, own_timer
from headrace.sdk.beam.programs.step import BeamStep
from headrace.sdk.pardo.binding import BoundCall
from headrace.sdk.pardo.bundle_dofn import RunDoFn
from headrace.sdk.pardo.dofn import CALL
from headrace.sdk.pardo.stateful_dofn import Stateful

_TIMER: Final = "fire_timer_"
"""The beginning of the names of the methods of timers."""


class BeamStatefulDoFn(RunDoFn):
    """A stateful DoFn of Beam.

    Args:
        step: the ParDo.
        coding: how keys are encoded in the shuffle; None if they are not.
    """

    def __init__(self, step: BeamStep, coding: KeyCoding | None) -> None:
        self._step = step
        self._coding = coding
        states, timers = get_dofn_specs(step.fn)
        self._states = {spec.name: own_state(spec) for spec in _by_name(states)}
        self._timers = {spec.name: own_timer(spec) for spec in _by_name(timers)}

    def default_label(self) -> str:
        return str(self._step.fn.default_label())

    def declared(self) -> Stateful:
        """Return what the DoFn declares."""
        callbacks = {timer: f"{_TIMER}{n}" for n, timer in enumerate(self._timers)}
        return Stateful(self._states, self._timers, callbacks, "", False)

    def __getattr__(self, name: str) -> Any:
        """Return the method of a timer."""
        if not name.startswith(_TIMER):
            raise AttributeError(name)
        return partial(self._fire, int(name.removeprefix(_TIMER)))

    @cached_property
    def _calls(self) -> DirectCalls:
        return DirectCalls(self._step, self._states, self._timers, self._coding)

    @cached_property
    def _timer_methods(self) -> list[TimerMethod]:
        methods = self._calls.timer_methods()
        return [methods[name] for name in self._timers]

    def calling(self) -> AbstractContextManager[None]:
        return self._calls.calling()

    @property
    def function(self) -> Callable[..., Any]:
        return self._calls.function

    def bound(self, function: Callable[..., Any], sides: tuple[Any, ...]) -> BoundCall:
        return self._calls.bound(function, sides)

    def own_outputs(self, values: list[Any]) -> list[Any]:
        return self._calls.own_outputs(values)

    def setup(self) -> None:
        self._calls.setup()

    def start_bundle(self) -> None:
        self._calls.start()

    def _fire(self, number: int, call: Any = CALL) -> Any:
        """Call the method of a timer."""
        return self._timer_methods[number](call)

    def finish_bundle(self) -> Any:
        return self._calls.finish()

    def teardown(self) -> None:
        self._calls.teardown()


def _by_name(specs: set[Any]) -> list[Any]:
    return sorted(specs, key=lambda spec: str(spec.name))
