"""Arrival times: records of Kafka whose event time is the processing time at which they were read.

The time is a part of the offset at which a read ends. So a checkpoint has it, and records that are read again
up to there after a restart have the same event time as before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final, TypeAlias

import attrs

from headrace.grouping.bundle import Bundle
from headrace.sdk.io.kafka.kafka_source import KafkaSource
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.sources.source import Batch, LatestOffset, UnboundedSource
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.windowing.time.timestamps import MICROS_PER_SECOND, Timestamp

TimedOffset: TypeAlias = tuple[Any, int]
"""An offset, and the time of the records before it, in microseconds since 1970."""

_WATERMARK_STEP: Final = MICROS_PER_SECOND
"""The step in which the watermark rises without records, so that it does not cause a batch each time."""


def wall_micros() -> int:
    """Return the current time in microseconds since 1970."""
    return time.time_ns() // 1000


@attrs.frozen
class SameTime:
    """A function that gives all elements the same event time.

    Args:
        micros: the time, in microseconds since 1970.

    >>> SameTime(1_500_000)("an element") == Timestamp(1.5)
    True
    """

    micros: int

    def __call__(self, element: object) -> Timestamp:
        """Return the time."""
        return Timestamp(micros=self.micros)


@attrs.frozen(eq=False)
class ArrivalTimes(UnboundedSource[Any], HasDisplayData):
    """Topics as an unbounded source; its watermark follows the clock.

    Args:
        source: the topics.
        clock: returns the current time in microseconds since 1970.
    """

    source: KafkaSource
    clock: Callable[[], int] = wall_micros

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The brokers and the topics."""
        return self.source.dataset

    @property
    def after(self) -> tuple[str, ...]:  # type: ignore[override]
        """The labels of reads that must have ended before."""
        return self.source.after

    @property
    def partitions_interval(self) -> float | None:  # type: ignore[override]
        """Seconds between two looks for new partitions."""
        return self.source.partitions_interval

    def display_data(self) -> dict[str, Any]:
        """Return the topics and the settings, without secrets."""
        return self.source.display_data()

    def partitions(self) -> Sequence[Any]:
        """Return the partitions."""
        return self.source.partitions()

    def first_offset(self, partition: Any) -> Any:
        """Return the beginning of a new partition."""
        return self.source.first_offset(partition)

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Any]:
        """Read the next records, with the current time."""
        now, start = self.clock(), _offset(offset)
        batch = self.source.read(partition, start, limit)
        end = _timed(offset, start, batch.next_offset, now)
        return attrs.evolve(_stamped(batch, now), next_offset=end, watermark=_watermark(now))

    def read_to(self, partition: Any, offset: Any, end: TimedOffset) -> Batch[Any]:
        """Read the records between two offsets, with the time of the second one."""
        batch = self.source.read_to(partition, _offset(offset), _offset(end))
        return attrs.evolve(_stamped(batch, end[1]), next_offset=end)

    def latest_offset(self, partition: Any, start: Any, limit: int) -> LatestOffset:
        """Return the offset up to which the next read goes, with the current time."""
        now, first = self.clock(), _offset(start)
        latest = self.source.latest_offset(partition, first, limit)
        end = _timed(start, first, latest.offset, now)
        return attrs.evolve(latest, offset=end, watermark=_watermark(now))

    def available_now(self) -> ArrivalTimes:
        """Return a source of the records up to the present ends."""
        return attrs.evolve(self, source=self.source.available_now())

    def committed(self, offsets: Sequence[tuple[Any, Any]]) -> None:
        """Commit offsets for the group, if there is one."""
        self.source.committed([(place, _offset(offset)) for place, offset in offsets])

    def close(self) -> None:
        """Close the consumers of this process."""
        self.source.close()


def _offset(offset: Any) -> Any:
    """Return an offset without its time; one at which nothing was read yet has none."""
    return offset[0] if isinstance(offset, tuple) else offset


def _timed(given: Any, start: Any, end: Any, now: int) -> Any:
    """Return the end of a read with its time; the given offset if nothing has changed."""
    return given if end == start else (end, now)


def _stamped(batch: Batch[Any], micros: int) -> Batch[Any]:
    values = as_bundle(batch.records).values
    return attrs.evolve(batch, records=Bundle(values, repeat(micros)))


def _watermark(now: int) -> Timestamp:
    return Timestamp(micros=now - now % _WATERMARK_STEP)
