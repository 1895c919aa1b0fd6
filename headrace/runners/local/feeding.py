"""Feeds: what each source has to say in a round, bundles and a watermark.

In batch mode a bounded source is read to its end in one round. In streaming mode each round takes so many
records from each partition, which a watermark policy observes; a test stream says one event of its script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

import attrs

from headrace.runners.error_context import failing_in
from headrace.runners.local.clock import ProcessingClock, ScriptedClock
from headrace.runners.source_bundles import bundles_of
from headrace.sdk.graph import Read
from headrace.sdk.io.cursor import Cursor
from headrace.sdk.io.source import Batch, BoundedSource, ReadsBundles, UnboundedSource
from headrace.sdk.io.test_stream import (
    ElementEvent,
    Event,
    ProcessingTimeEvent,
    TestStream,
    WatermarkEvent,
)
from headrace.sdk.outputs import as_bundle
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import MAX_MICROS, MIN_MICROS, micros
from headrace.windowing.watermark import FromSource, PartitionedWatermark


class Feed(Protocol):
    """A source at work."""

    @property
    def watermark(self) -> int:
        """How far the source is complete after what was polled, in microseconds."""

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""

    def poll(self, now: int) -> Iterable[Bundle]:
        """Return what the source has for this round, at a processing time in microseconds."""

    def drain(self) -> None:
        """Read no further: what has been read is all there is."""


@attrs.define(eq=False)
class WholeFeed:
    """A bounded source, read to its end in one round."""

    source: BoundedSource[Any]
    watermark: int = MIN_MICROS
    done: bool = False

    def poll(self, now: int) -> Iterator[Bundle]:
        """Read everything, a bundle at a time."""
        for partition in self.source.partitions():
            yield from bundles_of(self.source, partition)
        self.drain()

    def drain(self) -> None:
        """Be done."""
        self.watermark, self.done = MAX_MICROS, True


@attrs.define(eq=False)
class PartitionFeed:
    """A source in streaming mode: so many records of each of its partitions a round."""

    readers: dict[int, Reader]
    watermarks: PartitionedWatermark
    limit: int
    watermark: int = MIN_MICROS

    @property
    def done(self) -> bool:
        """Whether all partitions have come to their ends, and the watermark has been told so."""
        return not self.readers and self.watermark == MAX_MICROS

    def poll(self, now: int) -> Iterator[Bundle]:
        """Read on in each partition."""
        for partition, reader in list(self.readers.items()):
            batch = reader(self.limit)
            if batch.records:
                bundle = as_bundle(batch.records)
                self.watermarks.observe(partition, bundle.timestamps, len(bundle), now)
                yield bundle
            if batch.watermark is not None:
                self.watermarks.report(partition, micros(batch.watermark))
            if batch.finished:
                self.watermarks.finish(partition)
                self.readers.pop(partition, None)  # it is gone if the source was drained meanwhile
        self.watermark = self.watermarks.watermark(now) if self.readers else MAX_MICROS

    def drain(self) -> None:
        """Read no further: what has been read is all there is."""
        self.readers.clear()


@attrs.define(eq=False)
class ScriptFeed:
    """A test stream: one event of its script a round; processing time is the script's."""

    events: Iterator[Event]
    clock: ScriptedClock
    left: int
    watermark: int = MIN_MICROS

    @property
    def done(self) -> bool:
        """Whether the script has come to its end."""
        return self.left <= 0

    def poll(self, now: int) -> Iterator[Bundle]:
        """Do what the next event says."""
        if self.done:
            return
        self.left -= 1
        match next(self.events, None):
            case ElementEvent() as event:
                yield event.bundle
            case WatermarkEvent(new_watermark=watermark):
                self.watermark = watermark.micros
            case ProcessingTimeEvent(advance_by=step):
                self.clock.time += step.micros

    def drain(self) -> None:
        """Leave out the rest of the script, and end it."""
        self.watermark, self.left = MAX_MICROS, 0


def feed_for(node: Read, batch: bool, clock: ProcessingClock, limit: int) -> Feed:
    """Return the feed of a Read.

    Args:
        node: the node.
        batch: whether it is to be read in one round.
        clock: the clock of the run; with test streams it is theirs.
        limit: at most so many records of a partition a round.
    """
    source = node.source
    if isinstance(source, TestStream):
        assert isinstance(clock, ScriptedClock)
        return ScriptFeed(iter(source.events), clock, len(source.events))
    if batch:
        return WholeFeed(source)
    reader = _bounded_reader if isinstance(source, BoundedSource) else _unbounded_reader
    with failing_in(node.label):
        readers = {n: reader(source, p) for n, p in enumerate(source.partitions())}
    policy = node.watermark or FromSource()
    return PartitionFeed(readers, PartitionedWatermark(policy, list(readers)), limit)


Reader = Callable[[int], Batch[Any]]
"""Reads on in a partition: at most so many records."""


def _bounded_reader(source: BoundedSource[Any], partition: Any) -> Reader:
    return (
        _by_bundles(source, partition)
        if isinstance(source, ReadsBundles)
        else _by_records(source, partition)
    )


def _by_bundles(source: ReadsBundles, partition: Any) -> Reader:
    cursor = Cursor(source.read_bundles(partition))

    def read(limit: int) -> Batch[Any]:
        bundle = cursor.take(limit)
        return Batch(bundle, None, finished=len(bundle) < limit)

    return read


def _by_records(source: BoundedSource[Any], partition: Any) -> Reader:
    records = iter(source.read(partition))

    def read(limit: int) -> Batch[Any]:
        chunk = list(islice(records, limit))
        return Batch(chunk, None, finished=len(chunk) < limit)

    return read


def _unbounded_reader(source: UnboundedSource[Any], partition: Any) -> Reader:
    offset: Any = None

    def read(limit: int) -> Batch[Any]:
        nonlocal offset
        batch = source.read(partition, offset, limit)
        offset = batch.next_offset
        return batch

    return read
