"""The check that functions do not change their inputs (``--check-mutation``).

An element can be shared: by other steps that read the same collection, by the state of a grouping, and by a
retraction, which must equal the value that it retracts. The check compares a pickle of the elements from
before a call with one from after it, as the direct runner of Beam's Java SDK does. Elements of immutable
types are not pickled, and elements that can be neither pickled nor encoded are not checked.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Final

import attrs

from headrace.errors import MutationError, shorten
from headrace.sdk.combine_fn import BoundCombineFn, CallableCombineFn, CombineFn
from headrace.sdk.encoding import encode_value
from headrace.sdk.outputs import Outputs
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import Duration, Timestamp

IMMUTABLE: Final = frozenset(
    {
        *(str, bytes, int, float, complex, bool, type(None)),
        *(date, datetime, timedelta, Decimal, Timestamp, Duration),
    }
)
"""Types whose values cannot change, like tuples of them; subclasses may have attributes that change."""


def checked_program(
    program: Callable[[Bundle], Outputs], label: str
) -> Callable[[Bundle], Outputs]:
    """Return a program that raises an error if it changes the values of a bundle.

    The comparison follows after all outputs are collected, so it covers generators.

    Args:
        program: calls a function on the elements of a bundle.
        label: label of the step, for errors.
    """

    def run(bundle: Bundle) -> Outputs:
        with unchanged(bundle.values, "the function", label):
            return program(bundle)

    return run


@contextmanager
def unchanged(values: list[Any], culprit: str, label: str) -> Iterator[None]:
    """Check that the body, unless it fails, does not change values.

    Args:
        values: the values.
        culprit: the function that the body calls, for errors.
        label: label of the step, for errors.

    Raises:
        MutationError: a value is different after the body.
    """
    if are_immutable(values):
        yield
        return
    before = _pickled(values)
    encodings = None if before else list(map(_encoded, values))
    yield
    changes = _changes_since(before, values) if before else _recoded(encodings or [], values)
    for change in changes:
        raise MutationError(
            f"{culprit} changed its input {change}",
            where=label,
            remedy="copy the value before you change it, for example with sorted(values) or dict(value); "
            "other steps and retractions use the same object",
        )


def are_immutable(values: Iterable[Any]) -> bool:
    """Return whether no value can change: all are of immutable types, or tuples of such values.

    A type can also have an attribute ``gives_copies``, like lists that are stored in files.

    >>> are_immutable([1, "a", (2, ("b", None))]), are_immutable([("a", [1])])
    (True, False)
    """
    while kinds := set(map(type, values)) - IMMUTABLE:
        kinds = {kind for kind in kinds if not getattr(kind, "gives_copies", False)}
        if not kinds:
            return True
        if kinds != {tuple}:
            return False
        values = list(chain.from_iterable(value for value in values if type(value) is tuple))
    return True


def _pickled(values: list[Any]) -> bytes | None:
    """Return a pickle of all values, which is faster than one of each; None if that fails."""
    try:
        return pickle.dumps(values, protocol=5)
    except Exception:  # a value can raise anything
        return None


def _encoded(value: Any) -> bytes | None:
    """Return the encoding of a value, such as one of a class that is defined in a function."""
    try:
        return encode_value(value)
    except Exception:  # a value can raise anything
        return None


def _changes_since(pickled: bytes, values: list[Any]) -> Iterator[str]:
    """Describe the values that are different from their copies in a pickle."""
    if _pickled(values) == pickled:
        return
    try:
        copies = pickle.loads(pickled)
    except Exception:  # a class can raise anything
        return
    for before, after in zip(copies, values, strict=True):
        if not _is_equal(before, after):
            yield f"{shorten(before)} to {shorten(after)}"


def _is_equal(before: Any, after: Any) -> bool:
    """Return whether values have the same encoding, or are equal: objects may cache what they compute."""
    try:
        return encode_value(before) == encode_value(after) or bool(before == after)
    except Exception:  # a value can raise anything
        return False


def _recoded(encodings: list[bytes | None], values: list[Any]) -> Iterator[str]:
    """Describe the values whose encoding has changed."""
    for encoding, value in zip(encodings, values, strict=True):
        if encoding is not None and _encoded(value) != encoding:
            yield f"to {shorten(value)}"


def checked_combine_fn(fn: CombineFn, label: str) -> CombineFn:
    """Return a CombineFn that raises an error if it changes its inputs; accumulators may change.

    Args:
        fn: the CombineFn.
        label: label of the step, for errors.
    """
    return CheckedCombineFn(_with_checked_function(fn, label), label)


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

    def __call__(self, values: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        values = list(values)
        with unchanged(values, "the function", self.label):
            return self.fn(values, *args, **kwargs)


@attrs.frozen
class CheckedCombineFn(CombineFn):
    """A CombineFn that must not change its inputs.

    Attributes:
        fn: the CombineFn.
        label: label of the step, for errors.
    """

    fn: Any
    label: str

    def create_accumulator(self) -> Any:
        return self.fn.create_accumulator()

    def add_input(self, mutable_accumulator: Any, element: Any) -> Any:
        with unchanged([element], "add_input", self.label):
            return self.fn.add_input(mutable_accumulator, element)

    def add_inputs(self, mutable_accumulator: Any, elements: Iterable[Any]) -> Any:
        elements = list(elements)
        with unchanged(elements, "add_input", self.label):
            return self.fn.add_inputs(mutable_accumulator, elements)

    def subtract_input(self, mutable_accumulator: Any, element: Any) -> Any:
        """Return the accumulator without one input; only if the CombineFn can subtract."""
        with unchanged([element], "subtract_input", self.label):
            return self.fn.subtract_input(mutable_accumulator, element)

    @property
    def can_subtract(self) -> bool:
        return bool(self.fn.can_subtract)

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        return self.fn.merge_accumulators(accumulators)

    def compact(self, accumulator: Any) -> Any:
        return self.fn.compact(accumulator)

    def extract_output(self, accumulator: Any) -> Any:
        return self.fn.extract_output(accumulator)

    def default_label(self) -> str:
        return str(self.fn.default_label())
