"""SourceRounds of the sources that Python reads, for a stream that can be replayed.

A round takes so many records from each partition of each source, and notes the watermarks and the
processing time. What tells one round from the next is a :class:`Position`, plain data: it goes into
Spark's offset log, so that after a crash the same round brings the same elements, watermark and clock.
"""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Mapping
from typing import Any, Final, Protocol

import attrs

from headrace.errors import PipelineError, shorten
from headrace.runners.error_context import failing_in
from headrace.runners.source_bundles import bundles_of
from headrace.sdk.encoding import encode_value
from headrace.sdk.graph import Read
from headrace.sdk.io.cursor import Cursor
from headrace.sdk.io.source import BoundedSource
from headrace.sdk.io.test_stream import (
    ElementEvent,
    ProcessingTimeEvent,
    TestStream,
    WatermarkEvent,
)
from headrace.sdk.outputs import as_bundle
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import MAX_MICROS, MIN_MICROS, micros
from headrace.windowing.watermark import FromSource, PartitionedWatermark

FORMAT: Final = 1
"""Version of the positions in the offset log."""


@attrs.frozen
class Partition:
    """How far a partition has been read.

    Attributes:
        offset: where to read on: a number of records, or what an unbounded source said.
        rows: so many records were read in the round that ended here.
        finished: whether there is nothing more.
    """

    offset: Any = None
    rows: int = 0
    finished: bool = False


@attrs.frozen
class ReadPosition:
    """How far a source has been read.

    Attributes:
        names: the partitions, as the source calls them, in the order in which they were first seen.
        partitions: how far each of them has been read.
        watermark: how far the source is complete, in microseconds.
        observed: the state of its watermark estimators, by the partitions' places among the names.
    """

    names: tuple[Any, ...] = ()
    partitions: tuple[Partition, ...] = ()
    watermark: int = MIN_MICROS
    observed: Any = None

    @property
    def done(self) -> bool:
        """Whether all has been read, and the watermark says so."""
        return self.watermark == MAX_MICROS and all(p.finished for p in self.partitions)


@attrs.frozen
class Position:
    """The end of a round.

    Attributes:
        round: number of the round, from 1; 0 is before all rounds.
        now: processing time of the round, in microseconds.
        reads: how far each source has been read, by the label of its Read.
    """

    round: int
    now: int
    reads: Mapping[str, ReadPosition]

    @property
    def done(self) -> bool:
        """Whether all sources are done."""
        return all(read.done for read in self.reads.values())

    @property
    def progress(self) -> dict[str, tuple[Any, ...]]:
        """How far each source is complete, and where its partitions are read on, by label."""
        return {
            label: (read.watermark, *(partition.offset for partition in read.partitions))
            for label, read in self.reads.items()
        }

    @property
    def watermarks(self) -> dict[str, int]:
        """The watermark of each source by label."""
        return {label: read.watermark for label, read in self.reads.items()}

    def as_json(self) -> dict[str, Any]:
        """Return what the offset log keeps: to be read by people, and whole for :func:`position_of`."""
        return {
            "format": FORMAT,
            "round": self.round,
            "now": self.now,
            "watermarks": self.watermarks,
            "position": base64.b64encode(pickle.dumps(self)).decode(),
        }


def position_of(offset: Mapping[str, Any]) -> Position:
    """Return the position that :meth:`Position.as_json` wrote.

    Raises:
        PipelineError: it is of another format, or damaged.
    """
    version = offset.get("format")
    if isinstance(version, int) and version != FORMAT:
        raise PipelineError(
            f"the checkpoint's offsets have format {version}, and this version of Headrace reads "
            f"format {FORMAT}",
            where="the directory offsets in the checkpoint",
            remedy="resume it with the version that wrote it, or start from a new checkpoint",
        )
    try:
        position: Position = pickle.loads(base64.b64decode(offset["position"], validate=True))
    except Exception as error:
        raise PipelineError(
            f"the checkpoint is damaged: an offset cannot be read ({type(error).__name__}: {error})",
            where="the directory offsets in the checkpoint",
            remedy="restore it from a copy, or start from a new checkpoint; if what the source gives as "
            "next_offset is of a class of yours, the class must still be importable",
        ) from error
    return position


class RoundReader(Protocol):
    """A source that is read in rounds."""

    def begin(self) -> ReadPosition:
        """Return the position before the first round."""

    def go_on(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Bundle]]:
        """Read a round."""

    def again(self, before: ReadPosition, after: ReadPosition) -> list[Bundle]:
        """Read what a round has brought before."""

    def passed(self, before: ReadPosition, now: int) -> int:
        """Return the processing time after a round, in microseconds."""


@attrs.define
class PartitionReader:
    """A bounded or unbounded source: so many records of each of its partitions a round."""

    node: Read
    limit: int
    _names: list[Any] = attrs.field(init=False)
    _open: dict[bytes, tuple[int, Cursor]] = attrs.field(factory=dict, init=False)

    @_names.default
    def _partitions(self) -> list[Any]:
        with failing_in(self.node.label):
            return list(self.node.source.partitions())

    def begin(self) -> ReadPosition:
        return self._with_all(ReadPosition())

    def go_on(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Bundle]]:
        before = self._with_all(before)
        names = before.names
        watermarks = PartitionedWatermark(self.node.watermark or FromSource(), range(len(names)))
        if before.observed is not None:
            watermarks.restore(before.observed)
        partitions, bundles = [], []
        for number, partition in enumerate(before.partitions):
            if not partition.finished:
                self._require(names[number])
                records = self._records(names[number], partition.offset, self.limit)
                partition, bundle = self._noted(number, records, watermarks, now)
                bundles.append(bundle)
            partitions.append(partition)
        ended = all(p.finished for p in partitions)
        watermark = MAX_MICROS if ended else watermarks.watermark(now)
        return ReadPosition(names, tuple(partitions), watermark, watermarks.state()), bundles

    def again(self, before: ReadPosition, after: ReadPosition) -> list[Bundle]:
        starts = dict(zip(map(encode_value, before.names), before.partitions, strict=True))
        found = []
        for name, end in zip(after.names, after.partitions, strict=True):
            start = starts.get(encode_value(name), Partition())
            if end.rows and not start.finished:
                self._require(name)
                found.append(self._again(name, start.offset, end.rows))
        return found

    def _again(self, name: Any, offset: Any, rows: int) -> Bundle:
        records, *_ = self._records(name, offset, rows)
        bundle = Cursor(iter([as_bundle(records)])).take(rows)
        if len(bundle) < rows:
            raise PipelineError(
                f"the source gave {rows} records of the partition {shorten(name)} before the restart, "
                f"and gives {len(bundle)} now, from the same offset {shorten(offset)}",
                where=self.node.label,
                remedy="a source must give the same records again: restore what it has lost, or start "
                "from a new checkpoint",
            )
        return bundle

    def passed(self, before: ReadPosition, now: int) -> int:
        return now

    def _with_all(self, position: ReadPosition) -> ReadPosition:
        """Add partitions that are new; they are read from their beginnings."""
        known = set(map(encode_value, position.names))
        new = [name for name in self._names if encode_value(name) not in known]
        if not new:
            return position
        return attrs.evolve(
            position,
            names=(*position.names, *new),
            partitions=(*position.partitions, *(Partition() for _ in new)),
        )

    def _require(self, name: Any) -> None:
        """Refuse to go on without a partition that has not come to its end."""
        if encode_value(name) not in map(encode_value, self._names):
            raise PipelineError(
                f"the source has no partition {shorten(name)} any more, and it was not read to its end",
                where=self.node.label,
                remedy="bring it back, or start from a new checkpoint; partitions may be added, and those "
                "that are finished may go",
            )

    def _noted(
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

    def _records(self, name: Any, offset: Any, limit: int) -> tuple[Any, Any, Any, bool]:
        source = self.node.source
        with failing_in(self.node.label):
            if isinstance(source, BoundedSource):
                return self._bounded(name, offset or 0, limit)
            batch = source.read(name, offset, limit)
            return batch.records, batch.next_offset, batch.watermark, batch.finished

    def _bounded(self, name: Any, offset: int, limit: int) -> tuple[Any, Any, Any, bool]:
        """Read on where the last round ended; from the beginning, if that was another process."""
        at, cursor = self._open.get(encode_value(name), (-1, None))
        if cursor is None or at != offset:
            cursor = Cursor(bundles_of(self.node.source, name))
            cursor.skip(offset)
        chunk = cursor.take(limit)
        self._open[encode_value(name)] = offset + len(chunk), cursor
        return chunk, offset + len(chunk), None, len(chunk) < limit


@attrs.define
class ScriptReader:
    """A test stream: one event of its script a round; processing time is the script's."""

    stream: TestStream

    def begin(self) -> ReadPosition:
        return ReadPosition((None,), (Partition(0, finished=not self.stream.events),))

    def go_on(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Bundle]]:
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

    def again(self, before: ReadPosition, after: ReadPosition) -> list[Bundle]:
        (start,) = before.partitions
        return [] if start.finished else self._bundles(start)

    def passed(self, before: ReadPosition, now: int) -> int:
        (start,) = before.partitions
        event = None if start.finished else self.stream.events[start.offset]
        return now + event.advance_by.micros if isinstance(event, ProcessingTimeEvent) else now

    def _bundles(self, start: Partition) -> list[Bundle]:
        event = self.stream.events[start.offset]
        return [event.bundle] if isinstance(event, ElementEvent) else []


@attrs.define
class NativeReader:
    """A source that Spark reads itself: nothing is known here but that it goes on, until it is drained."""

    def begin(self) -> ReadPosition:
        return ReadPosition((Partition(),))

    def go_on(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Bundle]]:
        return before, []

    def again(self, before: ReadPosition, after: ReadPosition) -> list[Bundle]:
        return []

    def passed(self, before: ReadPosition, now: int) -> int:
        return now


@attrs.define
class SourceRounds:
    """The rounds of several sources that start together.

    Args:
        reads: the Read nodes.
        limit: at most so many records of a partition a round.
        heartbeat: where nothing comes, a round comes after so many microseconds all the same.
        natives: labels of sources that Spark reads itself.
    """

    reads: tuple[Read, ...]
    limit: int
    heartbeat: int
    natives: tuple[str, ...] = ()
    _readings: dict[str, RoundReader] = attrs.field(init=False)
    _scripted: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Look at the sources."""
        self._scripted = any(isinstance(node.source, TestStream) for node in self.reads)
        self._readings = {
            node.label: ScriptReader(node.source)
            if isinstance(node.source, TestStream)
            else PartitionReader(node, self.limit)
            for node in self.reads
        }
        self._readings.update((label, NativeReader()) for label in self.natives)

    def begin(self) -> Position:
        """Return the position before all rounds."""
        now = 0 if self._scripted else _wall()
        return Position(0, now, {label: r.begin() for label, r in self._readings.items()})

    def go_on(self, before: Position) -> tuple[Position, dict[str, list[Bundle]]]:
        """Read a round; the position stays where it is if there is nothing new to tell."""
        if before.round and self.over(before):
            return before, {}
        now = self._now(before)
        reads, bundles = {}, {}
        for label, reading in self._readings.items():
            start = self._start(before, label)
            reads[label], bundles[label] = reading.go_on(start, now)
            now = reading.passed(start, now)
        after = Position(before.round + 1, now, reads)
        quiet = after.progress == before.progress and not any(map(_rows, bundles.values()))
        if quiet and not self._scripted and now - before.now < self.heartbeat and not after.done:
            return before, {}
        return after, bundles

    def again(self, before: Position, after: Position) -> dict[str, list[Bundle]]:
        """Read what a round has brought before."""
        return {
            label: reading.again(self._start(before, label), after.reads[label])
            for label, reading in self._readings.items()
            if label in after.reads
        }

    def _start(self, before: Position, label: str) -> ReadPosition:
        """Return where a source is to be read on: from its beginning, if it is new."""
        return before.reads.get(label) or self._readings[label].begin()

    def over(self, position: Position) -> bool:
        """Tell whether no source has anything more to say."""
        if not self._scripted:
            return position.done and all(label in position.reads for label in self._readings)
        ended = (p.finished for read in position.reads.values() for p in read.partitions)
        return all(ended)

    def _now(self, before: Position) -> int:
        return before.now if self._scripted else max(before.now, _wall())


def drained(position: Position) -> Position:
    """Return the position of a round that brings nothing more, with all watermarks at the end of time."""
    reads = {
        label: attrs.evolve(
            read,
            partitions=tuple(attrs.evolve(p, rows=0, finished=True) for p in read.partitions),
            watermark=MAX_MICROS,
        )
        for label, read in position.reads.items()
    }
    return Position(position.round + 1, position.now, reads)


def _rows(bundles: list[Bundle]) -> int:
    return sum(map(len, bundles))


def _wall() -> int:
    return time.time_ns() // 1000
