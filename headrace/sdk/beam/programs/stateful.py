"""Stateful DoFns of Beam: called by Beam's calls, with states and timers of our keys."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from apache_beam.transforms.userstate import get_dofn_specs
from apache_beam.utils.timestamp import Timestamp as BeamTimestamp
from apache_beam.utils.windowed_value import create

from headrace.sdk.beam.programs.keys import KeyCoding
from headrace.sdk.beam.programs.rows import own_row, tag_of
from headrace.sdk.beam.programs.states import UserState, own_state, own_timer
from headrace.sdk.beam.programs.step import BeamStep, Worker
from headrace.sdk.beam.programs.windows import pane_of_ours
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.pardo.dofn import CALL, DoFn
from headrace.sdk.pardo.stateful_dofn import Stateful

_TIMER: Final = "fire_timer_"
"""The beginning of the names of the methods of timers."""


class BeamStatefulDoFn(DoFn):
    """A stateful DoFn of Beam.

    Args:
        step: the ParDo.
        coding: how keys are encoded in the shuffle; None if they are not.
    """

    _worker: Worker
    _user: UserState
    _timer_specs: list[Any]

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

    def setup(self) -> None:
        # Beam finds the method of a timer by the object that the DoFn has, which on a worker is another one.
        self._timer_specs = _by_name(get_dofn_specs(self._step.fn)[1])
        self._user = UserState(self._states, self._timers)
        self._worker = Worker(self._step, self._user)
        with self._worker.calling():
            self._worker.runner.setup()

    def start_bundle(self) -> None:
        with self._worker.calling():
            self._worker.runner.start()

    def process(self, element: Any, *sides: Any, call: Any = CALL) -> Any:
        worker = self._worker
        if self._coding is not None:
            element = self._coding.decoded(element[0]), element[1]
        windows = worker.translation.theirs((call.window,))
        row = create(element, call.timestamp, windows, pane_of_ours(call.pane))
        self._user.take(call)
        worker.take_sides(sides)
        worker.tracker.start()
        worker.runner.process(row)
        return self._made(call.timestamp, windows)

    def _fire(self, number: int, call: Any = CALL) -> Any:
        """Call the method of a timer."""
        worker, spec = self._worker, self._timer_specs[number]
        windows = worker.translation.theirs((call.window,))
        self._user.take(call)
        worker.tracker.start()
        worker.runner.process_user_timer(
            spec,
            self._key(call.key),
            windows[0],
            BeamTimestamp(micros=call.timestamp),
            pane_of_ours(call.pane),
            call.tag,
        )
        return self._made(call.timestamp, windows)

    def _key(self, key: Any) -> Any:
        return key if self._coding is None else self._coding.decoded(key)

    def _made(self, timestamp: int, windows: tuple[Any, ...]) -> list[Any]:
        """Return the outputs of a call; those that say no more than their value as values."""
        taken = self._worker.emitted.taken()
        return (
            [
                self._output(tag, row, row.timestamp_micros == timestamp and row.windows == windows)
                for tag, row in taken
            ]
            if taken
            else taken
        )

    def _output(self, tag: Any, row: Any, is_plain: bool) -> Any:
        if not is_plain:
            return own_row(tag, row, self._worker.translation)
        return row.value if tag is None else TaggedOutput(tag_of(tag), row.value)

    def finish_bundle(self) -> Any:
        self._worker.finish()
        return [self._output(tag, row, False) for tag, row in self._worker.emitted.taken()]

    def teardown(self) -> None:
        with self._worker.calling():
            self._worker.runner.teardown()


def _by_name(specs: set[Any]) -> list[Any]:
    return sorted(specs, key=lambda spec: str(spec.name))
