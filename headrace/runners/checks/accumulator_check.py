"""The check of CombineFns (``--check-mutation``): they change neither inputs nor accumulators of others.

A method of a CombineFn may change the accumulators that it is given. If accumulators share an object that
changes, keys and windows mix. So the check compares, after each call, an accumulator that is never used, and
some of the accumulators and inputs that were not given to the call, with their snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any, Final

import attrs

from headrace.errors import MutationError, shorten
from headrace.runners.checks.mutation import Snapshot, unchanged
from headrace.sdk.groups.combine_fn import BoundCombineFn, CallableCombineFn, CombineFn

KEPT_ACCUMULATORS: Final = 16
"""The number of the latest accumulators, and of inputs, that are compared after each call."""

LARGE_PICKLE: Final = 4096
"""The size of pickles, in bytes, from which objects are not compared."""


def checked_combine_fn(fn: CombineFn, label: str) -> CombineFn:
    """Return a CombineFn that raises an error if it changes its inputs; accumulators may change.

    Args:
        fn: the CombineFn.
        label: label of the step, for errors.
    """
    return CheckedCombineFn(_with_checked_function(fn, label), label, fn)


def unchecked(fn: CombineFn) -> CombineFn:
    """Return the CombineFn that a checked one was made of; any other one as it is."""
    return fn.original if isinstance(fn, CheckedCombineFn) else fn


def _with_checked_function(fn: CombineFn, label: str) -> CombineFn:
    """Return a CombineFn of a function with a checked function, since its accumulators hold inputs."""
    checked: Any = copy(fn)
    if isinstance(fn, BoundCombineFn):
        checked._fn = _with_checked_function(fn._fn, label)
        return checked  # type: ignore[no-any-return]  # it is a copy of fn
    if isinstance(fn, CallableCombineFn):
        checked.fn = _CheckedFunction(fn.fn, label)
        return checked  # type: ignore[no-any-return]
    return fn


@attrs.frozen
class _CheckedFunction:
    """A function of an iterable that must not change the values."""

    fn: Callable[..., Any]
    label: str

    def __call__(self, values: Iterable[object], *args: object, **kwargs: object) -> Any:
        values = list(values)
        with unchanged(values, "the function", self.label):
            return self.fn(values, *args, **kwargs)


class Accumulators:
    """The accumulators and inputs of a CombineFn in one process that later calls must not change.

    Args:
        label: label of the step, for errors.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._unused: Snapshot | None = None
        self._created = False
        self._accumulators: dict[int, Snapshot] = {}
        self._inputs: dict[int, Snapshot] = {}
        self._returned: dict[int, Snapshot] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the snapshots, for another process."""
        return Accumulators, (self._label,)

    def create(self, create: Callable[[], Any]) -> object:
        """Return a new accumulator; the first one is created twice, and compared after each call."""
        if not self._created:
            self._created = True
            self._unused = Snapshot.of(create())
        return create()

    def call(
        self, method: str, given: list[Any], elements: list[Any], fn: Callable[[], Any]
    ) -> Any:
        """Call a method, and check that it changes no other accumulator and no earlier input.

        Args:
            method: name of the method, for errors.
            given: the accumulators that the method may change.
            elements: its inputs.
            fn: calls the method.

        Raises:
            MutationError: the method changed something else.
        """
        for accumulator in given:
            self._accumulators.pop(id(accumulator), None)
        result = fn()
        self._compare(
            method, f", when it was called with {shorten(elements[-1])}" if elements else "", given
        )
        _keep(self._accumulators, [result])
        _keep(self._inputs, elements)
        if len(elements) == 1 and result is elements[0]:
            _keep(self._returned, elements, limit=64 * KEPT_ACCUMULATORS)
        return result

    def _compare(self, method: str, adds: str, given: list[object]) -> None:
        for change in _changes(self._accumulators_beside(given)):
            raise MutationError(
                f"{method} changed the accumulator of another key or window, {change}{adds}",
                where=self._label,
                remedy="return a new object from create_accumulator, and do not keep one in the CombineFn; "
                "accumulators must not share objects that change",
            )
        returned = [self._returned[id(a)] for a in given if id(a) in self._returned]
        for change in _changes([*self._inputs.values(), *returned]):
            raise MutationError(
                f"{method} changed an earlier input {change}{adds}",
                where=self._label,
                remedy="add a copy to the accumulator, for example list(element); other steps and "
                "retractions use the same object",
            )

    def _accumulators_beside(self, given: list[object]) -> Iterable[Snapshot]:
        unused = [] if self._unused is None else [self._unused]
        return [*unused, *self._accumulators.values()]


def _changes(snapshots: Iterable[Snapshot]) -> Iterator[str]:
    return (change for snapshot in snapshots if (change := snapshot.change))


def _keep(kept: dict[int, Snapshot], values: list[object], limit: int = KEPT_ACCUMULATORS) -> None:
    """Keep snapshots of the last values, by identity, in place of the oldest ones."""
    for value in values[-limit:]:
        snapshot = Snapshot.of(value)
        if snapshot is None or len(snapshot.pickled or snapshot.encoding or b"") > LARGE_PICKLE:
            continue
        kept.pop(id(value), None)
        kept[id(value)] = snapshot
        if len(kept) > limit:
            del kept[next(iter(kept))]


@attrs.frozen
class CheckedCombineFn(CombineFn):
    """A CombineFn that must change neither its inputs nor accumulators that it is not given.

    Attributes:
        fn: the CombineFn.
        label: label of the step, for errors.
        original: the CombineFn that the user gave.
    """

    fn: Any
    label: str
    original: CombineFn = attrs.field(eq=False, repr=False)
    _accumulators: Accumulators = attrs.field(eq=False, repr=False, init=False)

    @_accumulators.default
    def _new_accumulators(self) -> Accumulators:
        return Accumulators(self.label)

    def setup(self) -> None:
        self.fn.setup()

    def teardown(self) -> None:
        self.fn.teardown()

    def create_accumulator(self) -> Any:
        return self._accumulators.create(self.fn.create_accumulator)

    def add_input(self, mutable_accumulator: object, element: object) -> Any:
        return self._add("add_input", mutable_accumulator, [element], self.fn.add_input, element)

    def add_inputs(self, mutable_accumulator: object, elements: Iterable[object]) -> Any:
        elements = list(elements)
        return self._add("add_input", mutable_accumulator, elements, self.fn.add_inputs, elements)

    def subtract_input(self, mutable_accumulator: object, element: object) -> object:
        """Return the accumulator without one input; only if the CombineFn can subtract."""
        subtract = self.fn.subtract_input
        return self._add("subtract_input", mutable_accumulator, [element], subtract, element)

    @property
    def can_subtract(self) -> bool:
        return bool(self.fn.can_subtract)

    def merge_accumulators(self, accumulators: Iterable[object]) -> Any:
        given = list(accumulators)
        merge = partial(self.fn.merge_accumulators, given)
        return self._accumulators.call("merge_accumulators", given, [], merge)

    def compact(self, accumulator: object) -> object:
        compact = partial(self.fn.compact, accumulator)
        return self._accumulators.call("compact", [accumulator], [], compact)

    def extract_output(self, accumulator: object) -> Any:
        with unchanged([accumulator], "extract_output", self.label, "its accumulator"):
            return self.fn.extract_output(accumulator)

    def _add(
        self,
        method: str,
        accumulator: object,
        elements: list[Any],
        fn: Callable[..., object],
        given: object,
    ) -> object:
        with unchanged(elements, method, self.label):
            call = partial(fn, accumulator, given)
            return self._accumulators.call(method, [accumulator], elements, call)

    def default_label(self) -> str:
        return str(self.fn.default_label())
