"""Runs a ParDo node on bundles.

Each kind of :mod:`headrace.sdk.pipelines.elementwise` becomes one function from a bundle to bundles by tag.
An exception of a user's function keeps its type and traceback, and gets notes with the transform and the
element. The element is determined only after an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import repeat
from operator import length_hint
from typing import Any, Final, TypeVar

import attrs

from headrace.errors import note_element
from headrace.grouping.bundle import INSERT, Bundle
from headrace.runners.calls.batch_calls import Program, with_batches
from headrace.runners.calls.context_managers import ContextManagers
from headrace.runners.calls.dead_letters import DeadLetterCollector
from headrace.runners.calls.table_calls import table_program, with_tables
from headrace.runners.checks.emitted_check import EmittedCheck
from headrace.runners.error_context import note_method
from headrace.sdk.metrics.cells import MetricsContainer, recording
from headrace.sdk.metrics.step_logging import LogContext, exchange_log_context
from headrace.sdk.pardo.binding import BoundCall, bind, bind_function, exploded
from headrace.sdk.pardo.bundle_dofn import BundleDoFn
from headrace.sdk.pardo.dofn import BundleContextParam, CallableDoFn, DoFn, SetupContextParam
from headrace.sdk.pardo.time_limits import within
from headrace.sdk.pipelines.elementwise import (
    BundleEach,
    CatchEach,
    ChangeEach,
    DiffEach,
    Elementwise,
    FieldsEach,
    FilterEach,
    FlatMapEach,
    KeyEach,
    MapEach,
    PairEach,
    ProcessEach,
    StampEach,
    Uncaught,
    WhereEach,
    method_of,
    table_form_of,
)
from headrace.sdk.pipelines.graph import MAIN, ParDo, ParDoWithSideInputs
from headrace.sdk.pipelines.outputs import (
    CallingStep,
    Outputs,
    any_number,
    finishing,
    gathered,
    one_each,
    restamped,
)
from headrace.windowing.time.timestamps import micros_of_all

Make = Callable[[list[Any], Bundle, CallingStep], Outputs]

T = TypeVar("T")


class ParDoInvoker:
    """A ParDo node in one process.

    The order of calls is ``setup``; for each group of bundles that arrive together ``start_bundle``,
    ``process`` any number of times, and ``finish_bundle``; finally ``teardown``.

    Args:
        node: the node.
        check_mutation: whether functions that change their inputs or outputs raise an error.

    Attributes:
        metrics: the metrics that the node's function recorded.
        can_stamp: whether the node's function can supply timestamps.
        contexts: the context managers and the finalizer that the node's function asks for.
    """

    def __init__(self, node: ParDo | ParDoWithSideInputs, check_mutation: bool = False) -> None:
        self.metrics = MetricsContainer()
        window_fn = node.inputs[0].windowing.window_fn
        self._step = CallingStep(node.label, _function_of(node.fn), window_fn)
        self._element_type = node.inputs[0].element_type
        self._log = LogContext(node.label)
        # A copy, so that several invokers of one DoFn do not share its attributes.
        each = node.fn.each if isinstance(node.fn, CatchEach) else node.fn
        self._dofn = (
            copy(each.dofn) if isinstance(each, (ProcessEach, BundleEach)) else _NoLifecycle()
        )
        self.contexts = ContextManagers()
        self._start = self.contexts.bound(self._dofn.start_bundle)
        self.can_stamp = not isinstance(each, _KEEP_TIMESTAMPS)
        checks = check_mutation and not isinstance(each, _CANNOT_FAIL)
        self._emitted = EmittedCheck(self._step.function, node.label) if checks else None
        finish = self.contexts.bound(self._dofn.finish_bundle)
        self._finish = finish if self._emitted is None else self._emitted.method(finish)
        self._program = self._checked_program_of(node.fn)

    def setup(self) -> None:
        """Set up the DoFn."""
        with self._note_label():
            self.contexts.enter(SetupContextParam)
            with note_method("setup"):
                self._dofn.setup()

    def start_bundle(self) -> None:
        """Start a bundle of elements that arrive together."""
        with recording(self.metrics), self._note_label():
            self.contexts.enter(BundleContextParam)
            with note_method("start_bundle"):
                self._start()

    def process(self, bundle: Bundle) -> Outputs:
        """Process the elements of a bundle."""
        with recording(self.metrics), self._note_label():
            return self._program(bundle)

    def finish_bundle(self) -> Outputs:
        """Finish the bundle, and return its last outputs."""
        with recording(self.metrics), self._note_label():
            with note_method("finish_bundle"):
                last = self._last_outputs()
            self.contexts.exit(BundleContextParam)
            return last

    def _last_outputs(self) -> Outputs:
        if isinstance(self._dofn, BundleDoFn):
            return self._dofn.last_outputs()
        checks = self._emitted
        given = self._finish() if checks is None else checks.compared(self._finish)
        return {} if given is None else finishing(given, self._step.label)

    def teardown(self) -> None:
        """Tear down the DoFn."""
        with self._note_label():
            try:
                with note_method("teardown"):
                    self._dofn.teardown()
            finally:
                self.contexts.close()

    @contextmanager
    def _note_label(self) -> Iterator[None]:
        """Add the label of the transform to errors and log records of the user's function."""
        before = exchange_log_context(self._log)
        try:
            yield
        except Exception as error:
            error.add_note(f"in {self._step.label}")
            raise
        finally:
            exchange_log_context(before)

    def _checked_program_of(self, kind: Elementwise) -> Program:
        program = self._program_of(kind)
        return self._emitted.program(program) if self._emitted else program

    def _program_of(self, kind: Elementwise) -> Program:
        if isinstance(kind, CatchEach):
            caught = kind.each
            fails = not isinstance(caught, _CANNOT_FAIL)
            return self._with_dead_letters(kind) if fails else self._program_of(caught)
        if isinstance(kind, _CANNOT_FAIL):
            return self._program_without_calls(kind)
        call = self._call_of(kind)
        if isinstance(kind, ProcessEach) and kind.batches is not None:
            return with_batches(self._flat_map(call), kind.batches, self._step)
        make = _ONE_RESULT.get(type(kind))
        program = self._flat_map(call) if make is None else self._each(call, make)
        return with_tables(program, table_form_of(kind))

    def _program_without_calls(self, kind: Elementwise) -> Program:
        match kind:
            case PairEach(value):
                paired = partial(_paired_with, value)
                return with_tables(paired, table_form_of(kind))
            case BundleEach():
                return self._whole_bundles(kind)
            case WhereEach() | FieldsEach():
                return table_program(kind, self._element_type)
        return _with_diffs if isinstance(kind, DiffEach) else _with_changes

    def _whole_bundles(self, kind: BundleEach) -> Program:
        """Return the program of a DoFn that takes whole bundles."""
        dofn, sides = self._dofn, kind.args
        assert isinstance(dofn, BundleDoFn)
        return lambda bundle: dofn.process_bundle(bundle, *sides)

    def _call_of(self, kind: Uncaught, timeout: float | None = None) -> BoundCall:
        assert not isinstance(kind, _CANNOT_FAIL)  # they call no function
        fn = (
            method_of(self._dofn, kind.batches)
            if isinstance(kind, ProcessEach)
            else kind.function.fn
        )
        if timeout is not None:
            fn = within(timeout, fn, many=isinstance(kind, (ProcessEach, FlatMapEach)))
        fn = self.contexts.bound(fn)
        if isinstance(kind, ProcessEach):
            call = bind(fn, kind.args, kind.kwargs)
        else:
            call = bind_function(attrs.evolve(kind.function, fn=fn))
        return self._recorded(call, kind) if self._emitted else call

    def _recorded(self, call: BoundCall, kind: object) -> BoundCall:
        """Return a call whose outputs are recorded, for the check that they do not change."""
        assert self._emitted is not None
        if isinstance(kind, (MapEach, KeyEach)):
            return self._emitted.one_result(call)
        many = isinstance(kind, (FlatMapEach, ProcessEach))
        return self._emitted.many_results(call) if many else call

    def _each(self, call: BoundCall, make: Make) -> Program:
        def run(bundle: Bundle) -> Outputs:
            bundle = _rows_for(call, bundle)
            return make(self._collected(list, call, bundle), bundle, self._step)

        return run

    def _flat_map(self, call: BoundCall) -> Program:
        gather = partial(gathered, step=self._step)

        def run(bundle: Bundle) -> Outputs:
            bundle = _rows_for(call, bundle)
            values, ends = self._collected(gather, call, bundle)
            return any_number(values, ends, bundle, self._step)

        return run

    def _with_dead_letters(self, kind: CatchEach) -> Program:
        """Return the program of a kind that collects the elements on which its function fails."""
        call = self._call_of(kind.each, kind.timeout)
        make = _ONE_RESULT.get(type(kind.each))

        def run(bundle: Bundle) -> Outputs:
            bundle = _rows_for(call, bundle)
            collector = DeadLetterCollector(kind, bundle, self._step)
            if make is None:
                values, ends = self._collected(collector.gather, call, bundle)
                return collector.with_letters(any_number(values, ends, bundle, self._step))
            results = self._collected(collector.collect, call, bundle)
            return collector.with_letters(make(results, collector.survivors(), self._step))

        return run

    def _collected(
        self, collect: Callable[[Iterator[Any]], T], call: BoundCall, bundle: Bundle
    ) -> T:
        """Call the function on each row, and collect its results."""
        rows = iter(bundle.values)
        self._log.enter_bundle(bundle, rows)
        try:
            return collect(call.results(rows, bundle))
        except Exception as error:
            note_element(error, bundle.values[len(bundle) - length_hint(rows) - 1])
            raise
        finally:
            self._log.exit_bundle()


class _NoLifecycle(DoFn):
    """A DoFn without setup, bundles or teardown, for kinds that call a plain function."""

    def process(self, element: Any, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""


def _function_of(kind: Elementwise) -> str:
    """Return the function of a kind, as the subject of a sentence."""
    each = kind.each if isinstance(kind, CatchEach) else kind
    if isinstance(each, ProcessEach):
        return "the function" if isinstance(each.dofn, CallableDoFn) else "process"
    return _FUNCTIONS.get(type(each), "the function")


def _rows_for(call: BoundCall, bundle: Bundle) -> Bundle:
    return exploded(bundle) if call.by_window else bundle


def _paired_with(value: object, bundle: Bundle) -> Outputs:
    return _paired(bundle.values, repeat(value), bundle)


def _paired(keys: Iterable[object], values: Iterable[object], bundle: Bundle) -> Outputs:
    return {MAIN: bundle.with_values(list(zip(keys, values, strict=False)))}


def _keyed(keys: list[object], bundle: Bundle, step: CallingStep) -> Outputs:
    return _paired(keys, bundle.values, bundle)


def _filtered(mask: list[object], bundle: Bundle, step: CallingStep) -> Outputs:
    return {MAIN: bundle.where(mask)}


def _stamped(instants: list[object], bundle: Bundle, step: CallingStep) -> Outputs:
    return {MAIN: restamped(bundle, bundle.values, micros_of_all(instants), step.window_fn)}


def _with_diffs(bundle: Bundle) -> Outputs:
    """Turn elements and retractions into (diff, value) pairs; all pairs are insertions."""
    pairs = list(zip(bundle.diffs, bundle.values, strict=False))
    return {MAIN: Bundle(pairs, bundle.timestamps, bundle.windows, bundle.panes, repeat(INSERT))}


def _with_changes(bundle: Bundle) -> Outputs:
    """Return the values and retractions that changes describe."""
    if not bundle.values:
        return {}
    diffs, values, timestamps, windows = map(list, zip(*bundle.values, strict=True))
    return {MAIN: Bundle(values, timestamps, windows, bundle.panes, diffs)}


_CANNOT_FAIL: Final = (PairEach, DiffEach, ChangeEach, BundleEach, WhereEach, FieldsEach)
"""The kinds that call no function here, so that no call can be repeated or checked."""

_KEEP_TIMESTAMPS: Final = (PairEach, DiffEach, KeyEach, FilterEach, WhereEach, FieldsEach)
"""The kinds whose outputs have the timestamps of their inputs."""

_FUNCTIONS: Final = {MapEach: "Map's function", FlatMapEach: "FlatMap's function"}

_ONE_RESULT: Final[dict[type, Make]] = {
    MapEach: one_each,
    KeyEach: _keyed,
    FilterEach: _filtered,
    StampEach: _stamped,
}
"""How to make outputs of the results of a function that returns one result per row."""
