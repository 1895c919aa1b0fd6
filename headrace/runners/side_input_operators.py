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
from functools import partial
from typing import Any

import attrs

from headrace.errors import FileError, HeadraceError
from headrace.runners.error_context import label_errors
from headrace.runners.invoker import ParDoInvoker
from headrace.runners.keyed_operators import KeyedTable, UnkeyedOutputs
from headrace.runners.operator import Operator, Send, send_outputs
from headrace.runners.planning import SideInputStep
from headrace.runners.side_input_files import CACHE_BYTES
from headrace.runners.side_input_gate import Arrived, GateOutputs, Released, SideInputGate
from headrace.runners.side_input_state import Content, GateState, SideWindow
from headrace.runners.stores import MemoryStore, Store
from headrace.runners.timestamp_checks import note_made
from headrace.sdk.graph import ParDoWithSideInputs
from headrace.sdk.metrics import MetricsContainer
from headrace.sdk.outputs import Outputs
from headrace.sdk.side_inputs import with_values
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import Bundle
from headrace.triggers.trigger import Clock
from headrace.windowing.time import MAX_MICROS, MIN_MICROS

VIEWS: int = 256
"""Maximum number of arguments that are kept for the next round."""


@attrs.frozen
class View:
    """An argument, and the content that it was made of.

    Attributes:
        content: the content.
        version: its version then.
        identity: its identity then.
        argument: the argument.
    """

    content: Content
    version: int
    identity: tuple[Any, ...] | None
    argument: Any

    def is_of(self, content: Content) -> bool:
        """Return whether the argument belongs to a content as it is now."""
        same = content is self.content and content.version == self.version
        return same or (self.identity is not None and self.identity == content.identity)


@attrs.define(eq=False)
class Views:
    """The arguments that the contents of side windows become; those of unchanged contents are kept."""

    node: ParDoWithSideInputs
    _known: dict[SideWindow, View] = attrs.field(factory=dict, init=False)

    def of(self, released: Released) -> list[Any]:
        """Return the argument for each side input."""
        pairs = zip(released.needs, released.contents, strict=True)
        return [self._view(number, *pair) for number, pair in enumerate(pairs)]

    def _view(self, number: int, window: Any, content: Content | None) -> Any:
        if content is None:
            return self._new_view(number, window, [])
        known = self._known.pop((number, window), None)
        if known is None or not known.is_of(content):
            argument = self._new_view(number, window, self._values(number, window, content))
            known = View(content, content.version, content.identity, argument)
            self._forget()
        self._known[number, window] = known
        return known.argument

    def _values(self, number: int, window: Any, content: Content) -> list[Any]:
        try:
            return content.values
        except FileError as error:
            error.where = f"{self.node.label}, {self.node.names[number]} in the window {window!r}"
            raise

    def _new_view(self, number: int, window: Any, values: list[Any]) -> Any:
        try:
            return self.node.views[number](values, self.node.names[number])
        except HeadraceError as error:
            error.where = error.where or f"{self.node.label}, in the window {window!r}"
            raise

    def _forget(self) -> None:
        """Forget the views that were not used for the longest time, if there are many or large ones."""
        large = sum(view.content.bytes_in_files for view in self._known.values())
        while self._known and (len(self._known) >= VIEWS or large > CACHE_BYTES):
            view = self._known.pop(next(iter(self._known)))
            large -= view.content.bytes_in_files


class SideInputInvoker(ParDoInvoker):
    """Calls the function of a node with side inputs."""

    def __init__(self, node: ParDoWithSideInputs, check_mutation: bool = False) -> None:
        super().__init__(node, check_mutation)
        self._kind = node.fn
        self._views = Views(node)

    def process_released(self, released: Released) -> Outputs:
        """Process elements with the contents of their side windows."""
        kind = with_values(self._kind, self._views.of(released))
        self._program = self._checked_program_of(kind)
        return self.process(released.bundle)


@attrs.define(eq=False)
class SideInputOperator(Operator):
    """Base of the operators of nodes with side inputs."""

    step: SideInputStep
    send: Send
    metrics: StepMetrics
    invoker: SideInputInvoker
    gate: SideInputGate = attrs.field(init=False)
    _panes: list[tuple[int, Bundle]] = attrs.field(factory=list, init=False)
    _elements: list[Bundle] = attrs.field(factory=list, init=False)
    _started: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the keyed operator."""
        self.gate = SideInputGate(self.step.strategy, self.step.sides, self.step.files)

    def push(self, bundle: Bundle) -> None:
        """Collect elements of the main input."""
        self._elements.append(bundle)

    def receiver(self, number: int) -> Callable[[Bundle], None]:
        return partial(self._push_pane, number - 1) if number else self.push

    def _push_pane(self, number: int, bundle: Bundle) -> None:
        self._panes.append((number, bundle))

    def note_watermarks(self, watermarks: Sequence[int]) -> None:
        self.gate.watermarks = watermarks[1:]

    def open(self) -> None:
        """Set up the DoFn."""
        self.invoker.setup()

    def release(self) -> None:
        """Tear down the DoFn."""
        self.invoker.teardown()

    @property
    def counted(self) -> MetricsContainer:
        """The metrics of the DoFn."""
        return self.invoker.metrics

    def arrived(self) -> Arrived:
        """Return what was collected, and clear it."""
        arrived = Arrived(self._panes, self._elements)
        self._panes, self._elements = [], []
        return arrived

    def process_released(self, out: GateOutputs) -> None:
        """Call the function on what was released, and send its outputs."""
        self.metrics.late_dropped += out.dropped
        for released in out.released:
            self._start_bundle()
            made = self.invoker.process_released(released)
            if self.invoker.can_stamp:
                for output in made.values():
                    note_made(output, released.bundle, self.metrics)
            send_outputs(self.step.node, made, self.send)

    def _start_bundle(self) -> None:
        if not self._started:
            self._started = True
            self.invoker.start_bundle()

    def finish_bundle(self) -> None:
        """Send the outputs of the DoFn's ``finish_bundle``, if a bundle has started."""
        if self._started:
            self._started = False
            send_outputs(self.step.node, self.invoker.finish_bundle(), self.send)


@attrs.define(eq=False)
class StreamingSideInputs(SideInputOperator):
    """A node with side inputs in streaming mode.

    Args:
        store: the store of the state; on a worker it is set to that of a key group before each round.
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
        self.gate.needed_files = None
        arrived, out = self.arrived(), GateOutputs()
        arrivals = [(None, None, arrived)] if arrived.panes or arrived.elements else []
        with label_errors(self.step.node.label):
            self.store.round(arrivals, clock, UnkeyedOutputs(out))
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
        clock, out = Clock(MIN_MICROS, now), GateOutputs()
        self.gate.watermarks = [MAX_MICROS] * len(self.step.sides)
        with label_errors(self.step.node.label):
            self.gate.process(self._state, self.arrived(), clock, out)
            self.gate.wake(self._state, clock, out)
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
    return make(step, send, metrics, SideInputInvoker(step.node, step.check_mutation))
