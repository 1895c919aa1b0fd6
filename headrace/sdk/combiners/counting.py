"""Combiners that count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.pairs import PairedWith
from headrace.sdk.combiners.ready import Ready
from headrace.sdk.elements.type_variables import T
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform


class CountCombineFn(CombineFn):
    """The number of values; can subtract.

    >>> CountCombineFn().apply(["a", "b"])
    2
    """

    def create_accumulator(self) -> int:
        return 0

    def add_input(self, mutable_accumulator: int, element: object) -> int:
        return mutable_accumulator + 1

    def add_inputs(self, mutable_accumulator: int, elements: Iterable[object]) -> int:
        sized = elements if isinstance(elements, (list, tuple)) else list(elements)
        return mutable_accumulator + len(sized)

    def subtract_input(self, mutable_accumulator: int, element: object) -> int:
        """Return the count without one input."""
        return mutable_accumulator - 1

    def merge_accumulators(self, accumulators: Iterable[int]) -> int:
        return sum(accumulators)

    def extract_output(self, accumulator: int) -> int:
        return accumulator


class _Count(Ready[object, int]):
    _name = "Count"

    def __init__(self) -> None:
        super().__init__(CountCombineFn())


class Count:
    """Transforms that count elements.

    >>> with Pipeline() as p:
    ...     words = p | Create(["to", "be", "or", "not", "to", "be"])
    ...     _ = words | Count.Globally() | Map(print)
    6
    """

    class Globally(_Count, CombineGlobally[object, int]):
        """Counts all elements."""

    class PerKey(_Count, CombinePerKey[object, int]):
        """Counts the values of each key."""

    class PerElement(PTransform[PCollection[Any], PCollection[Any]]):
        """Counts equal elements: emits pairs of element and count."""

        def default_label(self) -> str:
            return "Count.PerElement"

        def expand(self, pcoll: PCollection[T]) -> PCollection[tuple[T, int]]:
            pairs = pcoll | "PairWithVoid" >> PairedWith(None)
            return pairs | "Count" >> CombinePerKey(CountCombineFn())
