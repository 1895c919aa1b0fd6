"""Samples of a fixed size: uniformly random, and reproducible by a seed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.sdk.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.combiners.top import TopCombineFn
from headrace.sdk.encoding import encode_value
from headrace.sdk.pvalue import PCollection
from headrace.sdk.type_variables import KeyT, T

Drawn: TypeAlias = list[tuple[bytes, Any]]


class SampleCombineFn(CombineFn):
    """A sample of n values without replacement.

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

    def create_accumulator(self) -> Drawn:
        return []

    def add_input(self, mutable_accumulator: Drawn, element: Any) -> Drawn:
        return self._top.add_input(mutable_accumulator, self._prioritised(element))

    def add_inputs(self, mutable_accumulator: Drawn, elements: Iterable[Any]) -> Drawn:
        return self._top.add_inputs(mutable_accumulator, map(self._prioritised, elements))

    def merge_accumulators(self, accumulators: Iterable[Drawn]) -> Drawn:
        return self._top.merge_accumulators(accumulators)

    def compact(self, accumulator: Drawn) -> Drawn:
        return self._top.compact(accumulator)

    def extract_output(self, accumulator: Drawn) -> list[Any]:
        return [element for _, element in self._top.extract_output(accumulator)]

    def _prioritised(self, element: Any) -> tuple[bytes, Any]:
        self._drawn += 1
        number = self._drawn.to_bytes(8, "big")
        seen = encode_value(element) + number
        return blake2b(seen, digest_size=16, key=self._seed).digest(), element


def _priority(drawn: tuple[bytes, Any]) -> bytes:
    return drawn[0]


class Sample:
    """Transforms that return a list of randomly chosen values.

    >>> with Pipeline() as p:
    ...     _ = p | Create(range(100)) | Sample.FixedSizeGlobally(3) | Map(len) | Map(print)
    3
    """

    class FixedSizeGlobally(CombineGlobally[Any, list[Any]]):
        """A list of n randomly chosen elements.

        Args:
            n: size of the sample.
            seed: seed of the sample.
        """

        def __init__(self, n: int, seed: int = 0) -> None:
            super().__init__(SampleCombineFn(n, seed))
            self._n = n

        def default_label(self) -> str:
            return f"FixedSizeGlobally({self._n})"

        if TYPE_CHECKING:

            def expand(self, pcoll: PCollection[T]) -> PCollection[list[T]]: ...

    class FixedSizePerKey(CombinePerKey[Any, list[Any]]):
        """A list of n randomly chosen values of each key.

        Args:
            n: size of the sample.
            seed: seed of the sample.
        """

        def __init__(self, n: int, seed: int = 0) -> None:
            super().__init__(SampleCombineFn(n, seed))
            self._n = n

        def default_label(self) -> str:
            return f"FixedSizePerKey({self._n})"

        if TYPE_CHECKING:

            def expand(
                self, pcoll: PCollection[tuple[KeyT, T]]
            ) -> PCollection[tuple[KeyT, list[T]]]: ...
