"""The source of Kafka: topics as partitions whose offsets are Kafka's.

An unbounded source whose reads stop at the end of what is committed, and a bounded one that reads up to
the ends that the partitions have when it begins. Offsets of records have gaps, where transactions end or
are aborted and where compaction removed records; so a read counts records, and a range ends at an offset.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final
from uuid import uuid4

import attrs

from headrace.errors import PipelineError
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableRecords
from headrace.sdk.io.kafka.client import ClientSettings
from headrace.sdk.io.kafka.consumers import close_consumers, consumer_of, forget, removed_records
from headrace.sdk.io.kafka.kafka_record import RecordForm
from headrace.sdk.io.kafka.offsets import EARLIEST, Brokers, StartPoint, TopicPartition
from headrace.sdk.sources.source import (
    Batch,
    BoundedSource,
    LatestOffset,
    ReadsBundles,
    ReadsTables,
    UnboundedSource,
)
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

_LOG: Final = logging.getLogger(__name__)

RANGE_OFFSETS: Final = 1 << 18
"""Maximum number of offsets that one task of a batch run reads."""

_WHY_ELEMENTS: Final = (
    "its values have no fields of simple types, or metadata, dead letters or event times of its own "
    "are asked for"
)
"""Why messages have no tables, for the plan."""

BUNDLE_OFFSETS: Final = 1 << 14
"""Maximum number of records in a bundle of a bounded read."""


@attrs.frozen
class Topics:
    """The topics to read.

    Attributes:
        names: their names, in order.
        pattern: a regular expression that their names match instead.
    """

    names: tuple[str, ...] = ()
    pattern: str | None = None

    def __str__(self) -> str:
        return ",".join(self.names) if self.pattern is None else self.pattern


@attrs.define
class Asked:
    """What this process has learned from the brokers; not a part of the plan."""

    brokers: Brokers | None = None
    ends: dict[TopicPartition, int] = attrs.field(factory=dict)
    begun: dict[TopicPartition, int] = attrs.field(factory=dict)
    places: list[TopicPartition] = attrs.field(factory=list)
    committed: dict[TopicPartition, int] = attrs.field(factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return Asked, ()


@attrs.frozen(eq=False)
class KafkaSource(UnboundedSource[Any], ReadsTables, HasDisplayData):
    """Topics as an unbounded source; a partition is a topic and a number.

    An offset is the number of the next record; or None or a :class:`StartPoint` until the brokers have been
    asked for a number. That is a read of its own without records, so that the number is stored
    before records are read from it.

    Attributes:
        settings: settings of the client.
        topics: the topics.
        form: how records become elements.
        start: where partitions start that are there at the beginning.
        partitions_interval: seconds between two looks for new partitions.
        group: the group for which offsets are committed; empty for none.
        until: the ends of partitions; None if they have none.
        after: the labels of reads that must have ended before.
    """

    reports_watermarks: ClassVar[bool] = False

    settings: ClientSettings
    topics: Topics
    form: RecordForm
    start: StartPoint = EARLIEST
    partitions_interval: float | None = None
    group: str = ""
    until: Mapping[TopicPartition, int] | None = None
    after: tuple[str, ...] = ()
    uid: str = attrs.field(factory=lambda: uuid4().hex, repr=False)
    asked: Asked = attrs.field(factory=Asked, repr=False, init=False)

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The brokers and the topics."""
        return f"kafka://{self.settings.servers}/{self.topics}"

    def display_data(self) -> dict[str, Any]:
        """Return the topics and the settings, without secrets."""
        return {"topics": str(self.topics), **self.settings.shown}

    @property
    def records(self) -> TableRecords | None:
        """How the rows of tables become pairs; None if values are not records of simple types."""
        return self.form.table_records

    @property
    def why_elements(self) -> str:
        return _WHY_ELEMENTS

    def table_source(self) -> KafkaSource:
        """Return a source whose bundles are tables."""
        return attrs.evolve(self, form=attrs.evolve(self.form, tables=True))

    @property
    def brokers(self) -> Brokers:
        """The connection to the brokers in this process."""
        if self.asked.brokers is None:
            self.asked.brokers = Brokers(self.settings)
        return self.asked.brokers

    def partitions(self) -> Sequence[TopicPartition]:
        """Return the partitions that exist now; or those with an end, if there are ends."""
        if self.until is not None:
            return list(self.until)
        self.asked.places = self.brokers.partitions(self.topics.names, self.topics.pattern)
        return self.asked.places

    def first_offset(self, partition: Any) -> str:
        """Return the beginning, so that nothing is missed of a partition that is new."""
        return EARLIEST

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Any]:
        """Read the next records; none while the start is looked up, or after the last committed one."""
        if not isinstance(offset, int):
            return Batch([], self._begin(partition, offset))
        end = self._end(partition, offset)
        bundle, after = self._take(partition, offset, limit, end)
        return Batch(bundle, after, finished=self._is_last(partition, after), backlog=end - after)

    def read_to(self, partition: Any, offset: Any, end: Any) -> Batch[Any]:
        """Read the records between two offsets."""
        bundle, _ = self._take(partition, offset, end - offset, end)
        return Batch(bundle, end)

    def latest_offset(self, partition: Any, start: Any, limit: int) -> LatestOffset:
        """Return the offset up to which the next read goes; the number of offsets is its limit."""
        if not isinstance(start, int):
            return LatestOffset(self._begin(partition, start), records=0)
        last = self._end(partition, start)
        end = min(start + limit, last)
        return LatestOffset(
            end, end - start, finished=self._is_last(partition, end), backlog=last - end
        )

    def available_now(self) -> KafkaSource:
        """Return a source of the records up to the present ends."""
        if self.until is not None:
            return self
        return self.up_to(self.brokers.ends(self.partitions()))

    def up_to(self, ends: Mapping[TopicPartition, int]) -> KafkaSource:
        """Return a source of the records up to offsets, which has no other partitions."""
        return attrs.evolve(self, until=dict(ends), partitions_interval=None)

    def committed(self, offsets: Sequence[tuple[Any, Any]]) -> None:
        """Commit offsets for the group, if they have changed; a failure is only logged."""
        now = {place: offset for place, offset in offsets if isinstance(offset, int)}
        new = dict(now.items() - self.asked.committed.items())
        if not self.group or not new:
            return
        try:
            self.brokers.commit(self.group, new)
        except PipelineError as error:
            _LOG.warning("%s (the offsets in the checkpoint are not concerned)", error.problem)
            return
        self.asked.committed.update(new)

    def close(self) -> None:
        """Close the consumers of this process."""
        close_consumers(self.uid)
        self.asked.brokers = None

    def _begin(self, place: TopicPartition, offset: Any) -> int:
        """Return the number of an offset that was given by name."""
        begun = self.asked.begun
        if place not in begun:
            places = self.asked.places if offset is None and place in self.asked.places else [place]
            start = self.start if offset is None else offset
            begun.update(self.brokers.starts(places, start))
        return begun[place]

    def _end(self, place: TopicPartition, offset: int) -> int:
        """Return the offset after the last record to read now; a round asks for all partitions at once."""
        ends = self.asked.ends
        if ends.get(place, -1) < offset:
            places = self.asked.places or list(self.until or ())
            ends.update(self.brokers.ends({place, *places}, {place: offset}))
        end = ends.pop(place)
        if end < offset:
            raise removed_records(*place, offset)
        return end if self.until is None else max(min(end, self.until.get(place, end)), offset)

    def _is_last(self, place: TopicPartition, offset: int) -> bool:
        return self.until is not None and offset >= self.until.get(place, 0)

    def _take(self, place: TopicPartition, offset: int, limit: int, end: int) -> tuple[Bundle, int]:
        if offset >= end:
            return Bundle([]), offset
        try:
            messages, after = consumer_of(self.uid, self.settings, *place).take(offset, limit, end)
        except BaseException:
            forget(self.uid, *place)
            raise
        return self.form.bundle(*place, messages), after


@attrs.frozen
class OffsetRange:
    """A part of a bounded read.

    Attributes:
        topic: the topic.
        partition: number of the partition.
        start: the first offset.
        end: the offset after the last one.
    """

    topic: str
    partition: int
    start: int
    end: int


@attrs.frozen(eq=False)
class BoundedKafkaSource(BoundedSource[Any], ReadsBundles, ReadsTables, HasDisplayData):
    """Topics up to the ends that they have when the run begins, or up to given ends, or a number of records.

    Attributes:
        source: the topics.
        most: maximum number of records; None for all.
        ends: offsets at which partitions end; None for the present ends.
    """

    source: KafkaSource
    most: int | None = None
    ends: Mapping[TopicPartition, int] | None = None

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The brokers and the topics."""
        return self.source.dataset

    def display_data(self) -> dict[str, Any]:
        """Return the topics and the settings, without secrets."""
        return self.source.display_data()

    @property
    def records(self) -> TableRecords | None:
        """How the rows of tables become pairs; None if values are not records of simple types."""
        return self.source.records

    @property
    def why_elements(self) -> str:
        return self.source.why_elements

    def table_source(self) -> BoundedKafkaSource:
        """Return a source whose bundles are tables."""
        return attrs.evolve(self, source=self.source.table_source())

    def partitions(self) -> Sequence[tuple[OffsetRange, ...]]:
        """Return ranges of offsets to read in parallel; one if the number of records is limited."""
        ends = self._ends()
        starts = self.source.brokers.starts(list(ends), self.source.start)
        whole = [OffsetRange(*place, starts[place], end) for place, end in ends.items()]
        self.source.close()
        if self.most is not None:
            return [tuple(whole)]
        return [(part,) for each in whole for part in _parts(each)]

    def _ends(self) -> dict[TopicPartition, int]:
        if self.ends is not None:
            return dict(self.ends)
        return self.source.brokers.ends(self.source.partitions())

    def read(self, partition: Any) -> Iterator[Any]:
        for bundle in self.read_bundles(partition):
            for row in bundle.rows():
                yield TimestampedValue(row.value, Timestamp(micros=row.timestamp))

    def read_bundles(self, partition: Any) -> Iterator[Bundle]:
        """Read the records of ranges."""
        left = self.most
        for each in partition:
            try:
                for bundle in self._bundles(each, left):
                    left = None if left is None else left - len(bundle)
                    yield bundle
            finally:  # another process may read the next part
                forget(self.source.uid, each.topic, each.partition)

    def _bundles(self, part: OffsetRange, most: int | None) -> Iterator[Bundle]:
        at, left, place = part.start, most, (part.topic, part.partition)
        while at < part.end and (left is None or left > 0):
            limit = BUNDLE_OFFSETS if left is None else min(left, BUNDLE_OFFSETS)
            bundle, at = self.source._take(place, at, limit, part.end)
            left = None if left is None else left - len(bundle)
            yield bundle

    def as_stream(self) -> KafkaSource | None:
        """Return a source of partitions with an end; None if the number of records is limited."""
        if self.most is not None:
            return None
        stream = self.source.available_now() if self.ends is None else self.source.up_to(self.ends)
        self.source.close()  # other processes read the stream
        return stream


def _parts(whole: OffsetRange) -> Iterable[OffsetRange]:
    """Return a range in parts of a limited size."""
    for start in range(whole.start, whole.end, RANGE_OFFSETS):
        yield attrs.evolve(whole, start=start, end=min(start + RANGE_OFFSETS, whole.end))
