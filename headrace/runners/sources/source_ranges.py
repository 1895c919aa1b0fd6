"""Ranges: what a round reads of a source whose offsets can be told without reading.

The driver tells the end of a round, and the workers read the records up to there, in parallel. A range that
is read again has the same records. If the watermark follows from timestamps, which only the workers see, the
watermark of the source is computed where their observations arrive, and not here.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from headrace.errors import PipelineError, shorten
from headrace.grouping.bundle import Bundle
from headrace.runners.error_context import label_errors
from headrace.runners.sources.partition_reader import PartitionReader
from headrace.runners.sources.source_positions import Partition, ReadPosition
from headrace.sdk.io.cursor import Cursor
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.sources.source import Batch, LatestOffset, ReadsClock, UnboundedSource
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, micros


@attrs.frozen
class WorkerReads:
    """The sources that the workers read.

    Attributes:
        labels: their labels.
        observed: the labels of those whose watermarks follow from observations of the workers.
    """

    labels: frozenset[str] = frozenset()
    observed: frozenset[str] = frozenset()


NO_WORKER_READS: Final = WorkerReads()
"""No source is read by the workers."""


@attrs.frozen
class SourceRange:
    """Consecutive records of a partition.

    Attributes:
        number: number of the partition in the position.
        name: the partition.
        start: the offset before the first record.
        records: number of records, or a limit with which the source stops at ``end``.
        end: the offset after the last record; None if the number of records is exact.
        elements: the bundle of the elements, if the driver has read them, in the form that the runner sends.
        lags: gauges of the source by name: the records that were not read yet.
    """

    number: int
    name: Any
    start: Any
    records: int
    end: Any = None
    elements: Any = None
    lags: tuple[tuple[str, int], ...] = ()

    def __len__(self) -> int:
        return self.records


def read_range(source: Any, found: SourceRange) -> Bundle:
    """Read the records of a range, on a worker.

    Args:
        source: the source.
        found: the range.

    Raises:
        PipelineError: the source returns fewer records, or another offset.
    """
    batch = _read(source, found)
    bundle = Cursor(iter([as_bundle(batch.records)])).take(found.records)
    if len(bundle) < found.records and (found.end is None or batch.next_offset != found.end):
        raise PipelineError(
            f"the source told of {found.records} records after the offset {shorten(found.start)} of the "
            f"partition {shorten(found.name)}, but a worker reads {len(bundle)}",
            remedy="latest_offset must agree with read, every worker must be able to read the source, and "
            "records that a checkpoint names must not be removed",
        )
    return bundle


def _read(source: Any, found: SourceRange) -> Batch[Any]:
    if isinstance(source, ReadsClock):
        return source.read_until(found.name, found.start, found.records, MAX_MICROS)
    batch = None if found.end is None else source.read_to(found.name, found.start, found.end)
    return source.read(found.name, found.start, found.records) if batch is None else batch  # type: ignore[no-any-return]


@attrs.define
class RangeReader(PartitionReader):
    """An unbounded source that the workers read: a round is ranges of at most N records of each partition.

    Args:
        is_observed: whether the watermark follows from observations of the workers. Then the state of the
            position is what the source has reported in the round, by number of the partition.
    """

    is_observed: bool = False

    def read(self, before: ReadPosition, now: int) -> tuple[ReadPosition, list[Any]]:
        """Return the position after a round, and the ranges of the round."""
        before = self._with_new_partitions(before, now)
        partitions, ranges, reports = [], list[SourceRange](), dict[int, int]()
        for number, (name, start) in enumerate(zip(before.names, before.partitions, strict=True)):
            end, reported, found = start, None, list[SourceRange]()
            if not start.finished:
                self._require_partition(name)
                end, reported, found = self._range(number, name, start.offset, now)
            partitions.append(end)
            ranges += found
            if reported is not None:
                reports[number] = micros(reported)
        after = ReadPosition(before.names, tuple(partitions), before.watermark)
        lags = self.take_lags()
        ranges = [attrs.evolve(each, lags=lags) for each in ranges] if lags else ranges
        return self._with_watermark(before, after, ranges, reports, now), ranges

    def _with_watermark(
        self,
        before: ReadPosition,
        after: ReadPosition,
        ranges: list[SourceRange],
        reports: dict[int, int],
        now: int,
    ) -> ReadPosition:
        ended = all(p.finished for p in after.partitions)
        if self.is_observed:
            watermark = MAX_MICROS if ended else MIN_MICROS
            return attrs.evolve(after, watermark=watermark, observed=reports)
        watermarks = self._watermarks_at(before)
        for each in ranges:  # their number counts, not their timestamps
            watermarks.observe(each.number, [MIN_MICROS], 1, now)
        for number, reported in reports.items():
            watermarks.report(number, reported)
        for number, partition in enumerate(after.partitions):
            if partition.finished:
                watermarks.finish(number)
        watermark = MAX_MICROS if ended else watermarks.watermark(now)
        observed = watermarks.state()
        self._watermarks = observed, watermarks
        return attrs.evolve(after, watermark=watermark, observed=observed)

    def _range(
        self, number: int, name: object, start: object, now: int
    ) -> tuple[Partition, Any, list[SourceRange]]:
        """Return the end of a partition's round, the watermark that is reported, and the ranges."""
        with label_errors(self.node.label):
            latest = self._latest_offset(name, start, now)
        if latest is None:
            return self._read_here(number, name, start, now)
        self._check(name, latest)
        self._note_backlog(name, latest.backlog)
        caught_up = bool(self.limit) and not latest.records and latest.offset == start
        finished = latest.finished or (self.until_caught_up and caught_up)
        end = Partition(latest.offset, latest.records, finished, tuple(latest.splits))
        return end, latest.watermark, _ranges(number, name, start, end)

    def _check(self, name: object, latest: LatestOffset) -> None:
        rows = sum(rows for _, rows in latest.splits) if latest.splits else latest.records
        if not 0 <= latest.records <= self.limit or rows != latest.records:
            raise PipelineError(
                f"latest_offset returned {latest.records} records of the partition {shorten(name)}, {rows} "
                f"of them in splits, and the limit is {self.limit}",
                where=self.node.label,
                remedy="return an offset that is at most limit records after the start, and splits with the "
                "same records",
            )

    def _latest_offset(self, name: object, start: object, now: int) -> LatestOffset | None:
        source = self._source
        if isinstance(source, ReadsClock):
            return source.latest_offset_until(name, start, self.limit, now)
        if isinstance(source, UnboundedSource):
            return source.latest_offset(name, start, self.limit)
        return None

    def _read_here(
        self, number: int, name: object, start: object, now: int
    ) -> tuple[Partition, Any, list[SourceRange]]:
        """Read the next records of a partition in this process."""
        records, offset, reported, finished = self._records(name, start, self.limit, now)
        bundle = as_bundle(records)
        rows = len(bundle)
        found = [SourceRange(number, name, start, rows, elements=bundle)] if rows else []
        return Partition(offset, rows, finished), reported, found

    def _replay(self, number: int, name: object, offset: object, end: Partition) -> list[Any]:
        return _ranges(number, name, offset, end)


def _ranges(number: int, name: object, start: object, end: Partition) -> list[SourceRange]:
    """Return the ranges of a partition in a round; the same ones again in a replay."""
    if end.splits:
        return [SourceRange(number, name, offset, rows) for offset, rows in end.splits]
    return [SourceRange(number, name, start, end.rows, end.offset)] if end.rows else []
