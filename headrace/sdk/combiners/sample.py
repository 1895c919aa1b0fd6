"""Samples of a fixed size: every value equally likely, and the same ones in every run of a seed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, TypeAlias

from headrace.sdk.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.combiners.top import TopCombineFn
from headrace.sdk.encoding import encode_value

Drawn: TypeAlias = list[tuple[bytes, Any]]


class SampleCombineFn(CombineFn):
    """A sample of n values without replacement.

    Every value draws a lot, and the n highest lots win. A lot is a hash of the seed, the value, and how
    many lots this object has drawn before; so lots need no agreement between workers.

    Args:
        n: how many; all if there are fewer.
        seed: another seed gives another sample.

    >>> len(SampleCombineFn(2).apply(range(100))), SampleCombineFn(5).apply(["a"])
    (2, ['a'])
    """

    def __init__(self, n: int, seed: int = 0) -> None:
        self._top = TopCombineFn(n, key=_lot)
        self._seed = str(seed).encode()[:16]
        self._drawn = 0

    def create_accumulator(self) -> Drawn:
        return []

    def add_input(self, mutable_accumulator: Drawn, element: Any) -> Drawn:
        return self._top.add_input(mutable_accumulator, self._draw(element))

    def add_inputs(self, mutable_accumulator: Drawn, elements: Iterable[Any]) -> Drawn:
        return self._top.add_inputs(mutable_accumulator, map(self._draw, elements))

    def merge_accumulators(self, accumulators: Iterable[Drawn]) -> Drawn:
        return self._top.merge_accumulators(accumulators)

    def compact(self, accumulator: Drawn) -> Drawn:
        return self._top.compact(accumulator)

    def extract_output(self, accumulator: Drawn) -> list[Any]:
        return [element for _, element in self._top.extract_output(accumulator)]

    def _draw(self, element: Any) -> tuple[bytes, Any]:
        self._drawn += 1
        number = self._drawn.to_bytes(8, "big")
        seen = encode_value(element) + number
        return blake2b(seen, digest_size=16, key=self._seed).digest(), element


def _lot(drawn: tuple[bytes, Any]) -> bytes:
    return drawn[0]


class Sample:
    """Transforms that give a list of values chosen at random.

    >>> with Pipeline() as p:
    ...     _ = p | Create(range(100)) | Sample.FixedSizeGlobally(3) | Map(len) | Map(print)
    3
    """

    class FixedSizeGlobally(CombineGlobally):
        """A list of n elements chosen at random.

        Args:
            n: how many.
            seed: another seed gives another sample.
        """

        def __init__(self, n: int, seed: int = 0) -> None:
            super().__init__(SampleCombineFn(n, seed))
            self._n = n

        def default_label(self) -> str:
            return f"FixedSizeGlobally({self._n})"

    class FixedSizePerKey(CombinePerKey):
        """A list of n values of each key chosen at random.

        Args:
            n: how many.
            seed: another seed gives another sample.
        """

        def __init__(self, n: int, seed: int = 0) -> None:
            super().__init__(SampleCombineFn(n, seed))
            self._n = n

        def default_label(self) -> str:
            return f"FixedSizePerKey({self._n})"
