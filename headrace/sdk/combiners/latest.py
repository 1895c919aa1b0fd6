"""Combiners that return the latest value by event time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.elements.taken_fields import StampedPairs
from headrace.sdk.elements.type_variables import KeyT, T, ValueT
from headrace.sdk.groups.combine_fn import StampedCombineFn
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.transforms import Map
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import MIN_TIMESTAMP

TimedPair: TypeAlias = tuple[Any, Any]
_NONE: Final[TimedPair] = (None, MIN_TIMESTAMP)


class LatestCombineFn(StampedCombineFn):
    """The value of the latest of (value, timestamp) pairs, or None without pairs; cannot subtract.

    If several values have the latest timestamp, one of them is chosen deterministically, for any order of
    arrival.

    >>> LatestCombineFn().apply([("a", 3), ("b", 5), ("c", 4)])
    'b'
    """

    def create_accumulator(self) -> TimedPair:
        return _NONE

    def add_input(self, mutable_accumulator: TimedPair, element: TimedPair) -> TimedPair:
        if mutable_accumulator is _NONE or element[1] > mutable_accumulator[1]:
            return element
        if element is _NONE or element[1] < mutable_accumulator[1]:
            return mutable_accumulator
        return max(mutable_accumulator, element, key=_encoding)

    def merge_accumulators(self, accumulators: Iterable[TimedPair]) -> TimedPair:
        latest: TimedPair = self.add_inputs(_NONE, accumulators)
        return latest

    def extract_output(self, accumulator: TimedPair) -> Any:
        return accumulator[0]

    def value_of(self, element: TimedPair) -> Any:
        """Return the value of a pair, which triggers see."""
        return element[0]


def _encoding(stamped: TimedPair) -> bytes:
    return encode_value(stamped[0])


class Latest:
    """Transforms that return the latest element or value, by event time.

    >>> with Pipeline() as p:
    ...     steps = p | Create([("a", 3), ("b", 5)]) | WithTimestamps(lambda pair: pair[1])
    ...     _ = steps | Latest.Globally() | Map(print)
    ('b', 5)
    """

    class Globally(PTransform[PCollection[Any], PCollection[Any]]):
        """The latest element; None for an empty collection.

        Args:
            has_defaults: whether an empty collection gives None, in the global window.
        """

        def __init__(self, has_defaults: bool = True) -> None:
            super().__init__()
            self._has_defaults = has_defaults

        def default_label(self) -> str:
            return "Latest.Globally"

        def with_defaults(self, has_defaults: bool = True) -> Latest.Globally:
            """Set whether an empty collection gives a value."""
            return Latest.Globally(has_defaults)

        def without_defaults(self) -> Latest.Globally:
            """Emit no value for an empty collection; required in windows other than the global window."""
            return Latest.Globally(has_defaults=False)

        def expand(self, pcoll: PCollection[T]) -> PCollection[T]:
            require_collection(pcoll)
            combine = CombineGlobally(LatestCombineFn()).with_defaults(self._has_defaults)
            stamped = pcoll | "AddTimestamps" >> Map(_stamp)
            return stamped | "Latest" >> combine

    class PerKey(PTransform[PCollection[Any], PCollection[Any]]):
        """The latest value of each key."""

        def default_label(self) -> str:
            return "Latest.PerKey"

        def expand(
            self, pcoll: PCollection[tuple[KeyT, ValueT]]
        ) -> PCollection[tuple[KeyT, ValueT]]:
            stamped = pcoll | "AddTimestamps" >> Map(_StampValue())
            return stamped | "Latest" >> CombinePerKey(LatestCombineFn())


def _stamp(element: object, timestamp: object = DoFn.TimestampParam) -> TimedPair:
    return element, timestamp


class _StampValue:
    def table_form(self) -> StampedPairs:
        """Return how it works on tables."""
        return StampedPairs()

    def __call__(
        self, pair: tuple[object, object], timestamp: object = DoFn.TimestampParam
    ) -> tuple[Any, TimedPair]:
        key, value = pair
        return key, (value, timestamp)
