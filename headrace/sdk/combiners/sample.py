"""Samples of a fixed size: uniformly random, and reproducible by a seed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, TypeAlias

from headrace.errors import PipelineError
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.combiners.combine import CombineGlobally
from headrace.sdk.combiners.ready import ListGlobally, ListPerKey, Ready
from headrace.sdk.combiners.top import TopCombineFn
from headrace.sdk.elements.type_variables import T
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.pardo.transforms import FlatMap
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform

DrawnElements: TypeAlias = list[tuple[bytes, Any]]


class SampleCombineFn(CombineFn):
    """A sample of n values without replacement; cannot subtract.

    Each value gets a random priority, and the n values with the highest priority are chosen. The priority
    is a hash of the seed, the value, and the number of values that this object has seen; so workers need
    not coordinate.

    Args:
        n: size of the sample; all values if there are fewer.
        seed: seed of the sample.

    >>> len(SampleCombineFn(2).apply(range(100))), SampleCombineFn(5).apply(["a"])
    (2, ['a'])
    """

    def __init__(self, n: int, seed: int = 0) -> None:
        self._top = TopCombineFn(n, key=_priority)
        self._seed = str(seed).encode()[:16]
        self._drawn = 0

    def create_accumulator(self) -> DrawnElements:
        return []

    def add_input(self, mutable_accumulator: DrawnElements, element: object) -> DrawnElements:
        return self._top.add_input(mutable_accumulator, self._prioritised(element))

    def add_inputs(
        self, mutable_accumulator: DrawnElements, elements: Iterable[object]
    ) -> DrawnElements:
        return self._top.add_inputs(mutable_accumulator, map(self._prioritised, elements))

    def merge_accumulators(self, accumulators: Iterable[DrawnElements]) -> DrawnElements:
        return self._top.merge_accumulators(accumulators)

    def compact(self, accumulator: DrawnElements) -> DrawnElements:
        return self._top.compact(accumulator)

    def extract_output(self, accumulator: DrawnElements) -> list[Any]:
        return [element for _, element in self._top.extract_output(accumulator)]

    def _prioritised(self, element: object) -> tuple[bytes, object]:
        self._drawn += 1
        number = self._drawn.to_bytes(8, "big")
        seen = encode_value(element) + number
        return blake2b(seen, digest_size=16, key=self._seed).digest(), element


class SomeCombineFn(CombineFn):
    """Some n of the values; cannot subtract.

    >>> SomeCombineFn(2).apply("abc")
    ['a', 'b']
    """

    def __init__(self, n: int) -> None:
        self._n = n

    def create_accumulator(self) -> list[Any]:
        return []

    def add_input(self, mutable_accumulator: list[Any], element: object) -> list[Any]:
        return self.add_inputs(mutable_accumulator, (element,))

    def add_inputs(self, mutable_accumulator: list[Any], elements: Iterable[object]) -> list[Any]:
        mutable_accumulator.extend(islice(elements, self._n - len(mutable_accumulator)))
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[list[Any]]) -> list[Any]:
        return list(islice(chain.from_iterable(accumulators), self._n))

    def extract_output(self, accumulator: list[Any]) -> list[Any]:
        return accumulator


def _priority(drawn: tuple[bytes, object]) -> bytes:
    return drawn[0]


class _FixedSize(Ready[Any, list[Any]]):
    def __init__(self, n: int, seed: int = 0) -> None:
        super().__init__(SampleCombineFn(n, seed))
        self._n = n

    def default_label(self) -> str:
        return f"FixedSize{self._scope}({self._n})"

    def display_data(self) -> dict[str, int]:
        return {"n": self._n}


class Sample:
    """Transforms that return a list of randomly chosen values.

    >>> with Pipeline() as p:
    ...     _ = p | Create(range(100)) | Sample.FixedSizeGlobally(3) | Map(len) | Map(print)
    3
    """

    class Any(PTransform[PCollection[Any], PCollection[Any]]):
        """Some n elements, each as an element: not a random sample; all elements if there are fewer.

        Which elements these are depends on the order in which they arrive. If the input can be retracted,
        all of it is kept.

        Args:
            n: number of elements.

        Raises:
            PipelineError: the number is negative.
        """

        def __init__(self, n: int) -> None:
            super().__init__()
            if n < 0:
                raise PipelineError(f"Sample.Any({n}) has no size", remedy="use 0 or more")
            self._n = n

        def default_label(self) -> str:
            return f"Any({self._n})"

        def display_data(self) -> dict[str, int]:
            return {"n": self._n}

        def expand(self, pcoll: PCollection[T]) -> PCollection[T]:
            some = pcoll | "Combine" >> CombineGlobally(SomeCombineFn(self._n)).without_defaults()
            return some | "Elements" >> FlatMap(list)

    class FixedSizeGlobally(_FixedSize, ListGlobally):
        """A list of n randomly chosen elements.

        Args:
            n: size of the sample.
            seed: seed of the sample.
        """

    class FixedSizePerKey(_FixedSize, ListPerKey):
        """A list of n randomly chosen values of each key.

        Args:
            n: size of the sample.
            seed: seed of the sample.
        """
