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
from typing import Any, TypeVar

from headrace.errors import shorten
from headrace.sdk.binding import Call, bind, bind_function, exploded
from headrace.sdk.dofn import DoFn
from headrace.sdk.elementwise import (
    DiffEach,
    Elementwise,
    FilterEach,
    FlatMapEach,
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
        self._dofn = copy(node.fn.dofn) if isinstance(node.fn, ProcessEach) else _Idle()
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
            case ProcessEach(args=args, kwargs=kwargs):
                return self._flat_map(bind(self._dofn.process, args, kwargs))
            case PairEach(value):
                return lambda bundle: _paired(bundle.values, repeat(value), bundle)
            case DiffEach():
                return _with_diffs
        programs: dict[type, Callable[[Call], Program]] = {
            MapEach: self._map,
            KeyEach: self._key,
            FlatMapEach: self._flat_map,
            FilterEach: self._filter,
            StampEach: self._stamp,
        }
        return programs[type(kind)](bind_function(kind.function))

    def _map(self, call: Call) -> Program:
        def run(bundle: Bundle) -> Outputs:
            bundle = _seen_by(call, bundle)
            return one_each(self._collected(list, call, bundle), bundle)

        return run

    def _key(self, call: Call) -> Program:
        def run(bundle: Bundle) -> Outputs:
            bundle = _seen_by(call, bundle)
            return _paired(self._collected(list, call, bundle), bundle.values, bundle)

        return run

    def _flat_map(self, call: Call) -> Program:
        gather = partial(gathered, label=self._label)

        def run(bundle: Bundle) -> Outputs:
            bundle = _seen_by(call, bundle)
            values, ends = self._collected(gather, call, bundle)
            return any_number(values, ends, bundle)

        return run

    def _filter(self, call: Call) -> Program:
        def run(bundle: Bundle) -> Outputs:
            bundle = _seen_by(call, bundle)
            return {MAIN: bundle.where(self._collected(list, call, bundle))}

        return run

    def _stamp(self, call: Call) -> Program:
        def run(bundle: Bundle) -> Outputs:
            bundle = _seen_by(call, bundle)
            stamps = micros_of_all(self._collected(list, call, bundle))
            return {MAIN: Bundle(bundle.values, stamps, bundle.windows, bundle.panes, bundle.diffs)}

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


def _with_diffs(bundle: Bundle) -> Outputs:
    """Turn elements and retractions into pairs, which are themselves no retractions."""
    pairs = list(zip(bundle.diffs, bundle.values, strict=False))
    return {MAIN: Bundle(pairs, bundle.timestamps, bundle.windows, bundle.panes, repeat(INSERT))}
