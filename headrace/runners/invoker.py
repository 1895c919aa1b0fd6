"""Runs a ParDo node on bundles: what a runner calls.

Every kind of :mod:`headrace.sdk.elementwise` becomes one function from bundle to bundles by tag. An
exception that a user's function raises keeps its type and traceback and gains a note that names the
transform and the element; which element it was is worked out only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import repeat
from operator import length_hint
from typing import Any, Final, TypeVar

from headrace.errors import shorten
from headrace.runners.dead_letters import DeadLetterCollector
from headrace.sdk.binding import Call, bind, bind_function, exploded
from headrace.sdk.dofn import DoFn
from headrace.sdk.elementwise import (
    CatchEach,
    DiffEach,
    Elementwise,
    FilterEach,
    KeyEach,
    MapEach,
    PairEach,
    ProcessEach,
    StampEach,
)
from headrace.sdk.graph import MAIN, ParDo
from headrace.sdk.metrics import MetricsContainer, recording
from headrace.sdk.outputs import Outputs, any_number, finishing, gathered, one_each
from headrace.triggers.bundle import INSERT, Bundle
from headrace.windowing.time import micros_of_all

Program = Callable[[Bundle], Outputs]
Make = Callable[[list[Any], Bundle], Outputs]

T = TypeVar("T")


class ParDoInvoker:
    """A ParDo node at work in one place.

    The order of calls is ``setup``, then for each group of bundles that arrive together
    ``start_bundle``, ``process`` any number of times, ``finish_bundle``; at last ``teardown``.

    Args:
        node: the node.

    Attributes:
        metrics: what the node's function has counted.
    """

    def __init__(self, node: ParDo) -> None:
        self.metrics = MetricsContainer()
        self._label = node.label
        self._tags = {output.tag for output in node.outputs}
        # A copy, so that two places that run one DoFn do not share its attributes.
        each = node.fn.each if isinstance(node.fn, CatchEach) else node.fn
        self._dofn = copy(each.dofn) if isinstance(each, ProcessEach) else _Idle()
        self._program = self._program_of(node.fn)

    def setup(self) -> None:
        """Prepare the place of work."""
        with self._blamed():
            self._dofn.setup()

    def start_bundle(self) -> None:
        """Prepare for elements that arrive together."""
        with recording(self.metrics), self._blamed():
            self._dofn.start_bundle()

    def process(self, bundle: Bundle) -> Outputs:
        """Process the elements of a bundle; outputs that nobody declared are left out."""
        with recording(self.metrics), self._blamed():
            return self._declared(self._program(bundle))

    def finish_bundle(self) -> Outputs:
        """Finish what ``start_bundle`` began, and return the outputs of that."""
        with recording(self.metrics), self._blamed():
            given = self._dofn.finish_bundle()
            return {} if given is None else self._declared(finishing(given, self._label))

    def teardown(self) -> None:
        """Clean up the place of work."""
        with self._blamed():
            self._dofn.teardown()

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        """Name the transform in whatever a user's function raises, and leave the error what it is."""
        try:
            yield
        except Exception as error:
            error.add_note(f"in {self._label}")
            raise

    def _declared(self, found: Outputs) -> Outputs:
        if found.keys() <= self._tags:
            return found
        return {tag: bundle for tag, bundle in found.items() if tag in self._tags}

    def _program_of(self, kind: Elementwise) -> Program:
        match kind:
            case PairEach(value):
                return lambda bundle: _paired(bundle.values, repeat(value), bundle)
            case DiffEach():
                return _with_diffs
            case CatchEach(each=each):
                return (
                    self._catching(kind) if not isinstance(each, _SURE) else self._program_of(each)
                )
        call = self._call_of(kind)
        make = _ONE_RESULT.get(type(kind))
        return self._flat_map(call) if make is None else self._each(call, make)

    def _call_of(self, kind: Any) -> Call:
        if isinstance(kind, ProcessEach):
            return bind(self._dofn.process, kind.args, kind.kwargs)
        return bind_function(kind.function)

    def _each(self, call: Call, make: Make) -> Program:
        def run(bundle: Bundle) -> Outputs:
            bundle = _seen_by(call, bundle)
            return make(self._collected(list, call, bundle), bundle)

        return run

    def _flat_map(self, call: Call) -> Program:
        gather = partial(gathered, label=self._label)

        def run(bundle: Bundle) -> Outputs:
            bundle = _seen_by(call, bundle)
            values, ends = self._collected(gather, call, bundle)
            return any_number(values, ends, bundle)

        return run

    def _catching(self, kind: CatchEach) -> Program:
        """Do what a kind does with the elements that do not fail."""
        call = self._call_of(kind.each)
        make = _ONE_RESULT.get(type(kind.each))

        def run(bundle: Bundle) -> Outputs:
            bundle = _seen_by(call, bundle)
            trial = DeadLetterCollector(kind, bundle, self._label)
            if make is None:
                values, ends = self._collected(trial.gather, call, bundle)
                return trial.with_letters(any_number(values, ends, bundle))
            results = self._collected(trial.collect, call, bundle)
            return trial.with_letters(make(results, trial.survivors()))

        return run

    def _collected(self, collect: Callable[[Iterator[Any]], T], call: Call, bundle: Bundle) -> T:
        """Call the function on each row, and collect its results as they come."""
        rows = iter(bundle.values)
        try:
            return collect(call.results(rows, bundle))
        except Exception as error:
            self._blame(bundle, error, len(bundle) - length_hint(rows) - 1)
            raise

    def _blame(self, bundle: Bundle, error: Exception, row: int) -> None:
        error.add_note(f"on the element {shorten(bundle.values[row])}")


class _Idle(DoFn):
    """A DoFn whose life has no events."""

    def process(self, element: Any, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""


def _seen_by(call: Call, bundle: Bundle) -> Bundle:
    return exploded(bundle) if call.by_window else bundle


def _paired(keys: Iterable[Any], values: Iterable[Any], bundle: Bundle) -> Outputs:
    return {MAIN: bundle.with_values(list(zip(keys, values, strict=False)))}


def _keyed(keys: list[Any], bundle: Bundle) -> Outputs:
    return _paired(keys, bundle.values, bundle)


def _kept(verdicts: list[Any], bundle: Bundle) -> Outputs:
    return {MAIN: bundle.where(verdicts)}


def _stamped(instants: list[Any], bundle: Bundle) -> Outputs:
    stamps = micros_of_all(instants)
    return {MAIN: Bundle(bundle.values, stamps, bundle.windows, bundle.panes, bundle.diffs)}


def _with_diffs(bundle: Bundle) -> Outputs:
    """Turn elements and retractions into pairs, which are themselves no retractions."""
    pairs = list(zip(bundle.diffs, bundle.values, strict=False))
    return {MAIN: Bundle(pairs, bundle.timestamps, bundle.windows, bundle.panes, repeat(INSERT))}


_SURE: Final = (PairEach, DiffEach)
"""The kinds that call no function, so that nothing can fail."""

_ONE_RESULT: Final[dict[type, Make]] = {
    MapEach: one_each,
    KeyEach: _keyed,
    FilterEach: _kept,
    StampEach: _stamped,
}
"""What becomes of the results of a function that returns one for each row."""
