"""Operators of stateful DoFns with side inputs: a gate in front of the operator of the DoFn.

=======================  ==========================================================================
operator                 used in
=======================  ==========================================================================
BatchGatedStateful       batch mode: all elements pass the gate, since all panes have arrived
StreamingGatedStateful   streaming mode: a store of contents and of elements that wait
=======================  ==========================================================================

The gate and the keys have a store each. In a round elements pass the gate first; the keys get those that it
releases in the same round.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.grouping.keyed_table import KeyedTable
from headrace.runners.grouping.store import MemoryStore, Store
from headrace.runners.operator import Operator, Send
from headrace.runners.plan.planning import StatefulStep
from headrace.runners.side_inputs.side_input_gate import GateOutputs
from headrace.runners.side_inputs.side_input_rounds import (
    SideInputArrivals,
    pass_in_batch,
    pass_in_stream,
)
from headrace.runners.stateful.stateful_operators import (
    BatchStateful,
    StatefulOperator,
    StreamingStateful,
    stateful_operator,
)
from headrace.runners.stateful.stateful_side_inputs import KeyedGate, StatefulKeysWithSides
from headrace.sdk.metrics.cells import MetricsContainer
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.triggers.trigger import Clock


@attrs.define(eq=False)
class GatedStateful(Operator):
    """Base of the operators of stateful DoFns with side inputs.

    Args:
        keys: the operator of the DoFn.
    """

    keys: StatefulOperator
    gate: KeyedGate = attrs.field(init=False)
    _arrivals: SideInputArrivals = attrs.field(factory=SideInputArrivals, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the gate."""
        step = self.keys.step
        self.gate = KeyedGate(step.strategy, step.sides, step.files)

    def push(self, bundle: Bundle) -> None:
        """Collect elements of the main input."""
        self._arrivals.push(bundle)

    def receiver(self, number: int) -> Callable[[Bundle], None]:
        return self._arrivals.receiver(number)

    def note_watermarks(self, watermarks: Sequence[int]) -> None:
        self.gate.watermarks = watermarks[1:]

    def end_round(self, clock: Clock) -> int:
        """Let elements pass the gate, and process those that it releases."""
        with self.keys.in_step():
            out = self._pass(clock)
            operator = self.keys.keys
            assert isinstance(operator, StatefulKeysWithSides)
            operator.take(out)
        self.keys.metrics.late_dropped += out.dropped
        for released in out.released:
            self.keys.push(released.bundle)
        return self.keys.end_round(clock)

    @abstractmethod
    def _pass(self, clock: Clock) -> GateOutputs:
        """Return what the gate releases in this round."""

    def open(self) -> None:
        """Set up the DoFn."""
        self.keys.open()

    def release(self) -> None:
        """Tear down the DoFn."""
        self.keys.release()

    def finalize(self) -> None:
        """Call what was registered with the finalizer of the DoFn."""
        self.keys.finalize()

    @property
    def state_size(self) -> int | None:
        """The number of keys with state."""
        return self.keys.state_size

    @property
    def counted(self) -> MetricsContainer:
        """The metrics of the DoFn."""
        return self.keys.counted


@attrs.define(eq=False)
class StreamingGatedStateful(GatedStateful):
    """A stateful DoFn with side inputs in streaming mode.

    Args:
        store: the store of the gate; on a worker it is set to the store of a key group before each round.
    """

    keys: StreamingStateful
    store: Store[Any, Any] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start with an empty store in memory."""
        super().__attrs_post_init__()
        self.store = MemoryStore(KeyedTable(self.gate))

    def end_round(self, clock: Clock) -> int:
        """Run a round; elements that wait hold the output watermark."""
        clock = Clock(max(clock.watermark, self.store.watermark), clock.now)
        return min(super().end_round(clock), self.store.output_watermark)

    def _pass(self, clock: Clock) -> GateOutputs:
        return pass_in_stream(self.gate, self.store, self._arrivals.drain(), clock)


@attrs.define(eq=False)
class BatchGatedStateful(GatedStateful):
    """A stateful DoFn with side inputs in batch mode."""

    keys: BatchStateful

    def _pass(self, clock: Clock) -> GateOutputs:
        return pass_in_batch(self.gate, self.gate.new_state(), self._arrivals.drain(), clock.now)


def operator_of_dofn(
    step: StatefulStep, send: Send, metrics: StepMetrics, batch: bool
) -> StatefulOperator | GatedStateful:
    """Return the operator of a stateful DoFn, with or without side inputs.

    Args:
        step: the stateful DoFn.
        send: receives the outputs.
        metrics: the metrics of the step.
        batch: whether there is only one round, at the end of time.
    """
    keys = stateful_operator(step, send, metrics, batch)
    if not step.sides:
        return keys
    if isinstance(keys, StreamingStateful):
        return StreamingGatedStateful(keys)
    assert isinstance(keys, BatchStateful)
    return BatchGatedStateful(keys)
