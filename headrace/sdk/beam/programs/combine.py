"""CombineFns of Beam as ours, so that values are combined before the shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from apache_beam.transforms.combiners import CountCombineFn as BeamCount, MeanCombineFn as BeamMean
from apache_beam.transforms.core import (
    CallableWrapperCombineFn,
    CombineFn as BeamBase,
    NoSideInputsCallableWrapperCombineFn,
)

from headrace.sdk.beam.programs.metrics import track_current_step
from headrace.sdk.beam.programs.options import RuntimeOptions
from headrace.sdk.coders.own_values import own_if_possible
from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.elements.immutable import is_immutable
from headrace.sdk.groups.combine_fn import CombineFn

_ALIKE: Final[dict[type, type[CombineFn]]] = {
    BeamCount: CountCombineFn,
    BeamMean: MeanCombineFn,
}
"""Beam's CombineFns that are the same here, where they combine whole columns."""

_WRAPPERS: Final = (CallableWrapperCombineFn, NoSideInputsCallableWrapperCombineFn)
"""The CombineFns that Beam makes of functions of a list, such as ``sum``."""


def own_combine_fn(
    fn: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> CombineFn:
    """Return a CombineFn of Beam as ours: the same one if there is one, else an adapter.

    Args:
        fn: the CombineFn.
        args: additional arguments of its methods.
        kwargs: additional arguments, by name.
    """
    if not (args or kwargs):
        alike = _ALIKE.get(type(fn))
        if alike is not None:
            return alike()
        if type(fn) in _WRAPPERS and fn._fn in (sum, min, max):
            return CombineFn.from_callable(fn._fn)
    return BeamCombineFn(fn, args, kwargs)


class BeamCombineFn(CombineFn):
    """A CombineFn that a program wrote for Beam.

    Beam extracts one output from an accumulator, after it was compacted, sent and merged. So a CombineFn may
    change it for the output: ``Top`` sorts its heap in place. A heap that was copied or stored cannot be
    sorted, until it is compacted or merged. Here an accumulator is needed after an output is extracted, and
    can come from storage. So an output is extracted from a copy, which is compacted and merged before.

    Args:
        fn: the CombineFn.
        args: additional arguments of its methods.
        kwargs: additional arguments, by name.
    """

    def __init__(
        self,
        fn: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._fn = fn
        self._args = args
        self._kwargs = dict(kwargs or {})
        self._runtime = RuntimeOptions.current()
        self._is_callable = type(fn) in _WRAPPERS
        plain = type(fn).add_inputs is BeamBase.add_inputs
        self._adds_one_by_one = plain and not (args or kwargs)

    def default_label(self) -> str:
        return str(type(self._fn).__name__)

    def setup(self, *args: Any, **kwargs: Any) -> None:
        self._called().setup(*self._args, **self._kwargs)

    def create_accumulator(self, *args: Any, **kwargs: Any) -> Any:
        return self._called().create_accumulator(*self._args, **self._kwargs)

    def add_input(self, mutable_accumulator: Any, element: Any, *args: Any, **kwargs: Any) -> Any:
        return self._called().add_input(mutable_accumulator, element, *self._args, **self._kwargs)

    def add_inputs(
        self, mutable_accumulator: Any, elements: Iterable[Any], *args: Any, **kwargs: Any
    ) -> Any:
        called = self._called()
        if not self._adds_one_by_one:
            return called.add_inputs(mutable_accumulator, elements, *self._args, **self._kwargs)
        add = called.add_input
        for element in elements:
            mutable_accumulator = add(mutable_accumulator, element)
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        return self._called().merge_accumulators(accumulators, *self._args, **self._kwargs)

    def compact(self, accumulator: Any, *args: Any, **kwargs: Any) -> Any:
        return self._called().compact(accumulator, *self._args, **self._kwargs)

    def extract_output(self, accumulator: Any, *args: Any, **kwargs: Any) -> Any:
        given = accumulator if is_immutable(accumulator) else self._consumable(accumulator)
        return self._called().extract_output(given, *self._args, **self._kwargs)

    def _called(self) -> Any:
        """Return the CombineFn for a call, in which metrics are those of the step that runs."""
        track_current_step()
        return self._fn

    def _consumable(self, accumulator: Any) -> Any:
        """Return a copy that the CombineFn may change."""
        copy = own_if_possible(accumulator)
        if self._is_callable:
            return copy
        return self.merge_accumulators([self.compact(copy)])

    def teardown(self, *args: Any, **kwargs: Any) -> None:
        self._called().teardown(*self._args, **self._kwargs)
