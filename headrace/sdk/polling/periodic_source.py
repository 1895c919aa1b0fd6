"""A source of elements at regular times, by the clock of the runner."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.sources.source import Batch, LatestOffset, ReadsClock, UnboundedSource
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    Timestamp,
    TimestampTypes,
    duration_micros,
    micros,
)
from headrace.windowing.timestamped_value import TimestampedValue

SPLIT: Final = 1 << 13
"""Number of elements that one worker reads at a time."""


def _seconds(start: TimestampTypes | None) -> float | None:
    if start is None or isinstance(start, (int, float)):
        return start
    return micros(start) / 1_000_000


@attrs.frozen
class Times:
    """The times ``start``, ``start + interval``, … before ``stop``.

    Args:
        start: the first time, in seconds; None for the time of the first round.
        stop: the end, in microseconds; if the start is not given, see ``lasts``.
        interval: seconds between two times.
        lasts: the duration from the first time to the end, in microseconds, in place of ``stop``.
    """

    start: float | None = attrs.field(converter=_seconds)
    stop: int
    interval: Any
    lasts: int | None = None

    def begun(self, now: int) -> Times:
        """Return the times with a start."""
        if self.start is not None:
            return self
        stop = self.stop if self.lasts is None else min(now + self.lasts, MAX_MICROS)
        found = Times(now / 1_000_000, stop, self.interval)
        found.require_order()
        return found

    def require_order(self) -> None:
        """Check that the end is not before the start.

        Raises:
            PipelineError: it is.
        """
        if self.start is not None and self.stop < micros(self.start):
            raise PipelineError(
                f"the sequence stops at {Timestamp(micros=self.stop)}, before it starts at "
                f"{Timestamp.of(self.start)}",
                remedy="give a stop_timestamp that is after start_timestamp",
            )

    def count(self) -> int:
        """Return the number of times."""
        assert self.start is not None
        return -((micros(self.start) - self.stop) // duration_micros(self.interval))

    def __getitem__(self, index: int) -> Any:
        """Return a time as a number of seconds, an int if start and interval are ints."""
        assert self.start is not None
        return self.start + self.interval * index


@attrs.frozen(eq=False)
class PeriodicSource(UnboundedSource[Any], ReadsClock):
    """Elements at regular times: each is returned once the clock has reached its time.

    An offset is the start of the times and the index of the next element; so a sequence that starts with the
    run goes on as it began after a restart.

    Args:
        sequences: the times of each partition.
        data: the values of the elements, again and again; by default the times.
        timed: whether each item of the data is a pair of a timestamp and a value.

    >>> source = PeriodicSource((Times(0, 3_000_000, 1),))
    >>> batch = source.read_until(0, None, 10, now=1_500_000)
    >>> [element.value for element in batch.records], batch.watermark, batch.finished
    ([0, 1], Timestamp(2), False)
    """

    sequences: tuple[Times, ...]
    data: tuple[Any, ...] | None = None
    timed: bool = False

    def partitions(self) -> Sequence[int]:
        return range(len(self.sequences))

    def read(self, partition: int, offset: Any, limit: int) -> Batch[Any]:
        return self.read_until(partition, offset, limit, Timestamp.now().micros)

    def read_until(self, partition: int, offset: Any, limit: int, now: int) -> Batch[Any]:
        times = self.sequences[partition]
        if offset is None and times.start is None:
            begun = times.begun(now)  # without records, so that the first ones can be read again
            return Batch([], (begun.start, begun.stop, 0), self._watermark(0, begun))
        start, stop, first = offset or (times.start, times.stop, 0)
        times = Times(start, stop, times.interval)
        end = min(times.count(), first + limit)
        index = first
        records: list[Any] = []
        while index < end and micros(times[index]) <= now:
            records.append(self._element(index, times[index]))
            index += 1
        following = (start, stop, index) if records or offset is None else offset
        finished = index >= times.count()
        return Batch(records, following, self._watermark(index, times), finished)

    def latest_offset(self, partition: int, start: object, limit: int) -> LatestOffset:
        return self.latest_offset_until(partition, start, limit, Timestamp.now().micros)

    def latest_offset_until(self, partition: int, start: Any, limit: int, now: int) -> LatestOffset:
        times = self.sequences[partition]
        if start is None and times.start is None:
            begun = times.begun(now)
            return LatestOffset((begun.start, begun.stop, 0), 0, self._watermark(0, begun))
        begin, stop, first = start or (times.start, times.stop, 0)
        times = Times(begin, stop, times.interval)
        ahead = range(first, min(times.count(), first + limit))
        records = bisect_right(ahead, now, key=lambda index: micros(times[index]))
        index = first + records
        return LatestOffset(
            (begin, stop, index),
            records,
            self._watermark(index, times),
            finished=index >= times.count(),
            splits=[
                ((begin, stop, at), min(SPLIT, index - at)) for at in range(first, index, SPLIT)
            ],
        )

    def _element(self, index: int, time: Any) -> TimestampedValue[Any]:
        if self.data is None:
            return TimestampedValue(time, time)
        item = self.data[index % len(self.data)]
        return TimestampedValue(item[1], item[0]) if self.timed else TimestampedValue(item, time)

    def _watermark(self, index: int, times: Times) -> Timestamp | None:
        """Return the time of the next element; for elements with times of their own, the last of those."""
        if not self.timed:
            return Timestamp(micros=min(micros(times[index]), MAX_MICROS))
        seen = [Timestamp.of(time) for time, _ in (self.data or ())[:index]]
        return max(seen, default=None)
