"""Combiners that return the earliest or the latest value by event time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeAlias

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.elements.taken_fields import StampedPairs
from headrace.sdk.elements.type_variables import KeyT, T, ValueT
from headrace.sdk.groups.combine_fn import StampedCombineFn
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.transforms import Map
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP

TimedPair: TypeAlias = tuple[Any, Any]


class ByTimeCombineFn(StampedCombineFn):
    """The value of one of (value, timestamp) pairs, chosen by its time, or None without pairs.

    If several values have the chosen time, one of them is chosen deterministically, for any order of
    arrival: None only if there is no other.
    """

    _nothing: ClassVar[TimedPair]
    """The accumulator without pairs; no pair has a worse time."""

    @abstractmethod
    def _is_better(self, time: Any, other: Any) -> bool: ...

    def create_accumulator(self) -> TimedPair:
        return self._nothing

    def add_input(self, mutable_accumulator: TimedPair, element: TimedPair) -> TimedPair:
        is_better = self._is_better
        if is_better(element[1], mutable_accumulator[1]):
            return element
        if is_better(mutable_accumulator[1], element[1]):
            return mutable_accumulator
        return max(mutable_accumulator, element, key=_rank)

    def merge_accumulators(self, accumulators: Iterable[TimedPair]) -> TimedPair:
        chosen: TimedPair = self.add_inputs(self._nothing, accumulators)
        return chosen

    def extract_output(self, accumulator: TimedPair) -> Any:
        return accumulator[0]

    def value_of(self, element: TimedPair) -> Any:
        """Return the value of a pair, which triggers see."""
        return element[0]


def _rank(stamped: TimedPair) -> tuple[bool, bytes]:
    return stamped[0] is not None, encode_value(stamped[0])


class LatestCombineFn(ByTimeCombineFn):
    """The value of the latest of (value, timestamp) pairs, or None without pairs; cannot subtract.

    If several values have the latest timestamp, one of them is chosen deterministically, for any order of
    arrival: None only if there is no other.

    >>> LatestCombineFn().apply([("a", 3), ("b", 5), ("c", 4)])
    'b'
    """

    _nothing = None, MIN_TIMESTAMP

    def _is_better(self, time: Any, other: Any) -> bool:
        return bool(time > other)


class EarliestCombineFn(ByTimeCombineFn):
    """The value of the earliest of (value, timestamp) pairs, or None without pairs; cannot subtract.

    If several values have the earliest timestamp, one of them is chosen deterministically, for any order of
    arrival: None only if there is no other.

    >>> EarliestCombineFn().apply([("a", 3), ("b", 5), ("c", 4)])
    'a'
    """

    _nothing = None, MAX_TIMESTAMP

    def _is_better(self, time: Any, other: Any) -> bool:
        return bool(time < other)


class _ByTime(PTransform[PCollection[Any], PCollection[Any]]):
    _name: ClassVar[str]
    _fn: ClassVar[type[ByTimeCombineFn]]


class _Globally(_ByTime):
    def __init__(self, has_defaults: bool = True) -> None:
        super().__init__()
        self._has_defaults = has_defaults

    def default_label(self) -> str:
        return f"{self._name}.Globally"

    def with_defaults(self, has_defaults: bool = True) -> Self:
        """Set whether an empty collection gives a value."""
        return type(self)(has_defaults)

    def without_defaults(self) -> Self:
        """Emit no value for an empty collection; required in windows other than the global window."""
        return type(self)(has_defaults=False)

    def expand(self, pcoll: PCollection[T]) -> PCollection[T]:
        require_collection(pcoll)
        combine = CombineGlobally(self._fn()).with_defaults(self._has_defaults)
        return pcoll | "AddTimestamps" >> Map(_stamp) | self._name >> combine


class _PerKey(_ByTime):
    def default_label(self) -> str:
        return f"{self._name}.PerKey"

    def expand(self, pcoll: PCollection[tuple[KeyT, ValueT]]) -> PCollection[tuple[KeyT, ValueT]]:
        stamped = pcoll | "AddTimestamps" >> Map(_StampValue())
        return stamped | self._name >> CombinePerKey(self._fn())


class _OfLatest(_ByTime):
    _name = "Latest"
    _fn = LatestCombineFn


class Latest:
    """Transforms that return the latest element or value, by event time.

    >>> with Pipeline() as p:
    ...     steps = p | Create([("a", 3), ("b", 5)]) | WithTimestamps(lambda pair: pair[1])
    ...     _ = steps | Latest.Globally() | Map(print)
    ('b', 5)
    """

    class Globally(_OfLatest, _Globally):
        """The latest element; None for an empty collection.

        Args:
            has_defaults: whether an empty collection gives None, in the global window.
        """

    class PerKey(_OfLatest, _PerKey):
        """The latest value of each key."""


class _OfEarliest(_ByTime):
    _name = "Earliest"
    _fn = EarliestCombineFn


class Earliest:
    """Transforms that return the earliest element or value, by event time.

    >>> with Pipeline() as p:
    ...     steps = p | Create([("a", 3), ("b", 5)]) | WithTimestamps(lambda pair: pair[1])
    ...     _ = steps | Earliest.Globally() | Map(print)
    ('a', 3)
    """

    class Globally(_OfEarliest, _Globally):
        """The earliest element; None for an empty collection.

        Args:
            has_defaults: whether an empty collection gives None, in the global window.
        """

    class PerKey(_OfEarliest, _PerKey):
        """The earliest value of each key."""


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
