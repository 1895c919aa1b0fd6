"""Approximate quantiles in bounded memory (the KLL sketch of Apache DataSketches)."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

from headrace.errors import PipelineError, shorten
from headrace.sdk.combiners.approximate.sketches import checked, datasketches
from headrace.sdk.combiners.ready import ListGlobally, ListPerKey, Ready
from headrace.sdk.groups.combine_fn import CombineFn

_SIZES: Final = range(8, 65536)
QUARTILES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


class KllQuantilesCombineFn(CombineFn):
    """The values at some ranks, approximately; cannot subtract.

    A rank is a share of the values: 0 is the minimum, 0.5 the median, 1 the maximum. The rank of a result
    differs from the rank that is asked for by less than the error, with probability 99%; minimum and
    maximum are exact, and so are all quantiles while there are few values (about 2.6/error). Above that,
    results vary within the error from run to run, since the sketch draws random numbers. Values are of any
    type with an order; NaN is ignored. Without values there are no quantiles.

    :class:`ApproximateQuantilesCombineFn` keeps all values instead.

    Args:
        ranks: the ranks, from 0 to 1; by default the quartiles with minimum and maximum.
        error: the error of a rank, from 0.0001 to 0.2.

    Raises:
        PipelineError: a parameter is out of range, or the package datasketches is not installed.

    >>> KllQuantilesCombineFn([0.5, 0.9]).apply(range(1, 101))
    [50, 90]
    """

    def __init__(self, ranks: Sequence[float] = QUARTILES, error: float = 0.01) -> None:
        if isinstance(ranks, (str, float, int)) or not len(ranks):
            raise PipelineError(
                f"ranks is {shorten(ranks)}", remedy="use a list such as [0.5, 0.99]"
            )
        self._ranks = [checked("a rank", rank, 0, 1) for rank in ranks]
        self._size = _size(checked("error", error, 0.0001, 0.2))

    def create_accumulator(self) -> bytes:
        return b""

    def add_input(self, mutable_accumulator: bytes, element: object) -> bytes:
        return self.add_inputs(mutable_accumulator, (element,))

    def add_inputs(self, mutable_accumulator: bytes, elements: Iterable[object]) -> bytes:
        sketch = self._sketch(mutable_accumulator)
        for element in elements:
            if not (isinstance(element, float) and element != element):
                sketch.update(element)
        return _serialized(sketch)

    def merge_accumulators(self, accumulators: Iterable[bytes]) -> bytes:
        merged = self._sketch(b"")
        for accumulator in filter(None, accumulators):
            merged.merge(self._sketch(accumulator))
        return _serialized(merged)

    def extract_output(self, accumulator: bytes) -> list[Any]:
        if not accumulator:
            return []
        sketch = self._sketch(accumulator)
        ends: dict[float, object] = {0: sketch.get_min_value(), 1: sketch.get_max_value()}
        found = sketch.get_quantiles(self._ranks, inclusive=True)
        return [ends.get(rank, value) for rank, value in zip(self._ranks, found, strict=True)]

    def _sketch(self, accumulator: bytes) -> Any:
        kind = datasketches().kll_items_sketch
        return kind.deserialize(accumulator, _serde()) if accumulator else kind(self._size)


def _size(error: float) -> int:
    """Return the size of the smallest sketch with an error."""
    error_of = datasketches().kll_items_sketch.get_normalized_rank_error
    least, most = _SIZES[0], _SIZES[-1]
    while least < most:
        middle = (least + most) // 2
        least, most = (middle + 1, most) if error_of(middle, False) > error else (least, middle)
    return least


def _serialized(sketch: Any) -> bytes:
    return b"" if sketch.is_empty() else sketch.serialize(_serde())


@cache
def _serde() -> object:
    """Return what turns values into bytes and back, by the protocol of DataSketches."""

    class Pickles(datasketches().PyObjectSerDe):  # type: ignore[misc]  # a class of an untyped package
        def get_size(self, item: object) -> int:
            return len(self.to_bytes(item))

        def to_bytes(self, item: object) -> bytes:
            data = pickle.dumps(item, protocol=5)
            return len(data).to_bytes(4, "big") + data

        def from_bytes(self, data: bytes, offset: int) -> tuple[object, int]:
            start = offset + 4
            end = start + int.from_bytes(data[offset:start], "big")
            return pickle.loads(data[start:end]), end - offset

    return Pickles()


class _KllQuantiles(Ready[Any, list[Any]]):
    _name = "KllQuantiles"

    def __init__(self, ranks: Sequence[float] = QUARTILES, error: float = 0.01) -> None:
        super().__init__(KllQuantilesCombineFn(ranks, error))


class KllQuantiles:
    """Transforms that return the values at some ranks, approximately and in bounded memory.

    >>> with Pipeline() as p:
    ...     times = p | Create(range(1, 101))
    ...     _ = times | KllQuantiles.Globally([0.5, 0.99]) | Map(print)
    [50, 99]
    """

    class Globally(_KllQuantiles, ListGlobally):
        """The elements at some ranks.

        Args:
            ranks: the ranks, from 0 to 1; by default the quartiles with minimum and maximum.
            error: the error of a rank, from 0.0001 to 0.2.
        """

    class PerKey(_KllQuantiles, ListPerKey):
        """The values of each key at some ranks.

        Args:
            ranks: the ranks, from 0 to 1; by default the quartiles with minimum and maximum.
            error: the error of a rank, from 0.0001 to 0.2.
        """
