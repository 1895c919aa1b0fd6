"""Rounds of a gate: the panes and elements of a round are collected, and pass the gate when it ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.grouping.output import UnkeyedOutputs
from headrace.runners.grouping.store import Store
from headrace.runners.side_inputs.side_input_gate import GateOutputs, RoundInput, SideInputGate
from headrace.runners.side_inputs.side_input_state import GateState
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS


@attrs.define(eq=False)
class SideInputArrivals:
    """The panes of side inputs and the elements that arrive in a round."""

    _panes: list[tuple[int, Bundle]] = attrs.field(factory=list, init=False)
    _elements: list[Bundle] = attrs.field(factory=list, init=False)

    def push(self, bundle: Bundle) -> None:
        """Collect elements of the main input."""
        self._elements.append(bundle)

    def receiver(self, number: int) -> Callable[[Bundle], None]:
        """Return what collects the bundles of an input; that with the number 0 is the main input."""
        return partial(self._push_pane, number - 1) if number else self.push

    def _push_pane(self, number: int, bundle: Bundle) -> None:
        self._panes.append((number, bundle))

    def drain(self) -> RoundInput:
        """Return what was collected, and clear it."""
        arrived = RoundInput(self._panes, self._elements)
        self._panes, self._elements = [], []
        return arrived


def pass_in_stream(
    gate: SideInputGate, store: Store[Any, Any], arrived: RoundInput, clock: Clock
) -> GateOutputs:
    """Run a round of streaming mode, and return what the gate releases.

    Args:
        gate: the gate.
        store: the store of its state.
        arrived: what arrived in the round.
        clock: the watermark of the main input, and processing time.
    """
    gate.needed_files, out = None, GateOutputs()
    arrivals = [(None, None, arrived)] if arrived.panes or arrived.elements else []
    store.round(arrivals, clock, UnkeyedOutputs(out))
    return out


def pass_in_batch(
    gate: SideInputGate, state: GateState, arrived: RoundInput, now: int
) -> GateOutputs:
    """Let elements of a batch pass a gate, after all panes have arrived: all windows are ready.

    Args:
        gate: the gate.
        state: its state.
        arrived: what arrived.
        now: processing time in microseconds.
    """
    clock, out = Clock(MIN_MICROS, now), GateOutputs()
    gate.watermarks = [MAX_MICROS] * gate.sides
    gate.process(state, arrived, clock, out)
    gate.wake(state, clock, out)
    return out
