"""Combiners that collect values into one list, set or dict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.combiners.combine import CombineGlobally
from headrace.sdk.combiners.ready import ListGlobally
from headrace.sdk.elements.type_variables import KeyT, T, ValueT
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.pipelines.pvalue import PCollection


class ToListCombineFn(CombineFn):
    """A list of the values, in any order; cannot subtract.

    >>> ToListCombineFn().apply([2, 1])
    [2, 1]
    """

    def create_accumulator(self) -> list[Any]:
        return []

    def add_input(self, mutable_accumulator: list[Any], element: object) -> list[Any]:
        mutable_accumulator.append(element)
        return mutable_accumulator

    def add_inputs(self, mutable_accumulator: list[Any], elements: Iterable[object]) -> list[Any]:
        mutable_accumulator.extend(elements)
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[list[Any]]) -> list[Any]:
        first, *others = accumulators
        for other in others:
            first.extend(other)
        return first

    def extract_output(self, accumulator: list[Any]) -> list[Any]:
        return accumulator


class ToSetCombineFn(CombineFn):
    """The set of the values; cannot subtract.

    >>> ToSetCombineFn().apply([2, 1, 2])
    {1, 2}
    """

    def create_accumulator(self) -> set[Any]:
        return set()

    def add_input(self, mutable_accumulator: set[Any], element: object) -> set[Any]:
        mutable_accumulator.add(element)
        return mutable_accumulator

    def add_inputs(self, mutable_accumulator: set[Any], elements: Iterable[object]) -> set[Any]:
        mutable_accumulator.update(elements)
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[set[Any]]) -> set[Any]:
        first, *others = accumulators
        first.update(*others)
        return first

    def extract_output(self, accumulator: set[Any]) -> set[Any]:
        return accumulator


class ToDictCombineFn(CombineFn):
    """A dict of (key, value) pairs; cannot subtract.

    If a key has several values, one of them is chosen deterministically, for any order of arrival.

    >>> ToDictCombineFn().apply([("a", 1), ("b", 2)])
    {'a': 1, 'b': 2}
    """

    def create_accumulator(self) -> dict[Any, Any]:
        return {}

    def add_input(
        self, mutable_accumulator: dict[Any, Any], element: tuple[object, object]
    ) -> dict[Any, Any]:
        key, value = element
        if key in mutable_accumulator:
            value = max(mutable_accumulator[key], value, key=encode_value)
        mutable_accumulator[key] = value
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
        first, *others = accumulators
        for other in others:
            first = self.add_inputs(first, other.items())
        return first

    def extract_output(self, accumulator: dict[Any, Any]) -> dict[Any, Any]:
        return accumulator


class ToList(ListGlobally):
    """Collects all elements into one list, in any order.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2]) | ToList() | Map(print)
    [1, 2]
    """

    def __init__(self) -> None:
        super().__init__(ToListCombineFn())

    def default_label(self) -> str:
        return "ToList"


class ToSet(CombineGlobally[Any, set[Any]]):
    """Collects all elements into one set.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 1]) | ToSet() | Map(print)
    {1, 2}
    """

    def __init__(self) -> None:
        super().__init__(ToSetCombineFn())

    def default_label(self) -> str:
        return "ToSet"

    if TYPE_CHECKING:

        def expand(self, pcoll: PCollection[T]) -> PCollection[set[T]]: ...


class ToDict(CombineGlobally[Any, dict[Any, Any]]):
    """Collects all (key, value) pairs into one dict; if a key has several values, one of them is chosen.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2)]) | ToDict() | Map(print)
    {'a': 1, 'b': 2}
    """

    def __init__(self) -> None:
        super().__init__(ToDictCombineFn())

    def default_label(self) -> str:
        return "ToDict"

    if TYPE_CHECKING:

        def expand(
            self, pcoll: PCollection[tuple[KeyT, ValueT]]
        ) -> PCollection[dict[KeyT, ValueT]]: ...
