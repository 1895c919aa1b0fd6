"""Reads the partitions of a source in rounds, at most N records of each, and estimates its watermark."""

from __future__ import annotations

from typing import Any

import attrs

from headrace.errors import PipelineError, shorten
from headrace.grouping.bundle import Bundle
from headrace.runners.error_context import label_errors
from headrace.runners.sources.source_bundles import bundles_of
from headrace.runners.sources.source_positions import Partition, ReadPosition
from headrace.runners.sources.streams import stream_of
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.io.cursor import Cursor
from headrace.sdk.metrics.cells import MetricsContainer, recording
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.sources.source import Batch, BoundedSource, ReadsClock, UnboundedSource
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    MICROS_PER_SECOND,
    MIN_MICROS,
    micros,
)
from headrace.windowing.watermarks.policies import FromSource, PartitionedWatermark, WatermarkPolicy


@attrs.define
class PartitionReader:
    """A bounded or unbounded source: a round reads at most N records of each partition.

    Attributes:
        tables: whether a bounded source is read as tables.
        recorded: the metrics that the source has recorded in this process.
    """

    node: Read
    limit: int
    until_caught_up: bool
    tables: bool = False
    recorded: MetricsContainer = attrs.field(factory=MetricsContainer, init=False)
    _source: BoundedSource[object] | UnboundedSource[object] = attrs.field(init=False)
    _names: list[object] = attrs.field(init=False)
    _asked: int = attrs.field(default=MIN_MICROS, init=False)
    _backlogs: dict[str, int] = attrs.field(factory=dict, init=False)
    _open: dict[bytes, tuple[int, Cursor]] = attrs.field(factory=dict, init=False)
    _watermarks: tuple[object, PartitionedWatermark | None] = attrs.field(
        default=(None, None), init=False
    )

    @_source.default
    def _source_to_read(self) -> BoundedSource[object] | UnboundedSource[object]:
        source = self.node.source
        assert not isinstance(source, TestStream)  # a script has a reader of its own
        if isinstance(source, BoundedSource):
            with label_errors(self.node.label):
                return stream_of(source, self.tables)
        if not self.until_caught_up:
            return source
        with label_errors(self.node.label):
            return source.available_now()

    @_names.default
    def _partitions(self) -> list[object]:
        return self._ask_partitions()

    def _ask_partitions(self) -> list[object]:
        with label_errors(self.node.label):
            return list(self._source.partitions())

    @property
    def after(self) -> tuple[str, ...]:
        """The labels of the reads that must have ended before this one begins."""
        return getattr(self._source, "after", ())

    def committed(self, position: ReadPosition) -> None:
        """Tell the source that the results of all records up to a position have been written."""
        if isinstance(self._source, UnboundedSource):
            ends = zip(position.names, position.partitions, strict=True)
            self._source.committed([(name, end.offset) for name, end in ends])

    def close(self) -> None:
        """Close the connections of the source in this process."""
        if isinstance(self._source, UnboundedSource):
            self._source.close()

    def take_lags(self) -> tuple[tuple[str, int], ...]:
        """Return the gauges of the round: the lag of the source, and of each of its partitions."""
        found, self._backlogs = self._backlogs, {}
        each = sorted((f"lag {name}", lag) for name, lag in found.items())
        return (("lag", sum(found.values())), *each) if each else ()

    def _note_backlog(self, name: object, backlog: int | None) -> None:
        if backlog is not None:
            parts = name if isinstance(name, tuple) else (name,)
            self._backlogs["/".join(map(str, parts))] = backlog

    def start(self) -> ReadPosition:
        return self._with_new_partitions(ReadPosition())

    def read(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Any]]:
        before = self._with_new_partitions(before, now)
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

    @property
    def _policy(self) -> WatermarkPolicy:
        return self.node.watermark or FromSource()

    def _watermarks_at(self, position: ReadPosition) -> PartitionedWatermark:
        """Return the watermark estimators at a position; those in memory, if they have its state."""
        observed, watermarks = self._watermarks
        partitions = range(len(position.names))
        if watermarks is None or observed is not position.observed:
            watermarks = PartitionedWatermark(self._policy, partitions)
            if position.observed is not None:
                watermarks.restore(position.observed)
        for partition in partitions:
            watermarks.add(partition)
        return watermarks

    def replay(self, before: ReadPosition, after: ReadPosition) -> list[Any]:
        starts = dict(zip(map(encode_value, before.names), before.partitions, strict=True))
        found = []
        for number, name in enumerate(after.names):
            start, end = starts.get(encode_value(name), Partition()), after.partitions[number]
            if end.rows and not start.finished:
                self._require_partition(name)
                found += self._replay(number, name, start.offset, end)
        return found

    def _replay(self, number: int, name: object, offset: object, end: Partition) -> list[Any]:
        rows = end.rows
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
        return [bundle]

    def time_after(self, before: ReadPosition, now: int) -> int:
        return now

    def _with_new_partitions(self, position: ReadPosition, now: int = MIN_MICROS) -> ReadPosition:
        """Add new partitions, which are read from their start."""
        self._ask_again(now)
        known = set(map(encode_value, position.names))
        new = [name for name in self._names if encode_value(name) not in known]
        if not new:
            return position
        starts = tuple(Partition(self._first_offset(name) if known else None) for name in new)
        return attrs.evolve(
            position,
            names=(*position.names, *new),
            partitions=(*position.partitions, *starts),
        )

    def _ask_again(self, now: int) -> None:
        """Ask the source for its partitions, if it is time to."""
        interval = getattr(self._source, "partitions_interval", None)
        if interval is None or now == MIN_MICROS:
            return
        if self._asked != MIN_MICROS and now - self._asked >= interval * MICROS_PER_SECOND:
            self._names = self._ask_partitions()
        elif self._asked != MIN_MICROS:
            return
        self._asked = now

    def _first_offset(self, name: object) -> object:
        source = self._source
        return source.first_offset(name) if isinstance(source, UnboundedSource) else None

    def _require_partition(self, name: object) -> None:
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
        read: tuple[Any, object, Any, bool],
        watermarks: PartitionedWatermark,
        now: int,
    ) -> tuple[Partition, Bundle]:
        records, offset, reported, finished = read
        bundle = as_bundle(records)
        times = bundle.observed_times(self._policy)
        watermarks.observe(number, times, len(times), now)
        if reported is not None:
            watermarks.report(number, micros(reported))
        if finished:
            watermarks.finish(number)
        return Partition(offset, len(bundle), finished), bundle

    def _records(
        self, name: object, offset: Any, limit: int, now: int
    ) -> tuple[Any, Any, Any, bool]:
        with label_errors(self.node.label), recording(self.recorded):
            if isinstance(self._source, BoundedSource):
                return self._bounded(self._source, name, offset or 0, limit)
            batch = self._batch(name, offset, limit, now)
            self._note_backlog(name, batch.backlog)
            caught_up = bool(limit) and not len(batch.records) and batch.next_offset == offset
            finished = batch.finished or (self.until_caught_up and caught_up)
            return batch.records, batch.next_offset, batch.watermark, finished

    def _batch(self, name: object, offset: object, limit: int, now: int) -> Batch[object]:
        if isinstance(self._source, ReadsClock):
            return self._source.read_until(name, offset, limit, now)
        assert isinstance(self._source, UnboundedSource)
        return self._source.read(name, offset, limit)

    def _bounded(
        self, source: BoundedSource[object], name: object, offset: int, limit: int
    ) -> tuple[object, object, object, bool]:
        """Continue after the last round; in a new process, read from the start up to the offset first."""
        at, cursor = self._open.get(encode_value(name), (-1, None))
        if cursor is None or at != offset:
            cursor = Cursor(bundles_of(source, name, self.tables))
            cursor.skip(offset)
        chunk = cursor.take(limit)
        self._open[encode_value(name)] = offset + len(chunk), cursor
        return chunk, offset + len(chunk), None, len(chunk) < limit
