"""Source rounds: how the local runner and Spark's driver read the sources of a stream.

A round reads at most N records from each partition of each source. N is fixed, or follows a target time
(:mod:`headrace.runners.sources.batch_size`). The watermarks and the processing time after a round are in a
:class:`~headrace.runners.sources.source_positions.Position`. The elements between two positions are always
the same. In each round a test stream plays one event of its script.

What a round reads is bundles; or, of a source that the workers read, ranges
(:class:`~headrace.runners.sources.source_ranges.SourceRange`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable
from typing import Any, Protocol

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.error_context import label_errors
from headrace.runners.sources.batch_size import BatchDelivery, BatchSizer, MeasuredBatch, RoundSize
from headrace.runners.sources.partition_reader import PartitionReader
from headrace.runners.sources.source_bundles import event_bundle
from headrace.runners.sources.source_positions import (
    Partition,
    Position,
    ReadPosition,
    drained,
    idle,
)
from headrace.runners.sources.source_ranges import (
    NO_WORKER_READS,
    RangeReader,
    SourceRange,
    WorkerReads,
)
from headrace.sdk.metrics.cells import MetricsContainer
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.sources.scripted_stream import (
    ElementEvent,
    ProcessingTimeEvent,
    TestStream,
    WatermarkEvent,
)
from headrace.triggers.trigger import NEVER


def wall_micros() -> int:
    """Return the current time in microseconds since 1970."""
    return time.time_ns() // 1000


class RoundReader(Protocol):
    """A source that is read in rounds."""

    def start(self) -> ReadPosition:
        """Return the position before the first round."""

    def read(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Any]]:
        """Read a round: bundles or ranges."""

    def replay(self, before: ReadPosition, after: ReadPosition) -> list[Any]:
        """Read the elements of a round again."""

    def time_after(self, before: ReadPosition, now: int) -> int:
        """Return the processing time after a round, in microseconds."""


@attrs.define
class ScriptReader:
    """A test stream: each round plays one event of its script, which also sets the processing time.

    Args:
        stream: the stream.
        moves_clock: whether the script sets the processing time; of streams that share a clock, one does.
        tables: whether its elements are read as tables.
    """

    stream: TestStream
    moves_clock: bool = True
    tables: bool = False

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
        idle = start.finished or not self.moves_clock
        event = None if idle else self.stream.events[start.offset]
        return now + event.advance_by.micros if isinstance(event, ProcessingTimeEvent) else now

    def _bundles(self, start: Partition) -> list[Bundle]:
        event = self.stream.events[start.offset]
        if not isinstance(event, ElementEvent):
            return []
        return [event_bundle(self.stream, event.bundle, self.tables)]


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
        workers: the sources that the workers read; of these a round has ranges instead of bundles.
        seconds: the target time of a batch; 0 to read up to the limit in each round. Rounds with a test
            stream have none.
        timer: the clock that measures batches, in seconds.
        delivery: returns what is known of the last batch, from the current time of the timer.
        tables: labels of sources that are read as tables, because the next steps work on columns.
    """

    reads: tuple[Read, ...]
    limit: int
    heartbeat: int
    until_caught_up: bool = False
    natives: tuple[str, ...] = ()
    wall: Callable[[], int] = wall_micros
    workers: WorkerReads = NO_WORKER_READS
    seconds: float = 0.0
    timer: Callable[[], float] = time.time
    delivery: Callable[[float], BatchDelivery] = BatchDelivery
    tables: Container[str] = ()
    _readers: dict[str, RoundReader] = attrs.field(init=False)
    scripted: bool = attrs.field(init=False)
    _sizer: BatchSizer = attrs.field(init=False)
    _running: tuple[float, MeasuredBatch] | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the readers of the sources."""
        self.scripted = any(isinstance(node.source, TestStream) for node in self.reads)
        self._sizer = BatchSizer(RoundSize(self.limit, 0.0 if self.scripted else self.seconds))
        self._readers = {node.label: self._reader(node) for node in self.reads}
        self._share_clocks()
        self._readers.update((label, NativeReader()) for label in self.natives)

    def _reader(self, node: Read) -> RoundReader:
        if isinstance(node.source, TestStream):
            return ScriptReader(node.source, tables=node.label in self.tables)
        if node.label in self.workers.labels:
            observed = node.label in self.workers.observed
            return RangeReader(node, self.limit, self.until_caught_up, is_observed=observed)
        tables = node.label in self.tables
        return PartitionReader(node, self.limit, self.until_caught_up, tables=tables)

    def _share_clocks(self) -> None:
        """Let only the first of the streams that share a clock advance it."""
        owners = set()
        for reader in self._readers.values():
            owner = reader.stream.clock_owner if isinstance(reader, ScriptReader) else None
            if isinstance(reader, ScriptReader) and owner is not None:
                reader.moves_clock = owner not in owners
                owners.add(owner)

    def start(self) -> Position:
        """Return the position before all rounds."""
        now = 0 if self.scripted else self.wall()
        return Position(0, now, {label: r.start() for label, r in self._readers.items()})

    def read(self, before: Position, due: int = NEVER) -> tuple[Position, dict[str, list[Any]]]:
        """Read a round; return the same position if no source has changed.

        Args:
            before: the position before the round.
            due: the processing time at which there is a round even if no source has changed.
        """
        started = self._end_batch()
        if before.round and self.is_finished(before):
            return before, {}
        now = self._now(before)
        self._end_with_scripts(before)
        limit = self._set_limit(before)
        reads, bundles = {}, {}
        for label, reader in self._readers.items():
            start = self._start(before, label)
            if self._must_wait(reader, before) and isinstance(reader, PartitionReader):
                reader.limit = 0
            with label_errors(label):
                read, bundles[label] = reader.read(start, now)
            reads[label] = read.after(start)
            now = reader.time_after(start, now)
        after = Position(before.round + 1, now, reads, limit)
        unchanged = after.progress == before.progress and not any(map(_rows, bundles.values()))
        waits = now < min(before.now + self.heartbeat, due) and not after.done
        if unchanged and not self.scripted and waits:
            return before, {}
        self._start_batch(started, limit, bundles.values())
        return after, bundles

    def idle(self, before: Position, due: int) -> Position:
        """Return the position after a round without records, for restrictions, when they are due.

        The same position if they are not due yet. After a script the clock goes to the time that is due.

        Args:
            before: the position before the round; all sources are finished.
            due: the processing time at which a restriction goes on; NEVER if all have ended.
        """
        now = before.now if self.scripted else self._now(before)
        now = max(now, due) if self.scripted and due != NEVER else now
        return idle(before, now) if due <= now else before

    def drained(self, before: Position) -> Position:
        """Return the position after a last round without records, also of sources that are new."""
        reads = {label: self._start(before, label) for label in self._readers}
        return drained(attrs.evolve(before, reads=reads))

    def note_size(self, size: int) -> None:
        """Note the size of the last round, in bytes as its records are sent to the workers."""
        if self._running is not None:
            started, batch = self._running
            self._running = started, attrs.evolve(batch, size=size)

    def lags(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Return the gauges of the sources that tell their lag, by label, for the last round."""
        readers = self._readers.items()
        return {label: r.take_lags() for label, r in readers if isinstance(r, PartitionReader)}

    def recorded(self) -> dict[str, MetricsContainer]:
        """Return the metrics that the sources have recorded since the last call, by label."""
        readers = self._readers.items()
        found = {label: r.recorded for label, r in readers if isinstance(r, PartitionReader)}
        return {label: c.drain() for label, c in found.items() if c != MetricsContainer()}

    def committed(self, position: Position) -> None:
        """Tell the sources that all results up to a position have been written."""
        for label, reader in self._readers.items():
            if isinstance(reader, PartitionReader) and label in position.reads:
                with label_errors(label):
                    reader.committed(position.reads[label])

    def close(self) -> None:
        """Close the connections of the sources in this process."""
        for reader in self._readers.values():
            if isinstance(reader, PartitionReader):
                reader.close()

    def _set_limit(self, before: Position) -> int:
        """Let a round read as many records of a partition as the last batches tell; return that number."""
        if not self._sizer.follows_time:
            self._give_limit(self.limit)
            return self.limit
        starts = (self._start(before, label) for label in self._readers)
        partitions = sum(not p.finished for start in starts for p in start.partitions)
        limit = self._sizer.limit(before.limit, partitions)
        self._give_limit(limit)
        return limit

    def _give_limit(self, limit: int) -> None:
        for reader in self._readers.values():
            if isinstance(reader, PartitionReader):
                reader.limit = limit

    def _must_wait(self, reader: RoundReader, before: Position) -> bool:
        """Return whether a source must wait for others that have not ended."""
        others = reader.after if isinstance(reader, PartitionReader) else ()
        return not all(label in before.reads and before.reads[label].done for label in others)

    def _start_batch(self, started: float, limit: int, found: Iterable[list[object]]) -> None:
        if not self._sizer.follows_time:
            return
        counts = [count for each in found for count in _by_partition(each)]
        batch = MeasuredBatch(limit, sum(counts), max(counts, default=0), 0.0)
        self._running = started, batch

    def _end_batch(self) -> float:
        """Measure the batch that has run since the last round; return the current time."""
        now = self.timer()
        if self._running is not None:
            started, batch = self._running
            done = self.delivery(now)
            seconds, size = max(done.at - started, 0.0), batch.size + done.size
            self._sizer.add(attrs.evolve(batch, seconds=seconds, size=size))
            self._running = None
        return now

    def _end_with_scripts(self, before: Position) -> None:
        """After the last event of test streams, end the other sources when their records are read.

        The clock stands still then, so that a source that waits for it would never end.
        """
        scripts = [label for label, r in self._readers.items() if isinstance(r, ScriptReader)]
        if scripts and all(self._start(before, s).partitions[0].finished for s in scripts):
            for reader in self._readers.values():
                if isinstance(reader, PartitionReader):
                    reader.until_caught_up = True

    def replay(self, before: Position, after: Position) -> dict[str, list[Any]]:
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


def _by_partition(found: list[Any]) -> Iterable[int]:
    """Return the number of records of each partition in a round: of a bundle each, or of several ranges."""
    counts: Counter[int] = Counter()
    for index, each in enumerate(found):
        counts[each.number if isinstance(each, SourceRange) else index] += len(each)
    return counts.values()


def _rows(bundles: list[Any]) -> int:
    return sum(map(len, bundles))
