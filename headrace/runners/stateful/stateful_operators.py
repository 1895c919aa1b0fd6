"""Operators of stateful DoFns: elements are collected during a round, and processed when it ends.

===================  ==========================================================================
operator             used in
===================  ==========================================================================
BatchStateful        batch mode: each key runs from its elements to the end of time at once
StreamingStateful    streaming mode: a store of keys; rounds of data, watermark and clock
===================  ==========================================================================

If the DoFn has side inputs, a gate is in front of these operators
(:mod:`headrace.runners.stateful.stateful_side_input_operators`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from copy import copy
from typing import Any

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.checks.accumulator_check import checked_combine_fn
from headrace.runners.error_context import label_errors, note_key, note_method
from headrace.runners.grouping.keyed_table import KeyArrivals, KeyedTable
from headrace.runners.grouping.operators import FLUSH_AT
from headrace.runners.grouping.output import UnkeyedOutputs
from headrace.runners.grouping.store import MemoryStore, Store
from headrace.runners.operator import Operator, Send, send_outputs
from headrace.runners.plan.planning import StatefulStep
from headrace.runners.stateful.dofn_keys import DoFnKeys
from headrace.runners.stateful.stateful_arrivals import KeyedElements
from headrace.runners.stateful.stateful_keys import StatefulKeys
from headrace.runners.stateful.stateful_outputs import DoFnOutputs
from headrace.runners.stateful.stateful_side_inputs import StatefulKeysWithSides
from headrace.sdk.groups.combine_fn import SumCombineFn
from headrace.sdk.metrics.cells import MetricsContainer, recording
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pardo.bundle_dofn import RunDoFn
from headrace.sdk.pardo.dofn import BundleContextParam, DoFn, SetupContextParam
from headrace.sdk.pardo.state.specs import CombiningValueStateSpec, StateSpec
from headrace.sdk.pipelines.outputs import CallingStep, finishing
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MIN_MICROS


@attrs.define(eq=False)
class StatefulOperator(Operator):
    """Base of the operators of stateful DoFns."""

    step: StatefulStep
    send: Send
    metrics: StepMetrics
    counted: MetricsContainer = attrs.field(factory=MetricsContainer, init=False)
    keys: DoFnKeys = attrs.field(init=False)
    _states: dict[str, StateSpec] = attrs.field(init=False)
    _waiting: KeyedElements = attrs.field(factory=KeyedElements, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the keyed operator, with its own copies of the DoFn and of the CombineFns of states."""
        node = self.step.node
        shares = getattr(node.dofn, "shares_values", False)
        states = node.declared.states.items()
        checked = node.label if self.step.check_mutation else ""
        self._states = {name: spec.for_worker(shares) for name, spec in states}
        if checked:
            _check_accumulators(self._states.values(), checked)
        self.keys = self._new_keys(copy(node.dofn), checked)
        self.keys.check_state = self.step.check_state

    def _new_keys(self, dofn: DoFn, checked: str) -> DoFnKeys:
        """Return the keyed operator of a DoFn."""
        node, strategy = self.step.node, self.step.strategy
        declared = attrs.evolve(node.declared, states=self._states)
        if self.step.sides:
            return StatefulKeysWithSides(attrs.evolve(node, dofn=dofn), declared, strategy, checked)
        return StatefulKeys(dofn, declared, strategy, node.args, node.kwargs, checked)

    def push(self, bundle: Bundle) -> None:
        """Collect a bundle until the round ends."""
        with label_errors(self.step.node.label):
            self._waiting.add(bundle)

    def open(self) -> None:
        """Set up the DoFn, and the CombineFns of its states."""
        with self.in_step():
            self.keys.contexts.enter(SetupContextParam)
            for spec in self._states.values():
                spec.set_up()
            with note_method("setup"):
                self.keys.dofn.setup()

    def release(self) -> None:
        """Tear down the DoFn, and the CombineFns of its states."""
        with self.in_step(), closing(self.keys.contexts):
            try:
                with note_method("teardown"):
                    self.keys.dofn.teardown()
            finally:
                for spec in self._states.values():
                    spec.tear_down()

    def finalize(self) -> None:
        """Call what was registered with the finalizer of the DoFn."""
        self.keys.contexts.finalizer.finalize_bundle()

    @contextmanager
    def in_step(self) -> Iterator[None]:
        """Record metrics for this step, and add its label to errors and log records."""
        label, windows = self.step.node.label, self.keys.current_windows
        with recording(self.counted), label_errors(label, windows), _calling(self.keys.dofn):
            yield

    def new_outputs(self) -> DoFnOutputs:
        """Return an empty collector."""
        step, dofn = self.step, self.keys.dofn
        return DoFnOutputs(
            CallingStep(step.node.label, "process", step.strategy.window_fn),
            dofn.own_outputs if isinstance(dofn, RunDoFn) else None,
        )

    def arrivals(self) -> Iterator[KeyArrivals]:
        """Yield the collected elements by key, and clear them."""
        if self.keys.emitted is not None:
            self.keys.emitted.resume()
        with label_errors(self.step.node.label):
            arrived = self._waiting.drain()
        for known, elements in arrived:
            yield known, elements.values[0][0], elements

    def emit(self, out: DoFnOutputs) -> None:
        """Send outputs, and count late elements."""
        self.metrics.late_dropped += out.dropped
        self.metrics.past_timer = max(self.metrics.past_timer, self.keys.past_timer)
        self.keys.past_timer = 0
        emitted = self.keys.emitted
        if emitted is not None:
            emitted.compare()
        send_outputs(self.step.node, out.bundles(), self.send)
        if emitted is not None:
            emitted.resume()

    def end_bundle(self) -> None:
        """Send the outputs of the DoFn's ``finish_bundle``, if a bundle was started."""
        with self.in_step():
            with note_method("finish_bundle"):
                given = self.keys.end_bundle()
                last = {} if given is None else finishing(given, self.step.node.label)
            self.keys.contexts.exit(BundleContextParam)
        send_outputs(self.step.node, last, self.send)


@attrs.define(eq=False)
class StreamingStateful(StatefulOperator):
    """A stateful DoFn in streaming mode: in each round first the data, then watermark and clock.

    Args:
        store: the store of the keys; on a worker it is set to the store of a key group before each round.
    """

    store: Store[Any, Any] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start with an empty store in memory."""
        super().__attrs_post_init__()
        self.store = MemoryStore(KeyedTable(self.keys))

    @property
    def state_size(self) -> int:
        """The number of stored states."""
        return self.store.size

    def end_round(self, clock: Clock) -> int:
        """Process the collected elements, then the timers that are due."""
        clock = Clock(max(clock.watermark, self.store.watermark), clock.now)
        out = self.new_outputs()
        with self.in_step():
            self.store.round(self.arrivals(), clock, UnkeyedOutputs(out))
        self.emit(out)
        self.end_bundle()
        return self.store.output_watermark


@attrs.define(eq=False)
class BatchStateful(StatefulOperator):
    """A stateful DoFn in batch mode: each key runs from its elements to the end of time at once."""

    def end_round(self, clock: Clock) -> int:
        """Process all elements, key by key."""
        arrivals = self.arrivals()
        full = True
        while full:
            with self.in_step():
                out = self._next_outputs(arrivals, clock)
            self.emit(out)
            full = len(out.values) >= FLUSH_AT
        self.end_bundle()
        return clock.watermark

    def _next_outputs(self, arrivals: Iterator[KeyArrivals], clock: Clock) -> DoFnOutputs:
        """Run further keys until there are enough outputs for a bundle, or no keys are left."""
        start, out = Clock(MIN_MICROS, clock.now), self.new_outputs()
        for _, key, elements in arrivals:
            try:
                self.keys.run_to_completion(elements, start, clock, out)
            except Exception as error:
                note_key(error, key)
                raise
            if len(out.values) >= FLUSH_AT:
                break
        return out


def stateful_operator(
    step: StatefulStep, send: Send, metrics: StepMetrics, batch: bool
) -> StatefulOperator:
    """Return the operator of a stateful DoFn, with its keys in memory.

    Args:
        step: the stateful DoFn.
        send: receives the outputs.
        metrics: the metrics of the step.
        batch: whether there is only one round, at the end of time.
    """
    return (BatchStateful if batch else StreamingStateful)(step, send, metrics)


def _calling(dofn: DoFn) -> AbstractContextManager[None]:
    """Return what is entered while functions of a DoFn are called."""
    return dofn.calling() if isinstance(dofn, RunDoFn) else nullcontext()


def _check_accumulators(states: Iterable[StateSpec], label: str) -> None:
    """Let the CombineFns of states, except sums, raise an error if accumulators share an object."""
    for spec in states:
        if isinstance(spec, CombiningValueStateSpec) and type(spec.combine_fn) is not SumCombineFn:
            spec.combine_fn = checked_combine_fn(spec.combine_fn, label)
