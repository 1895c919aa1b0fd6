"""Side inputs of a stateful DoFn: a gate in front of its keys, and a watermark for keys whose elements wait.

Elements pass the gate of side inputs before their key gets them. While elements of a key wait there, the key
sees the watermark held at the earliest of them. So its event-time timers do not fire, and its windows do not
expire, before these elements. Other keys do not wait, so the result does not depend on how keys are divided
into key groups. Timers of processing time are not held back.

An element holds its key at its timestamp; if it arrived behind the watermark, at the watermark of that round.
So the watermark of a key does not decrease.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.contents.side_input_files import SideInputFiles
from headrace.runners.side_inputs.side_input_gate import (
    GateOutputs,
    SideInputGate,
    distinct_windows,
)
from headrace.runners.side_inputs.side_input_state import GateState, NeededWindows
from headrace.runners.side_inputs.side_input_views import Views
from headrace.runners.stateful.stateful_calls import KeyRun
from headrace.runners.stateful.stateful_keys import StatefulKeys
from headrace.runners.stateful.stateful_outputs import DoFnOutputs
from headrace.runners.stateful.stateful_state import DoFnState
from headrace.sdk.coders.keys import encode_key
from headrace.sdk.pardo.binding import BoundCall
from headrace.sdk.pardo.side_inputs import with_values
from headrace.sdk.pardo.stateful_dofn import Stateful, keys_of_pairs
from headrace.sdk.pipelines.elementwise import ProcessEach
from headrace.sdk.pipelines.graph import StatefulParDo
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import NEVER, Clock
from headrace.windowing.window import BoundedWindow


class KeyedGate(SideInputGate):
    """A gate in front of keys, which it holds back while their elements wait."""

    def __init__(
        self,
        strategy: WindowingStrategy,
        sides: Sequence[WindowingStrategy],
        files: SideInputFiles | None = None,
    ) -> None:
        super().__init__(strategy, sides, files)
        self._by_window = True  # so that elements are late by the watermark at which they arrive

    def _add(self, state: GateState, needs: NeededWindows, elements: Bundle, clock: Clock) -> None:
        super()._add(state, needs, elements, clock)
        if not self._ready(state, needs):
            _hold_keys(state.waiting[needs].key_holds, elements, clock.watermark)

    def wake(self, state: GateState, clock: Clock, out: GateOutputs) -> None:
        out.holds_before = _key_holds(state)
        super().wake(state, clock, out)
        out.holds = _key_holds(state)

    def freeze(self, state: GateState) -> tuple[Any, ...]:
        key_holds = [waiting.key_holds for waiting in state.waiting.values()]
        return *super().freeze(state), key_holds

    def thaw(self, frozen: tuple[Any, ...]) -> GateState:
        *own, key_holds = frozen
        state = super().thaw(tuple(own))
        for waiting, holds in zip(state.waiting.values(), key_holds, strict=True):
            waiting.key_holds = holds
        return state


def _hold_keys(holds: dict[bytes, int], elements: Bundle, watermark: int) -> None:
    """Note that elements that arrived under a watermark hold their keys."""
    keys = keys_of_pairs(elements.values)
    for key, timestamp in zip(keys, elements.timestamps, strict=False):
        code = encode_key(key)
        holds[code] = min(max(timestamp, watermark), holds.get(code, NEVER))


def _key_holds(state: GateState) -> dict[bytes, int]:
    """Return the watermark at which each key with waiting elements is held."""
    found: dict[bytes, int] = {}
    for waiting in state.waiting.values():
        for code, hold in waiting.key_holds.items():
            found[code] = min(hold, found.get(code, NEVER))
    return found


@attrs.define(eq=False)
class CallsByWindow:
    """Calls of ``process``, whose arguments depend on the window."""

    _calls: dict[BoundedWindow, BoundCall] = attrs.field(factory=dict)

    def results(self, rows: Iterator[object], run: KeyRun) -> Iterator[Any]:
        """Call ``process`` lazily on each element of a run."""
        return self._calls[run.window].results(rows, run)


class StatefulKeysWithSides(StatefulKeys):
    """The keyed operator of one stateful DoFn with side inputs.

    Args:
        node: the node, whose DoFn belongs to this operator alone.
        declared: its states and timers.
        strategy: the windowing strategy of the main input.
        checked: label of the step, to check that ``process`` does not change its elements; empty for no
            check.
    """

    def __init__(
        self, node: StatefulParDo, declared: Stateful, strategy: WindowingStrategy, checked: str
    ) -> None:
        super().__init__(node.dofn, declared, strategy, node.args, node.kwargs, checked)
        self._views = Views(node)
        self._arguments = ProcessEach(node.dofn, node.args, node.kwargs)
        self._holds_before: Mapping[bytes, int] = {}
        self._holds: Mapping[bytes, int] = {}

    def take(self, out: GateOutputs) -> None:
        """Take what the gate says of a round: the side inputs of elements, and which keys it holds back."""
        self._holds_before, self._holds = out.holds_before, out.holds
        calls: dict[BoundedWindow, BoundCall] = {}
        for released in out.released:
            call = self._bound(with_values(self._arguments, self._views.of(released)))
            for (window,) in distinct_windows(released.bundle):
                calls[window] = call
        self._process = CallsByWindow(calls)

    def process(self, state: DoFnState, elements: Bundle, clock: Clock, out: DoFnOutputs) -> None:
        clock = _held(self._holds_before, elements.values[0][0], clock)
        super().process(state, elements, clock, out)

    def wake(self, state: DoFnState, clock: Clock, out: DoFnOutputs) -> None:
        super().wake(state, _held(self._holds, state.key, clock), out)


def _held(holds: Mapping[bytes, int], key: object, clock: Clock) -> Clock:
    """Return the clock that a key sees."""
    if not holds:
        return clock
    return Clock(min(clock.watermark, holds.get(encode_key(key), NEVER)), clock.now)
