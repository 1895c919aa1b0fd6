"""CombineFns of Beam as ours, so that values are combined before the shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from apache_beam.transforms.combiners import TopCombineFn

from headrace.sdk.groups.combine_fn import CombineFn


class BeamCombineFn(CombineFn):
    """A CombineFn that a program wrote for Beam.

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
        self._copies = isinstance(fn, TopCombineFn)  # it sorts the accumulator in place

    def default_label(self) -> str:
        return str(type(self._fn).__name__)

    def setup(self, *args: Any, **kwargs: Any) -> None:
        self._fn.setup(*self._args, **self._kwargs)

    def create_accumulator(self, *args: Any, **kwargs: Any) -> Any:
        return self._fn.create_accumulator(*self._args, **self._kwargs)

    def add_input(self, mutable_accumulator: Any, element: Any, *args: Any, **kwargs: Any) -> Any:
        return self._fn.add_input(mutable_accumulator, element, *self._args, **self._kwargs)

    def add_inputs(
        self, mutable_accumulator: Any, elements: Iterable[Any], *args: Any, **kwargs: Any
    ) -> Any:
        return self._fn.add_inputs(mutable_accumulator, elements, *self._args, **self._kwargs)

    def merge_accumulators(self, accumulators: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        return self._fn.merge_accumulators(accumulators, *self._args, **self._kwargs)

    def compact(self, accumulator: Any, *args: Any, **kwargs: Any) -> Any:
        return self._fn.compact(accumulator, *self._args, **self._kwargs)

    def extract_output(self, accumulator: Any, *args: Any, **kwargs: Any) -> Any:
        given = deepcopy(accumulator) if self._copies else accumulator
        return self._fn.extract_output(given, *self._args, **self._kwargs)

    def teardown(self, *args: Any, **kwargs: Any) -> None:
        self._fn.teardown(*self._args, **self._kwargs)
