"""Sources: partitions, as plain data, that are read independently of each other.

A bounded source reads a partition from end to end. An unbounded source reads from an offset, one batch at
a time, so a runner that stores the offset can read the same batch again after a crash.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, Self

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableRecords
from headrace.sdk.elements.type_variables import T_co
from headrace.windowing.time.timestamps import TimestampTypes
from headrace.windowing.timestamped_value import TimestampedValue


class BoundedSource(Generic[T_co]):
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

    dataset: str = ""
    """Where it reads, for reports and lineage: a path or a URL without secrets."""

    def partitions(self) -> Sequence[Any]:
        """Return the partitions, as plain data; by default a single one, ``None``."""
        return [None]

    @abstractmethod
    def read(self, partition: Any) -> Iterable[T_co | TimestampedValue[T_co]]:
        """Read a partition: values, or values with their timestamps.

        Args:
            partition: one of :meth:`partitions`.
        """

    def as_stream(self) -> UnboundedSource[T_co] | None:
        """Return a source of the same records for streaming mode, whose partitions end; None for this one.

        Define it if a partition can be read from an offset without reading the records before it. If the
        stream also tells offsets (:meth:`UnboundedSource.latest_offset`), the workers of Spark read it.
        """
        return None


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


class ReadsTables:
    """A source whose records can stay columns: it also returns them as Arrow tables.

    A runner reads tables if the next steps work on columns.
    """

    @property
    def records(self) -> TableRecords | None:
        """How the rows of its tables become elements; None if it has no tables."""
        return None

    @property
    def why_elements(self) -> str:
        """Why it has no tables, for the plan; empty if there is nothing to say."""
        return "a class makes them, or a function of them gives the timestamps"

    @property
    def fields_read(self) -> Sequence[str]:
        """The only fields that it reads into tables, or for their timestamps; none if it reads all."""
        return ()

    def with_fields(self, names: Sequence[str]) -> ReadsTables:
        """Return a source that reads only some fields into its tables, and that of the timestamps.

        A table whose records do not have all of these fields has all that they have.

        Args:
            names: the fields.
        """
        return self

    def with_keys(self, names: Collection[str]) -> Self:
        """Return a source that may leave text of its tables as numbers of a dictionary.

        Args:
            names: the fields that only groupings use, as their keys.
        """
        return self

    def table_source(self) -> ReadsTables:
        """Return a source that reads tables; a bounded source is the same, and has ``read_tables``."""
        return self


class BoundedTables(ReadsTables):
    """A bounded source whose partitions can be read as tables."""

    parses_values: ClassVar[bool] = False
    """Whether its tables are made of Python values, so that elements are as fast to read."""

    @abstractmethod
    def read_tables(self, partition: Any) -> Iterator[Bundle]:
        """Read a partition from end to end, as tables of any size, or as elements where it must.

        Args:
            partition: one of the source's ``partitions()``.
        """


class EventTables(ReadsTables):
    """A test stream whose elements that arrive together can be a table."""

    @abstractmethod
    def event_table(self, elements: Bundle) -> Bundle:
        """Return elements that arrive together as a table, or as they are where they must stay elements."""


@attrs.frozen
class Batch(Generic[T_co]):
    """The result of one read of a partition of an unbounded source.

    Args:
        records: values, or values with their timestamps; or a bundle of them, which is faster.
        next_offset: the offset of the next read, as plain data.
        watermark: no later record will be older than this (seconds or Timestamp); None if unknown.
        finished: whether the partition has no more records.
        backlog: number of records after these that exist now, for the metric ``lag``; None if unknown.

    >>> Batch(["a", "b"], next_offset=2).finished
    False
    """

    records: Sequence[T_co | TimestampedValue[T_co]] | Bundle
    next_offset: Any
    watermark: TimestampTypes | None = None
    finished: bool = False
    backlog: int | None = None


def _as_tuple(splits: Iterable[tuple[object, int]]) -> tuple[tuple[object, int], ...]:
    return tuple(splits)


@attrs.frozen
class LatestOffset:
    """The end of the next read of a partition, told without reading its records.

    Args:
        offset: the ``next_offset`` of the read, as plain data; the given offset if there are no new records.
        records: number of records up to there; or a larger limit, if ``read`` stops at this offset with it.
        watermark: no later record will be older than this (seconds or Timestamp); None if unknown.
        finished: whether the partition has no more records.
        splits: the same records in parts that workers can read in parallel, in order: the offset and the
            exact number of records of each. By default a single part.
        backlog: number of records after the offset that exist now, for the metric ``lag``; None if unknown.

    >>> LatestOffset(30, records=20, splits=[(10, 10), (20, 10)]).splits
    ((10, 10), (20, 10))
    """

    offset: Any
    records: int
    watermark: TimestampTypes | None = None
    finished: bool = False
    splits: Sequence[tuple[Any, int]] = attrs.field(default=(), converter=_as_tuple)
    backlog: int | None = None


class UnboundedSource(Generic[T_co]):
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

    dataset: str = ""
    """Where it reads, for reports and lineage: a path or a URL without secrets."""

    after: tuple[str, ...] = ()
    """Labels of reads that must have ended before this source is read; until then reads have the limit 0."""

    partitions_interval: float | None = None
    """Seconds after which the partitions are asked for again, to notice new ones; None for never."""

    def partitions(self) -> Sequence[Any]:
        """Return the partitions, as plain data; by default a single one, ``None``."""
        return [None]

    def first_offset(self, partition: Any) -> Any:
        """Return the offset of the first read of a partition that is new in a stream that has begun.

        By default None, as for the partitions with which the stream begins.
        """
        return None

    def committed(self, offsets: Sequence[tuple[Any, Any]]) -> None:
        """Note that all results of the records before these offsets have been written.

        A runner calls it between rounds; it may leave out rounds, and calls again after a restart.

        Args:
            offsets: partitions and offsets.
        """

    def close(self) -> None:
        """Close connections that reading has opened in this process; reading again opens new ones."""

    @abstractmethod
    def read(self, partition: Any, offset: Any, limit: int) -> Batch[T_co]:
        """Read the next records of a partition; the same arguments must return the same records.

        Args:
            partition: one of :meth:`partitions`.
            offset: the ``next_offset`` of the previous batch; None for the first batch.
            limit: maximum number of records.
        """

    def latest_offset(self, partition: Any, start: Any, limit: int) -> LatestOffset | None:
        """Return the offset that the next read reaches, without reading; None if it cannot be told.

        A source that defines this method is read on the workers of Spark, its partitions in parallel: the
        driver calls ``latest_offset``, and a worker calls ``read`` with the same offset and with
        ``LatestOffset.records`` as the limit, which must return the records up to that offset, also if
        there are more by then. If the method returns None, the driver reads these records. The local
        runner does not call it.

        Args:
            partition: one of :meth:`partitions`.
            start: the offset up to which the partition was read; None for the beginning.
            limit: maximum number of records.

        >>> class Log(UnboundedSource[str]):
        ...     lines = ["a", "b", "c"]
        ...
        ...     def latest_offset(self, partition, start, limit):
        ...         start = start or 0
        ...         end = min(start + limit, len(self.lines))
        ...         return LatestOffset(end, records=end - start)
        ...
        ...     def read(self, partition, offset, limit):
        ...         records = self.lines[offset or 0 :][:limit]
        ...         return Batch(records, (offset or 0) + len(records))
        >>> Log().latest_offset(None, 1, limit=10)
        LatestOffset(offset=3, records=2, watermark=None, finished=False, splits=(), backlog=None)
        """
        return None

    def read_to(self, partition: Any, offset: Any, end: Any) -> Batch[T_co] | None:
        """Read the records up to an offset that :meth:`latest_offset` has returned.

        Define it if the number of records up to there is not known; then ``LatestOffset.records`` is a
        larger number. If it returns None, a worker calls :meth:`read` with that number as the limit.

        Args:
            partition: one of :meth:`partitions`.
            offset: the offset before the first record.
            end: the offset after the last record, which is the ``next_offset`` of the batch.
        """
        return None

    @property
    def tells_offsets(self) -> bool:
        """Whether the offsets can be told without reading; by default, whether the class does so."""
        kind = type(self)
        if isinstance(self, ReadsClock):
            return kind.latest_offset_until is not ReadsClock.latest_offset_until  # type: ignore[attr-defined]
        return kind.latest_offset is not UnboundedSource.latest_offset

    def available_now(self) -> UnboundedSource[T_co]:
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

    def latest_offset_until(
        self, partition: Any, start: Any, limit: int, now: int
    ) -> LatestOffset | None:
        """Return what ``UnboundedSource.latest_offset`` returns, by the clock of the runner.

        A worker then reads the records by the latest possible clock.

        Args:
            partition: one of the source's ``partitions()``.
            start: the offset up to which the partition was read; None for the beginning.
            limit: maximum number of records.
            now: the processing time, in microseconds since 1970.
        """
        return None
