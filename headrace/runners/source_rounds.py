"""Source rounds: how the local runner and Spark's driver read the sources of a stream.

A round reads at most N records from each partition of each source. The watermarks and the processing time
after it are in a :class:`~headrace.runners.source_positions.Position`. The elements between two positions
are always the same. In each round a test stream plays one event of its script.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import attrs

from headrace.errors import PipelineError, shorten
from headrace.runners.error_context import label_errors
from headrace.runners.source_bundles import bundles_of
from headrace.runners.source_positions import Partition, Position, ReadPosition
from headrace.sdk.encoding import encode_value
from headrace.sdk.graph import Read
from headrace.sdk.io.cursor import Cursor
from headrace.sdk.io.test_stream import (
    ElementEvent,
    ProcessingTimeEvent,
    TestStream,
    WatermarkEvent,
)
from headrace.sdk.outputs import as_bundle
from headrace.sdk.source import Batch, BoundedSource, ReadsClock
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import MAX_MICROS, micros
from headrace.windowing.watermark import FromSource, PartitionedWatermark


def wall_micros() -> int:
    """Return the current time in microseconds since 1970."""
    return time.time_ns() // 1000


class RoundReader(Protocol):
    """A source that is read in rounds."""

    def start(self) -> ReadPosition:
        """Return the position before the first round."""

    def read(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Bundle]]:
        """Read a round."""

    def replay(self, before: ReadPosition, after: ReadPosition) -> list[Bundle]:
        """Read the elements of a round again."""

    def time_after(self, before: ReadPosition, now: int) -> int:
        """Return the processing time after a round, in microseconds."""


@attrs.define
class PartitionReader:
    """A bounded or unbounded source: a round reads at most N records of each partition."""

    node: Read
    limit: int
    until_caught_up: bool
    _source: Any = attrs.field(init=False)
    _names: list[Any] = attrs.field(init=False)
    _open: dict[bytes, tuple[int, Cursor]] = attrs.field(factory=dict, init=False)
    _watermarks: tuple[Any, PartitionedWatermark | None] = attrs.field(
        default=(None, None), init=False
    )

    @_source.default
    def _source_to_read(self) -> Any:
        source = self.node.source
        if not self.until_caught_up or isinstance(source, BoundedSource):
            return source
        with label_errors(self.node.label):
            return source.available_now()

    @_names.default
    def _partitions(self) -> list[Any]:
        with label_errors(self.node.label):
            return list(self._source.partitions())

    def start(self) -> ReadPosition:
        return self._with_new_partitions(ReadPosition())

    def read(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Bundle]]:
        before = self._with_new_partitions(before)
        names = before.names
        watermarks = self._watermarks_at(before)
        partitions, bundles = [], []
        for number, partition in enumerate(before.partitions):
            if not partition.finished:
                self._require_partition(names[number])
                records = self._records(names[number], partition.offset, self.limit, now)
                partition, bundle = self._observe(number, records, watermarks, now)
                bundles.append(bundle)
            partitions.append(partition)
        ended = all(p.finished for p in partitions)
        watermark = MAX_MICROS if ended else watermarks.watermark(now)
        observed = watermarks.state()
        self._watermarks = observed, watermarks
        return ReadPosition(names, tuple(partitions), watermark, observed), bundles

    def _watermarks_at(self, position: ReadPosition) -> PartitionedWatermark:
        """Return the watermark estimators at a position; those in memory, if they have its state."""
        observed, watermarks = self._watermarks
        partitions = range(len(position.names))
        if watermarks is None or observed is not position.observed:
            watermarks = PartitionedWatermark(self.node.watermark or FromSource(), partitions)
            if position.observed is not None:
                watermarks.restore(position.observed)
        for partition in partitions:
            watermarks.add(partition)
        return watermarks

    def replay(self, before: ReadPosition, after: ReadPosition) -> list[Bundle]:
        starts = dict(zip(map(encode_value, before.names), before.partitions, strict=True))
        found = []
        for name, end in zip(after.names, after.partitions, strict=True):
            start = starts.get(encode_value(name), Partition())
            if end.rows and not start.finished:
                self._require_partition(name)
                found.append(self._replay(name, start.offset, end.rows))
        return found

    def _replay(self, name: Any, offset: Any, rows: int) -> Bundle:
        records, *_ = self._records(name, offset, rows, MAX_MICROS)
        bundle = Cursor(iter([as_bundle(records)])).take(rows)
        if len(bundle) < rows:
            raise PipelineError(
                f"the source returned {rows} records of the partition {shorten(name)} before the restart, "
                f"but returns {len(bundle)} now, from the same offset {shorten(offset)}",
                where=self.node.label,
                remedy="a source must return the same records again: restore the missing ones, or start "
                "from a new checkpoint",
            )
        return bundle

    def time_after(self, before: ReadPosition, now: int) -> int:
        return now

    def _with_new_partitions(self, position: ReadPosition) -> ReadPosition:
        """Add new partitions, which are read from their start."""
        known = set(map(encode_value, position.names))
        new = [name for name in self._names if encode_value(name) not in known]
        if not new:
            return position
        return attrs.evolve(
            position,
            names=(*position.names, *new),
            partitions=(*position.partitions, *(Partition() for _ in new)),
        )

    def _require_partition(self, name: Any) -> None:
        """Raise an error if a partition that was not read to its end no longer exists."""
        if encode_value(name) not in map(encode_value, self._names):
            raise PipelineError(
                f"the source no longer has the partition {shorten(name)}, which was not read to its end",
                where=self.node.label,
                remedy="restore the partition, or start from a new checkpoint; partitions may be added, and "
                "finished partitions may be removed",
            )

    def _observe(
        self,
        number: int,
        read: tuple[Any, Any, Any, bool],
        watermarks: PartitionedWatermark,
        now: int,
    ) -> tuple[Partition, Bundle]:
        records, offset, reported, finished = read
        bundle = as_bundle(records)
        watermarks.observe(number, bundle.timestamps, len(bundle), now)
        if reported is not None:
            watermarks.report(number, micros(reported))
        if finished:
            watermarks.finish(number)
        return Partition(offset, len(bundle), finished), bundle

    def _records(self, name: Any, offset: Any, limit: int, now: int) -> tuple[Any, Any, Any, bool]:
        with label_errors(self.node.label):
            if isinstance(self._source, BoundedSource):
                return self._bounded(name, offset or 0, limit)
            batch = self._batch(name, offset, limit, now)
            caught_up = not len(batch.records) and batch.next_offset == offset
            finished = batch.finished or (self.until_caught_up and caught_up)
            return batch.records, batch.next_offset, batch.watermark, finished

    def _batch(self, name: Any, offset: Any, limit: int, now: int) -> Batch[Any]:
        if isinstance(self._source, ReadsClock):
            return self._source.read_until(name, offset, limit, now)
        batch: Batch[Any] = self._source.read(name, offset, limit)
        return batch

    def _bounded(self, name: Any, offset: int, limit: int) -> tuple[Any, Any, Any, bool]:
        """Continue after the last round; in a new process, read from the start up to the offset first."""
        at, cursor = self._open.get(encode_value(name), (-1, None))
        if cursor is None or at != offset:
            cursor = Cursor(bundles_of(self._source, name))
            cursor.skip(offset)
        chunk = cursor.take(limit)
        self._open[encode_value(name)] = offset + len(chunk), cursor
        return chunk, offset + len(chunk), None, len(chunk) < limit


@attrs.define
class ScriptReader:
    """A test stream: each round plays one event of its script, which also sets the processing time."""

    stream: TestStream

    def start(self) -> ReadPosition:
        return ReadPosition((None,), (Partition(0, finished=not self.stream.events),))

    def read(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Bundle]]:
        (start,) = before.partitions
        if start.finished:
            return before, []
        event = self.stream.events[start.offset]
        watermark = before.watermark
        if isinstance(event, WatermarkEvent):
            watermark = event.new_watermark.micros
        finished = start.offset + 1 == len(self.stream.events)
        end = Partition(start.offset + 1, finished=finished)
        return attrs.evolve(before, partitions=(end,), watermark=watermark), self._bundles(start)

    def replay(self, before: ReadPosition, after: ReadPosition) -> list[Bundle]:
        (start,) = before.partitions
        return [] if start.finished else self._bundles(start)

    def time_after(self, before: ReadPosition, now: int) -> int:
        (start,) = before.partitions
        event = None if start.finished else self.stream.events[start.offset]
        return now + event.advance_by.micros if isinstance(event, ProcessingTimeEvent) else now

    def _bundles(self, start: Partition) -> list[Bundle]:
        event = self.stream.events[start.offset]
        return [event.bundle] if isinstance(event, ElementEvent) else []


@attrs.define
class NativeReader:
    """A source that Spark reads itself; here it has no elements, and no end until it is drained."""

    def start(self) -> ReadPosition:
        return ReadPosition(partitions=(Partition(),))

    def read(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Bundle]]:
        return before, []

    def replay(self, before: ReadPosition, after: ReadPosition) -> list[Bundle]:
        return []

    def time_after(self, before: ReadPosition, now: int) -> int:
        return now


@attrs.define
class SourceRounds:
    """The rounds of several sources that start together.

    Args:
        reads: the Read nodes.
        limit: maximum number of records per partition and round.
        heartbeat: maximum idle time between rounds, in microseconds.
        until_caught_up: whether sources end when all their present records are read.
        natives: labels of sources that Spark reads itself.
        wall: the wall clock, in microseconds since 1970; test streams use the time of their scripts.
    """

    reads: tuple[Read, ...]
    limit: int
    heartbeat: int
    until_caught_up: bool = False
    natives: tuple[str, ...] = ()
    wall: Callable[[], int] = wall_micros
    _readers: dict[str, RoundReader] = attrs.field(init=False)
    scripted: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Make the readers of the sources."""
        self.scripted = any(isinstance(node.source, TestStream) for node in self.reads)
        self._readers = {
            node.label: ScriptReader(node.source)
            if isinstance(node.source, TestStream)
            else PartitionReader(node, self.limit, self.until_caught_up)
            for node in self.reads
        }
        self._readers.update((label, NativeReader()) for label in self.natives)

    def start(self) -> Position:
        """Return the position before all rounds."""
        now = 0 if self.scripted else self.wall()
        return Position(0, now, {label: r.start() for label, r in self._readers.items()})

    def read(self, before: Position) -> tuple[Position, dict[str, list[Bundle]]]:
        """Read a round; return the same position if no source has changed."""
        if before.round and self.is_finished(before):
            return before, {}
        now = self._now(before)
        self._end_with_scripts(before)
        reads, bundles = {}, {}
        for label, reader in self._readers.items():
            start = self._start(before, label)
            with label_errors(label):
                reads[label], bundles[label] = reader.read(start, now)
            now = reader.time_after(start, now)
        after = Position(before.round + 1, now, reads)
        unchanged = after.progress == before.progress and not any(map(_rows, bundles.values()))
        if unchanged and not self.scripted and now - before.now < self.heartbeat and not after.done:
            return before, {}
        return after, bundles

    def _end_with_scripts(self, before: Position) -> None:
        """After the last event of test streams, end the other sources when their records are read.

        The clock stands still then, so that a source that waits for it would never end.
        """
        scripts = [label for label, r in self._readers.items() if isinstance(r, ScriptReader)]
        if scripts and all(self._start(before, s).partitions[0].finished for s in scripts):
            for reader in self._readers.values():
                if isinstance(reader, PartitionReader):
                    reader.until_caught_up = True

    def replay(self, before: Position, after: Position) -> dict[str, list[Bundle]]:
        """Read the elements of a round again."""
        return {
            label: reader.replay(self._start(before, label), after.reads[label])
            for label, reader in self._readers.items()
            if label in after.reads
        }

    def _start(self, before: Position, label: str) -> ReadPosition:
        """Return the position of a source; the start, if the source is new."""
        return before.reads.get(label) or self._readers[label].start()

    def is_finished(self, position: Position) -> bool:
        """Return whether all sources are finished."""
        if not self.scripted:
            return position.done and all(label in position.reads for label in self._readers)
        ended = (p.finished for read in position.reads.values() for p in read.partitions)
        return all(ended)

    def _now(self, before: Position) -> int:
        return before.now if self.scripted else max(before.now, self.wall())


def _rows(bundles: list[Bundle]) -> int:
    return sum(map(len, bundles))
