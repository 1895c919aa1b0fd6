"""Approximate counts of distinct values, in bounded memory (the CPC sketch of Apache DataSketches)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from headrace.sdk.combiners.approximate.sketches import checked, datasketches, hashed, log_size
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.ready import Ready
from headrace.sdk.groups.combine_fn import CombineFn

_CONSTANT: Final = 0.589
"""Relative standard error of a CPC sketch times the root of its size."""


class ApproximateCountDistinctCombineFn(CombineFn):
    """The number of distinct values, approximately; cannot subtract.

    The result does not depend on the order of the values, so it is the same on all runners. With probability
    95% it differs from the true number by less than twice the error; up to some ten values it is exact. An
    accumulator has at most about 0.3/error² bytes: 0.8 KB for an error of 2%.

    Args:
        error: the relative standard error, from 0.0005 to 0.2.

    Raises:
        PipelineError: the error is out of range, or the package datasketches is not installed.

    >>> ApproximateCountDistinctCombineFn().apply(["a", "b", "a"])
    2
    """

    def __init__(self, error: float = 0.02) -> None:
        self._size = log_size(_CONSTANT, checked("error", error, 0.0005, 0.2))
        datasketches()

    def create_accumulator(self) -> bytes:
        return b""

    def add_input(self, mutable_accumulator: bytes, element: object) -> bytes:
        return self.add_inputs(mutable_accumulator, (element,))

    def add_inputs(self, mutable_accumulator: bytes, elements: Iterable[object]) -> bytes:
        kind = datasketches().cpc_sketch
        sketch = kind.deserialize(mutable_accumulator) if mutable_accumulator else kind(self._size)
        for element in elements:
            sketch.update(hashed(element))
        return b"" if sketch.is_empty() else sketch.serialize()

    def merge_accumulators(self, accumulators: Iterable[bytes]) -> bytes:
        sketch = self._union(accumulators)
        return b"" if sketch.is_empty() else sketch.serialize()

    def extract_output(self, accumulator: bytes) -> int:
        # The estimate of a sketch that is not a union depends on the order of its values.
        estimate: float = self._union([accumulator]).get_estimate()
        return round(estimate)

    def _union(self, accumulators: Iterable[bytes]) -> Any:
        package = datasketches()
        union = package.cpc_union(self._size)
        for accumulator in filter(None, accumulators):
            union.update(package.cpc_sketch.deserialize(accumulator))
        return union.get_result()


class _ApproximateCountDistinct(Ready[object, int]):
    _name = "ApproximateCountDistinct"

    def __init__(self, error: float = 0.02) -> None:
        super().__init__(ApproximateCountDistinctCombineFn(error))


class ApproximateCountDistinct:
    """Transforms that count distinct values approximately (from Beam's Java, whose sketch is HLL++).

    >>> with Pipeline() as p:
    ...     users = p | Create([f"user {n % 1000}" for n in range(5000)])
    ...     _ = users | ApproximateCountDistinct.Globally(error=0.01) | Map(print)
    997
    """

    class Globally(_ApproximateCountDistinct, CombineGlobally[object, int]):
        """The number of distinct elements.

        Args:
            error: the relative standard error, from 0.0005 to 0.2.
        """

    class PerKey(_ApproximateCountDistinct, CombinePerKey[object, int]):
        """The number of distinct values of each key.

        Args:
            error: the relative standard error, from 0.0005 to 0.2.
        """
