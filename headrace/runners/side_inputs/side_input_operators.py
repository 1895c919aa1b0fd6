"""Operators of nodes with side inputs: what arrives is collected during a round, and processed when it ends.

===================  ==========================================================================
operator             used in
===================  ==========================================================================
BatchSideInputs      batch mode: the panes of all side inputs are known before the first element
StreamingSideInputs  streaming mode: a store of contents and of elements that wait
===================  ==========================================================================

The elements that need the same side windows are one call of :class:`SideInputInvoker`, so its arguments are
bound once for many elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.calls.calling_operator import CallingOperator
from headrace.runners.calls.invoker import ParDoInvoker
from headrace.runners.checks.mutation import unchanged
from headrace.runners.error_context import label_errors
from headrace.runners.grouping.keyed_table import KeyedTable
from headrace.runners.grouping.store import MemoryStore, Store
from headrace.runners.operator import Send
from headrace.runners.plan.planning import SideInputStep
from headrace.runners.side_inputs.side_input_gate import GateOutputs, Released, SideInputGate
from headrace.runners.side_inputs.side_input_rounds import (
    SideInputArrivals,
    pass_in_batch,
    pass_in_stream,
)
from headrace.runners.side_inputs.side_input_state import GateState
from headrace.runners.side_inputs.side_input_views import Views
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pardo.side_inputs import with_values
from headrace.sdk.pipelines.graph import ParDoWithSideInputs
from headrace.sdk.pipelines.outputs import Outputs
from headrace.triggers.trigger import Clock


class SideInputInvoker(ParDoInvoker):
    """Calls the function of a node with side inputs."""

    def __init__(self, node: ParDoWithSideInputs, check_mutation: bool = False) -> None:
        super().__init__(node, check_mutation)
        self._label = node.label
        self._check_mutation = check_mutation
        self._kind = node.fn
        self._views = Views(node)

    def process_released(self, released: Released) -> Outputs:
        """Process elements with the contents of their side windows."""
        kind = with_values(self._kind, self._views.of(released))
        self._program = self._checked_program_of(kind)
        with self._unchanged_objects(released) if self._check_mutation else nullcontext():
            return self.process(released.bundle)

    def _unchanged_objects(self, released: Released) -> AbstractContextManager[None]:
        """Check that objects in side inputs, which all calls share, do not change."""
        contents = [content.values for content in released.contents if content is not None]
        values = list(chain.from_iterable(contents))
        return unchanged(values, "the function", self._label, "a side input")


@attrs.define(eq=False)
class SideInputOperator(CallingOperator):
    """Base of the operators of nodes with side inputs."""

    invoker: SideInputInvoker
    step: SideInputStep = attrs.field(kw_only=True)
    gate: SideInputGate = attrs.field(init=False)
    _arrivals: SideInputArrivals = attrs.field(factory=SideInputArrivals, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the keyed operator."""
        self.gate = SideInputGate(self.step.strategy, self.step.sides, self.step.files)

    def push(self, bundle: Bundle) -> None:
        """Collect elements of the main input."""
        self._arrivals.push(bundle)

    def receiver(self, number: int) -> Callable[[Bundle], None]:
        return self._arrivals.receiver(number)

    def note_watermarks(self, watermarks: Sequence[int]) -> None:
        self.gate.watermarks = watermarks[1:]

    def process_released(self, out: GateOutputs) -> None:
        """Call the function on what was released, and send its outputs."""
        self.metrics.late_dropped += out.dropped
        for released in out.released:
            self.start_bundle()
            self.send_made(self.invoker.process_released(released), released.bundle)


@attrs.define(eq=False)
class StreamingSideInputs(SideInputOperator):
    """A node with side inputs in streaming mode.

    Args:
        store: the store of the state; on a worker it is set to the store of a key group before each round.
    """

    store: Store[Any, Any] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start with an empty store in memory."""
        super().__attrs_post_init__()
        self.store = MemoryStore(KeyedTable(self.gate))

    @property
    def state_size(self) -> int:
        """The number of stored states."""
        return self.store.size

    def end_round(self, clock: Clock) -> int:
        """Process what was collected, and release the elements that are ready."""
        clock = Clock(max(clock.watermark, self.store.watermark), clock.now)
        with label_errors(self.node.label):
            out = pass_in_stream(self.gate, self.store, self._arrivals.drain(), clock)
        self.process_released(out)
        self.finish_bundle()
        return self.store.output_watermark


@attrs.define(eq=False)
class BatchSideInputs(SideInputOperator):
    """A node with side inputs in batch mode: all windows are ready when the first element is processed."""

    _state: GateState = attrs.field(factory=GateState, init=False)

    def process_collected(self, now: int) -> None:
        """Process what was collected, in one bundle until the round ends; all panes must have arrived.

        Args:
            now: processing time in microseconds.
        """
        with label_errors(self.node.label):
            out = pass_in_batch(self.gate, self._state, self._arrivals.drain(), now)
        self.process_released(out)

    def end_round(self, clock: Clock) -> int:
        """Process what was collected, and forget the side inputs."""
        self.process_collected(clock.now)
        self.finish_bundle()
        self._state = self.gate.new_state()
        return clock.watermark


def side_input_operator(
    step: SideInputStep, send: Send, metrics: StepMetrics, batch: bool
) -> SideInputOperator:
    """Return the operator of a node with side inputs, with its state in memory.

    Args:
        step: the node.
        send: receives the outputs.
        metrics: the metrics of the step.
        batch: whether there is only one round, at the end of time.
    """
    make = BatchSideInputs if batch else StreamingSideInputs
    node = step.node
    return make(node, send, metrics, SideInputInvoker(node, step.check_mutation), step=step)
