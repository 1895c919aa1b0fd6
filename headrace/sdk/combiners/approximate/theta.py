"""Sketches of sets, whose unions, intersections and differences can be counted (theta sketches)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from headrace.sdk.combiners.approximate.sketches import checked, datasketches, hashed, log_size
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.ready import Ready
from headrace.sdk.groups.combine_fn import CombineFn


@attrs.frozen
class ThetaSketch:
    """A set of values that knows only their number, approximately.

    ``|`` is the union of two sets, ``&`` their intersection, and ``-`` their difference. The error of an
    intersection or difference is relative to the size of the union.

    >>> monday, tuesday = map(ThetaSketchCombineFn().apply, (["ann", "bob"], ["bob", "cem", "dee"]))
    >>> (monday | tuesday).estimate, (monday & tuesday).estimate, (tuesday - monday).estimate
    (4.0, 1.0, 2.0)
    """

    data: bytes = attrs.field(repr=False)
    """The sketch in the format of Apache DataSketches, which its other languages read, too."""

    @property
    def estimate(self) -> float:
        """The number of values."""
        return float(self._sketch().get_estimate())

    def bounds(self, deviations: int = 2) -> tuple[float, float]:
        """Return a lower and an upper bound of the number of values.

        Args:
            deviations: 1, 2 or 3 standard deviations: the bounds hold in 68%, 95% or 99.7% of cases.
        """
        sketch = self._sketch()
        return sketch.get_lower_bound(deviations), sketch.get_upper_bound(deviations)

    def __or__(self, other: ThetaSketch) -> ThetaSketch:
        """Return the union."""
        return self._combined(datasketches().theta_union(_MOST), other)

    def __and__(self, other: ThetaSketch) -> ThetaSketch:
        """Return the intersection."""
        return self._combined(datasketches().theta_intersection(), other)

    def __sub__(self, other: ThetaSketch) -> ThetaSketch:
        """Return the values that are not in the other set."""
        left = datasketches().theta_a_not_b().compute(self._sketch(), other._sketch())
        return ThetaSketch(left.serialize())

    def _combined(self, operation: Any, other: ThetaSketch) -> ThetaSketch:
        operation.update(self._sketch())
        operation.update(other._sketch())
        return ThetaSketch(operation.get_result().serialize())

    def _sketch(self) -> Any:
        return datasketches().compact_theta_sketch.deserialize(self.data)


_MOST = 20
"""Binary logarithm of the size of the largest sketch: unions of any sketches keep all that they have."""


class ThetaSketchCombineFn(CombineFn):
    """A :class:`ThetaSketch` of the distinct values; cannot subtract.

    The result does not depend on the order of the values, so it is the same on all runners. An accumulator
    has at most 16/error² bytes: 32 KB for an error of 2%.

    Args:
        error: the relative standard error of the number of values, from 0.001 to 0.2.

    Raises:
        PipelineError: the error is out of range, or the package datasketches is not installed.

    >>> ThetaSketchCombineFn().apply(["a", "b", "a"]).estimate
    2.0
    """

    def __init__(self, error: float = 0.02) -> None:
        self._size = max(5, log_size(1, checked("error", error, 0.001, 0.2)))
        datasketches()

    def create_accumulator(self) -> bytes:
        return b""

    def add_input(self, mutable_accumulator: bytes, element: object) -> bytes:
        return self.add_inputs(mutable_accumulator, (element,))

    def add_inputs(self, mutable_accumulator: bytes, elements: Iterable[object]) -> bytes:
        sketch = datasketches().update_theta_sketch(self._size)
        for element in elements:
            sketch.update(hashed(element))
        sketch.trim()  # a sketch that is not full to its size depends on the order of its values
        return self.merge_accumulators([mutable_accumulator, sketch.compact().serialize()])

    def merge_accumulators(self, accumulators: Iterable[bytes]) -> bytes:
        package = datasketches()
        union = package.theta_union(self._size)
        for accumulator in filter(None, accumulators):
            union.update(package.compact_theta_sketch.deserialize(accumulator))
        sketch = union.get_result()
        return b"" if sketch.is_empty() else sketch.serialize()

    def extract_output(self, accumulator: bytes) -> ThetaSketch:
        empty = datasketches().update_theta_sketch(self._size).compact
        return ThetaSketch(accumulator or empty().serialize())


class _DistinctSketch(Ready[object, ThetaSketch]):
    _name = "DistinctSketch"

    def __init__(self, error: float = 0.02) -> None:
        super().__init__(ThetaSketchCombineFn(error))


class DistinctSketch:
    """Transforms that make a :class:`ThetaSketch` of the distinct values, for counts of set operations.

    >>> with Pipeline() as p:
    ...     visits = p | Create([("mon", "ann"), ("mon", "bob"), ("tue", "bob")])
    ...     sketches = visits | DistinctSketch.PerKey()
    ...     _ = sketches | MapTuple(lambda day, users: (day, users.estimate)) | Map(print)
    ('mon', 2.0)
    ('tue', 1.0)
    """

    class Globally(_DistinctSketch, CombineGlobally[object, ThetaSketch]):
        """A sketch of the distinct elements.

        Args:
            error: the relative standard error of the number of values, from 0.001 to 0.2.
        """

    class PerKey(_DistinctSketch, CombinePerKey[object, ThetaSketch]):
        """A sketch of the distinct values of each key.

        Args:
            error: the relative standard error of the number of values, from 0.001 to 0.2.
        """
