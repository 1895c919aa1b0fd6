"""Combiners that apply several CombineFns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from itertools import islice
from typing import Any

from headrace.sdk.groups.combine_fn import CombineFn


class SingleInputTupleCombineFn(CombineFn):
    """A tuple of the results of several CombineFns on the same values; can subtract if all of them can.

    Additional arguments of the transform go to all of them, so each must take them.

    Args:
        combiners: CombineFns, or functions on iterables.
        merge_accumulators_batch_size: maximum number of accumulators that are merged, and in memory, at
            once.

    >>> SingleInputTupleCombineFn(min, max).apply([3, 1, 2])
    (1, 3)
    """

    def __init__(
        self,
        *combiners: CombineFn | Callable[..., Any],
        merge_accumulators_batch_size: int = 333,
    ) -> None:
        self._combiners = [CombineFn.maybe_from_callable(c) for c in combiners]
        self._batch_size = merge_accumulators_batch_size

    @property
    def parts(self) -> list[CombineFn]:
        """The CombineFns."""
        return self._combiners

    def display_data(self) -> dict[str, Any]:
        return {
            "combiners": str([combiner.default_label() for combiner in self._combiners]),
            "merge_accumulators_batch_size": self._batch_size,
        }

    def __copy__(self) -> SingleInputTupleCombineFn:
        """Copy the parts too, because these are set up."""
        own = object.__new__(type(self))
        vars(own).update(vars(self), _combiners=list(map(copy, self._combiners)))
        return own

    def split(self, element: object) -> Iterable[Any]:
        """Return the input of each CombineFn for an element."""
        return [element] * len(self._combiners)

    def setup(self, *args: Any, **kwargs: Any) -> None:
        for combiner in self._combiners:
            combiner.setup(*args, **kwargs)

    def create_accumulator(self, *args: Any, **kwargs: Any) -> list[Any]:
        return [combiner.create_accumulator(*args, **kwargs) for combiner in self._combiners]

    def add_input(
        self, mutable_accumulator: list[Any], element: object, *args: Any, **kwargs: Any
    ) -> list[Any]:
        parts = zip(self._combiners, mutable_accumulator, self.split(element), strict=True)
        return [combiner.add_input(part, value, *args, **kwargs) for combiner, part, value in parts]

    def add_inputs(
        self, mutable_accumulator: list[Any], elements: Iterable[object], *args: Any, **kwargs: Any
    ) -> list[Any]:
        columns = list(zip(*map(self.split, elements), strict=True))
        if not columns:
            return mutable_accumulator
        parts = zip(self._combiners, mutable_accumulator, columns, strict=True)
        return [
            combiner.add_inputs(part, column, *args, **kwargs) for combiner, part, column in parts
        ]

    def subtract_input(
        self, mutable_accumulator: list[Any], element: object, *args: Any, **kwargs: Any
    ) -> list[Any]:
        """Return the accumulators without one input; only if all CombineFns can subtract."""
        combiners: list[Any] = self._combiners
        parts = zip(combiners, mutable_accumulator, self.split(element), strict=True)
        return [
            combiner.subtract_input(part, value, *args, **kwargs) for combiner, part, value in parts
        ]

    @property
    def can_subtract(self) -> bool:
        return all(combiner.can_subtract for combiner in self._combiners)

    def merge_accumulators(
        self, accumulators: Iterable[list[Any]], *args: Any, **kwargs: Any
    ) -> list[Any]:
        rest = iter(accumulators)
        merged = self._merged(islice(rest, self._batch_size), *args, **kwargs)
        while batch := list(islice(rest, self._batch_size)):
            merged = self._merged([merged, *batch], *args, **kwargs)
        return merged

    def _merged(
        self, accumulators: Iterable[list[object]], *args: object, **kwargs: object
    ) -> list[object]:
        columns = zip(*accumulators, strict=True)
        parts = zip(self._combiners, columns, strict=True)
        return [combiner.merge_accumulators(column, *args, **kwargs) for combiner, column in parts]

    def compact(self, accumulator: list[Any], *args: Any, **kwargs: Any) -> list[Any]:
        parts = zip(self._combiners, accumulator, strict=True)
        return [combiner.compact(part, *args, **kwargs) for combiner, part in parts]

    def extract_output(self, accumulator: list[Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        parts = zip(self._combiners, accumulator, strict=True)
        return tuple(combiner.extract_output(part, *args, **kwargs) for combiner, part in parts)

    def teardown(self, *args: Any, **kwargs: Any) -> None:
        for combiner in self._combiners:
            combiner.teardown(*args, **kwargs)

    def default_label(self) -> str:
        return f"{type(self).__name__}({', '.join(c.default_label() for c in self._combiners)})"


class TupleCombineFn(SingleInputTupleCombineFn):
    """Combines tuples item by item, each with its own CombineFn; can subtract if all of them can.

    Args:
        combiners: CombineFns, or functions on iterables; one for each item.
        merge_accumulators_batch_size: maximum number of accumulators that are merged, and in memory, at
            once.

    >>> TupleCombineFn(sum, max).apply([(1, 10), (2, 30), (3, 20)])
    (6, 30)
    """

    def split(self, element: Any) -> Iterable[Any]:
        return element  # type: ignore[no-any-return]

    def with_common_input(self) -> SingleInputTupleCombineFn:
        """Return the CombineFn that passes whole elements to each CombineFn."""
        return SingleInputTupleCombineFn(*self._combiners)
