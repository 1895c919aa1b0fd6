"""Evictors: which values of a pane a grouping keeps (Flink's name).

An evictor becomes a combiner of (time, value) pairs, so it works with every window, trigger and accumulation
mode. What it evicts can be forgotten early, before a shuffle and between panes. If the input has retractions,
the grouping keeps all values, since a retraction can bring an evicted value back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import itemgetter
from types import GenericAlias
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.combiners.combine import CombinePerKey
from headrace.sdk.groups.combine_fn import StampedCombineFn
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.pardo_node import each
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.typehints.element_types import pair_type, pair_types
from headrace.windowing.time.timestamps import DurationTypes, duration_micros

TimedRow: TypeAlias = tuple[int, bytes, Any]
"""The time of a value in microseconds, its encoding, and the value."""

KeptRows: TypeAlias = tuple[int, list[TimedRow]]
"""The number of rows at which the evictor is asked again, and the rows, in any order."""

_FEW: Final = 64
_ORDER: Final = itemgetter(0, 1)


class Evictor(ABC):
    """Base class of the evictors."""

    @abstractmethod
    def keep(self, rows: list[TimedRow]) -> list[TimedRow]:
        """Return the rows that are kept, of rows in their order.

        What is kept of some rows must not change if what is evicted from a part of them is left out.
        """

    def group(self, pcoll: PCollection[object]) -> PCollection[Any]:
        """Group pairs by key, without the values that are evicted.

        Raises:
            PipelineError: the windowing has an output for late pairs.
        """
        if pcoll.windowing.late_tag is not None:
            raise PipelineError(
                "a grouping with an evictor has no output for late pairs",
                remedy="remove late_output_tag or the evictor",
            )
        key, value = pair_types(pcoll.element_type)
        kind = pair_type(key, GenericAlias(list, (value,)))
        evict = CombinePerKey(EvictCombineFn(self)).with_output_types(kind)
        kept: PCollection[object] = pcoll | "Stamp" >> each(_stamp) | "Evict" >> evict
        return kept


@attrs.frozen
class CountEvictor(Evictor):
    """Keeps the last N values of a pane, by event time (Flink's name).

    Args:
        size: the number of values.

    Raises:
        PipelineError: the number is not a whole number greater than 0.

    >>> with Pipeline() as p:
    ...     readings = p | Create([TimestampedValue(("a", n), 10 - n) for n in range(5)])
    ...     _ = readings | GroupByKey(evictor=hr.CountEvictor(2)) | Map(print)
    ('a', [1, 0])
    """

    size: int = attrs.field()

    @size.validator
    def _check(self, attribute: object, size: object) -> None:
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise PipelineError(
                f"the size of CountEvictor is {shorten(size)}",
                remedy="use a whole number greater than 0",
            )

    def keep(self, rows: list[TimedRow]) -> list[TimedRow]:
        return rows[-self.size :]


@attrs.frozen
class TimeEvictor(Evictor):
    """Keeps the values of a pane from the last seconds before its last value, by event time (Flink's name).

    A value is kept if its timestamp is later than the timestamp of the last value minus the duration.

    Args:
        duration: seconds or timedelta; more than 0.

    Raises:
        PipelineError: the duration is not greater than 0.

    >>> with Pipeline() as p:
    ...     readings = p | Create([TimestampedValue(("a", n), n) for n in range(5)])
    ...     _ = readings | GroupByKey(evictor=hr.TimeEvictor(2)) | Map(print)
    ('a', [3, 4])
    """

    duration: DurationTypes = attrs.field()

    @duration.validator
    def _check(self, attribute: object, duration: DurationTypes) -> None:
        if duration_micros(duration) <= 0:
            raise PipelineError(
                f"the duration of TimeEvictor is {duration}", remedy="use more than 0 seconds"
            )

    def keep(self, rows: list[TimedRow]) -> list[TimedRow]:
        first = rows[-1][0] - duration_micros(self.duration) if rows else 0
        return [row for row in rows if row[0] > first]


@attrs.frozen
class EvictCombineFn(StampedCombineFn):
    """The values that an evictor keeps, in the order of their times and encodings; cannot subtract.

    Args:
        evictor: the evictor.

    >>> EvictCombineFn(CountEvictor(2)).apply([(3, "c"), (1, "a"), (2, "b")])
    ['b', 'c']
    """

    evictor: Evictor

    def create_accumulator(self) -> KeptRows:
        return _FEW, []

    def add_input(self, mutable_accumulator: KeptRows, element: tuple[int, object]) -> KeptRows:
        limit, rows = mutable_accumulator
        time, value = element
        rows.append((time, encode_value(value), value))
        return mutable_accumulator if len(rows) < limit else self._kept(rows)

    def merge_accumulators(self, accumulators: Iterable[KeptRows]) -> KeptRows:
        return self._kept([row for _, rows in accumulators for row in rows])

    def compact(self, accumulator: KeptRows) -> KeptRows:
        return self._kept(accumulator[1])

    def extract_output(self, accumulator: KeptRows) -> list[Any]:
        return [value for _, _, value in self._kept(accumulator[1])[1]]

    def value_of(self, element: tuple[int, object]) -> Any:
        """Return the value of a pair, which triggers see."""
        return element[1]

    def _kept(self, rows: list[TimedRow]) -> KeptRows:
        kept = self.evictor.keep(sorted(rows, key=_ORDER))
        return max(_FEW, 2 * len(kept)), kept


def _stamp(pair: Any, timestamp: Any = DoFn.TimestampParam) -> tuple[Any, tuple[int, Any]]:
    key, value = pair
    return key, (timestamp.micros, value)
