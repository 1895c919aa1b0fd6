"""Checks that values can be written, as a cluster writes them in its shuffle and its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from copy import deepcopy
from importlib import import_module
from typing import Any

import attrs

from headrace.errors import ElementError, HeadraceError, shorten
from headrace.runners.checks.accumulator_check import CheckedCombineFn, unchecked
from headrace.runners.error_context import label_errors
from headrace.sdk.coders.stored.data import dumps_by_name
from headrace.sdk.coders.stored.stable import without_pickle
from headrace.sdk.groups.combine_fn import CombineFn

CHECKED_ACCUMULATORS = 100
"""Number of accumulators of a worker that are written to check them."""


def check_stored(values: Iterable[object], no_pickle: bool = False) -> None:
    """Check that values can be written.

    Args:
        values: the values.
        no_pickle: whether values that only pickle can write are refused.

    Raises:
        ElementError: a coder fails; or a value cannot be pickled, or would be, which is refused.
    """
    values = list(values)
    with without_pickle() if no_pickle else nullcontext():
        if dumps_by_name(values) is None:
            for value in values:
                _check(value)


def _check(value: object) -> None:
    if dumps_by_name(value) is not None:
        return
    try:
        _write_by_value()(value)
    except HeadraceError:
        raise
    except Exception as error:  # a value can raise anything
        raise ElementError(
            f"{shorten(value)} of type {type(value).__qualname__} cannot be sent to another worker or "
            f"stored: {type(error).__name__}: {error}",
            remedy="use plain data, or register a coder for its class (coders.registry.register_coder); "
            "create files, locks, connections and the like in DoFn.setup",
        ) from error


def _write_by_value() -> Callable[[Any], object]:
    """Return what writes values of classes that have no name, or copies them if cloudpickle is missing."""
    try:
        write: Callable[[Any], object] = import_module("cloudpickle").dumps
    except ImportError:
        return deepcopy
    return write


@attrs.frozen
class StoredCombineFn(CheckedCombineFn):
    """A CombineFn whose first accumulators are written, to check that they can be."""

    no_pickle: bool = False
    _checks: Iterator[int] = attrs.field(
        factory=lambda: iter(range(CHECKED_ACCUMULATORS)), init=False, eq=False
    )

    def add_input(self, mutable_accumulator: object, element: object) -> Any:
        return self._checked(self.fn.add_input(mutable_accumulator, element))

    def add_inputs(self, mutable_accumulator: object, elements: Iterable[object]) -> Any:
        return self._checked(self.fn.add_inputs(mutable_accumulator, elements))

    def subtract_input(self, mutable_accumulator: object, element: object) -> object:
        """Return the accumulator without one input; only if the CombineFn can subtract."""
        return self._checked(self.fn.subtract_input(mutable_accumulator, element))

    def _checked(self, accumulator: object) -> Any:
        if next(self._checks, None) is not None:
            with label_errors(self.label):
                self._check(accumulator)
        return accumulator

    def _check(self, accumulator: object) -> None:
        """Check an accumulator; one that cannot be written may have a compact form that can."""
        try:
            check_stored([accumulator], self.no_pickle)
        except ElementError:
            check_stored([self.fn.compact(accumulator)], self.no_pickle)


def stored_combine_fn(fn: CombineFn, label: str, no_pickle: bool = False) -> CombineFn:
    """Return a CombineFn that raises an error if its accumulators cannot be written.

    Args:
        fn: the CombineFn.
        label: label of the step, for errors.
        no_pickle: whether values that only pickle can write are refused.
    """
    return StoredCombineFn(fn, label, unchecked(fn), no_pickle)
