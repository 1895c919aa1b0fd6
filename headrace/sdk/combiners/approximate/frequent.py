"""Heavy hitters: the most frequent values, in bounded memory (the frequent items sketch of DataSketches)."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.combiners.approximate.sketches import checked, datasketches, log_size
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.ready import Ready
from headrace.sdk.groups.combine_fn import CombineFn

Frequencies: TypeAlias = tuple[bytes, dict[str, Any]]
"""The sketch of the names of values, and the values by their names."""

_CONSTANT: Final = 3.5
"""The error of the sketch times the size of its table."""


class HeavyHitter(NamedTuple):
    """A frequent value.

    Attributes:
        value: the value.
        frequency: how often it occurs, approximately.
        at_least: a lower bound of the frequency, which always holds.
        at_most: an upper bound of the frequency, which always holds.
    """

    value: Any
    frequency: int
    at_least: int
    at_most: int


class HeavyHittersCombineFn(CombineFn):
    """The values that make up at least a share of all, the most frequent first; cannot subtract.

    All values with this share are found. The bounds of a frequency always hold, and differ by at most the
    error times the number of all values; so a value whose share is smaller by up to the error can be there,
    too. While there are fewer different values than about 2.6/error, frequencies are exact. Above that,
    results can depend on the order of the values, within the bounds.

    Args:
        share: the share of all values, from 0.0001 to 1.
        error: the error of a frequency as a share of all values; at most the share, a tenth of it by default.

    Raises:
        PipelineError: a parameter is out of range, or the package datasketches is not installed.

    >>> HeavyHittersCombineFn(share=0.5).apply(["rye", "oat", "rye"])
    [HeavyHitter(value='rye', frequency=2, at_least=2, at_most=2)]
    """

    def __init__(self, share: float = 0.01, error: float | None = None) -> None:
        self._share = checked("share", share, 0.0001, 1)
        error = checked("error", share / 10 if error is None else error, 0.00001, self._share)
        self._size = max(3, log_size(_CONSTANT**0.5, error**0.5))
        datasketches()

    def create_accumulator(self) -> Frequencies:
        return b"", {}

    def add_input(self, mutable_accumulator: Frequencies, element: object) -> Frequencies:
        return self.add_inputs(mutable_accumulator, (element,))

    def add_inputs(
        self, mutable_accumulator: Frequencies, elements: Iterable[object]
    ) -> Frequencies:
        sketch, values = self._sketch(mutable_accumulator[0]), mutable_accumulator[1]
        for element in elements:
            name = _name(element)
            sketch.update(name)
            values[name] = element
        return self._stored(sketch, values)

    def merge_accumulators(self, accumulators: Iterable[Frequencies]) -> Frequencies:
        merged = self._sketch(b"")
        values: dict[str, Any] = {}
        for sketch, others in accumulators:
            merged.merge(self._sketch(sketch))
            values |= others
        return self._stored(merged, values)

    def extract_output(self, accumulator: Frequencies) -> list[HeavyHitter]:
        sketch = self._sketch(accumulator[0])
        threshold = max(self._share * sketch.total_weight, 1)
        found = [
            HeavyHitter(accumulator[1][name], *counts)
            for name, *counts in _items(sketch)
            if counts[-1] >= threshold
        ]
        return sorted(found, key=_rank)

    def _sketch(self, data: bytes) -> Any:
        kind = datasketches().frequent_strings_sketch
        return kind.deserialize(data) if data else kind(self._size)

    def _stored(self, sketch: Any, values: dict[str, Any]) -> Frequencies:
        """Return the accumulator, without the values that the sketch has dropped."""
        if len(values) > sketch.num_active_items:
            values = {name: values[name] for name, *_ in _items(sketch)}
        return (b"" if sketch.is_empty() else sketch.serialize()), values


def _name(value: object) -> str:
    return blake2b(encode_value(value), digest_size=12).hexdigest()


def _items(sketch: Any) -> list[Any]:
    """Return all values in a sketch: name, estimate and bounds."""
    return list(sketch.get_frequent_items(datasketches().NO_FALSE_NEGATIVES, 0))


def _rank(found: HeavyHitter) -> tuple[int, bytes]:
    return -found.frequency, encode_value(found.value)


class _HeavyHitters(Ready[Any, list[HeavyHitter]]):
    _name = "HeavyHitters"

    def __init__(self, share: float = 0.01, error: float | None = None) -> None:
        super().__init__(HeavyHittersCombineFn(share, error))


class HeavyHitters:
    """Transforms that find the most frequent values, approximately and in bounded memory.

    >>> with Pipeline() as p:
    ...     words = p | Create(["to", "be", "or", "not", "to", "be", "to"])
    ...     frequent = words | HeavyHitters.Globally(share=0.25) | FlatMap(lambda found: found)
    ...     _ = frequent | Map(lambda found: print(found.value, found.frequency))
    to 3
    be 2
    """

    class Globally(_HeavyHitters, CombineGlobally[Any, list[HeavyHitter]]):
        """A list of the elements that make up at least a share of all.

        Args:
            share: the share of all elements, from 0.0001 to 1.
            error: the error of a frequency as a share of all elements; a tenth of the share by default.
        """

    class PerKey(_HeavyHitters, CombinePerKey[Any, list[HeavyHitter]]):
        """A list of the values of each key that make up at least a share of its values.

        Args:
            share: the share of all values of the key, from 0.0001 to 1.
            error: the error of a frequency as a share of these values; a tenth of the share by default.
        """
