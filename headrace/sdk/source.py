"""Sources: partitions, as plain data, each of which is read independently.

A bounded source reads a partition from end to end. An unbounded source reads from an offset, one batch at
a time, so a runner that stores the offset can read the same batch again after a crash.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from headrace.triggers.bundle import Bundle
from headrace.windowing.time import TimestampTypes
from headrace.windowing.timestamped_value import TimestampedValue

T = TypeVar("T")


class BoundedSource(Generic[T]):
    """A bounded source; subclass it and define :meth:`read`.

    >>> class Numbers(BoundedSource[int]):
    ...     def partitions(self):
    ...         return [0, 100]
    ...
    ...     def read(self, partition):
    ...         return range(partition, partition + 3)
    >>> list(Numbers().read(100))
    [100, 101, 102]
    """

    def partitions(self) -> Sequence[Any]:
        """Return the partitions, as plain data; by default a single one, ``None``."""
        return [None]

    @abstractmethod
    def read(self, partition: Any) -> Iterable[T | TimestampedValue[T]]:
        """Read a partition: values, or values with their timestamps.

        Args:
            partition: one of :meth:`partitions`.
        """


class ReadsBundles:
    """A bounded source that can also return its elements in bundles, which is faster than ``read``.

    >>> class Zeros(BoundedSource[int], ReadsBundles):
    ...     def read(self, partition):
    ...         return [0] * 3
    ...
    ...     def read_bundles(self, partition):
    ...         yield Bundle([0] * 3)
    >>> [len(bundle) for bundle in Zeros().read_bundles(None)]
    [3]
    """

    @abstractmethod
    def read_bundles(self, partition: Any) -> Iterator[Bundle]:
        """Read a partition from end to end, in bundles of any size.

        Args:
            partition: one of the source's ``partitions()``.
        """


@attrs.frozen
class Batch(Generic[T]):
    """The result of one read of a partition of an unbounded source.

    Args:
        records: values, or values with their timestamps; or a bundle of them, which is faster.
        next_offset: the offset of the next read, as plain data.
        watermark: no later record will be older than this (seconds or Timestamp); None if unknown.
        finished: whether the partition has no more records.

    >>> Batch(["a", "b"], next_offset=2).finished
    False
    """

    records: Sequence[T | TimestampedValue[T]] | Bundle
    next_offset: Any
    watermark: TimestampTypes | None = None
    finished: bool = False


class UnboundedSource(Generic[T]):
    """An unbounded source; subclass it and define :meth:`read`.

    >>> class Counter(UnboundedSource[int]):
    ...     def read(self, partition, offset, limit):
    ...         start = offset or 0
    ...         return Batch(range(start, start + limit), next_offset=start + limit)
    >>> list(Counter().read(None, offset=5, limit=2).records)
    [5, 6]
    """

    reports_watermarks: ClassVar[bool] = True
    """Whether batches have a watermark; if not, windows need a watermark policy at the read."""

    def partitions(self) -> Sequence[Any]:
        """Return the partitions, as plain data; by default a single one, ``None``."""
        return [None]

    @abstractmethod
    def read(self, partition: Any, offset: Any, limit: int) -> Batch[T]:
        """Read the next records of a partition; the same arguments must return the same records.

        Args:
            partition: one of :meth:`partitions`.
            offset: the ``next_offset`` of the previous batch; None for the first batch.
            limit: maximum number of records.
        """

    def available_now(self) -> UnboundedSource[T]:
        """Return a source of the records that exist now, for ``--until-caught-up``.

        The default is the source itself. Then a partition ends at the first read that returns no records
        and the same offset. Override it if new records arrive faster than they are read, or if a read can
        be empty although there are more records.
        """
        return self


class ReadsClock:
    """An unbounded source whose records appear by the clock of the runner.

    >>> class Seconds(UnboundedSource[int], ReadsClock):
    ...     def read_until(self, partition, offset, limit, now):
    ...         start = offset or 0
    ...         end = min(start + limit, now // 1_000_000)
    ...         return Batch(range(start, end), next_offset=end)
    >>> list(Seconds().read_until(None, offset=2, limit=10, now=4_500_000).records)
    [2, 3]
    """

    @abstractmethod
    def read_until(self, partition: Any, offset: Any, limit: int, now: int) -> Batch[Any]:
        """Read the next records of a partition, as ``UnboundedSource.read`` does.

        A later clock must return the same records, and may return more of them.

        Args:
            partition: one of the source's ``partitions()``.
            offset: the ``next_offset`` of the previous batch; None for the first batch.
            limit: maximum number of records.
            now: the processing time, in microseconds since 1970.
        """
