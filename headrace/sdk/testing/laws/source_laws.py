"""The laws of an unbounded source: the same read returns the same records, and told offsets agree."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import attrs

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.sources.source import Batch, LatestOffset, ReadsClock, UnboundedSource
from headrace.sdk.testing.laws.law import LawBroken
from headrace.sdk.testing.laws.law_runner import check_law
from headrace.sdk.testing.property_testing import st
from headrace.windowing.column import materialise
from headrace.windowing.time.timestamps import MAX_MICROS, Timestamp, TimestampTypes, micros


def check_source(
    source: UnboundedSource[object], now: TimestampTypes | None = None, cases: int = 30
) -> None:
    """Check that a source can be read again after a crash, and on workers.

    A read returns at most as many records as its limit, and the same records again, also from a copy of
    the source and the offset. If the source defines ``latest_offset``, reading on from the offset that it
    returns is the same as reading the records that it tells of and then reading on; so are its splits.

    Args:
        source: a source that has some records now.
        now: the processing time of a source that also is a ``ReadsClock``; by default the current time.
        cases: number of cases; a case is a sequence of limits.

    Raises:
        LawBroken: a law does not hold; reports the shortest sequence of reads that was found.

    >>> class Log(hr.io.UnboundedSource):
    ...     def read(self, partition, offset, limit):
    ...         records = "abc"[offset or 0 :][:limit]
    ...         return hr.io.Batch(list(records), (offset or 0) + len(records))
    >>> check_source(Log())
    """
    clock = Timestamp.now().micros if now is None else micros(now)

    def law(limits: Sequence[int]) -> None:
        reads = SourceReads(deepcopy(source), clock)
        for partition in reads.source.partitions():
            _check_partition(reads, partition, limits)

    check_law(st.lists(st.integers(1, 12), min_size=1, max_size=6), law, cases)


@attrs.frozen
class SourceReads:
    """Reads a source at a time of its clock, if it has one."""

    source: Any
    now: int

    def read(self, partition: Any, offset: Any, limit: int, replayed: bool = False) -> Batch[Any]:
        """Read records; a replay is later than the first read."""
        if isinstance(self.source, ReadsClock):
            now = MAX_MICROS if replayed else self.now
            return self.source.read_until(partition, offset, limit, now)
        return self.source.read(partition, offset, limit)  # type: ignore[no-any-return]

    def rows(self, partition: Any, offset: Any, limit: int, replayed: bool = False) -> list[Any]:
        """Read records, as pairs of value and timestamp in microseconds."""
        return rows_of(self.read(partition, offset, limit, replayed))

    def read_told(self, partition: Any, offset: Any, told: LatestOffset) -> Batch[Any]:
        """Read the records that the source told of, as a worker does."""
        batch = None if told.splits else self.source.read_to(partition, offset, told.offset)
        return self.read(partition, offset, told.records, replayed=True) if batch is None else batch

    def latest_offset(self, partition: object, offset: object, limit: int) -> LatestOffset | None:
        """Return what the source tells."""
        if isinstance(self.source, ReadsClock):
            return self.source.latest_offset_until(partition, offset, limit, self.now)
        return self.source.latest_offset(partition, offset, limit)  # type: ignore[no-any-return]


def rows_of(batch: Batch[object]) -> list[Any]:
    """Return the records of a batch, as pairs of value and timestamp in microseconds."""
    bundle = as_bundle(batch.records)
    return list(zip(bundle.values, materialise(bundle.timestamps, len(bundle)), strict=True))


def _check_partition(reads: SourceReads, partition: object, limits: Sequence[int]) -> None:
    offset: Any = None
    for limit in limits:
        told = reads.latest_offset(partition, offset, limit)
        batch = reads.read(partition, offset, limit)
        given = f"{type(reads.source).__name__}, read({partition!r}, {offset!r}, {limit})"
        _check_read(reads, partition, offset, limit, rows_of(batch), given)
        if told is not None:
            _check_told(reads, partition, offset, limit, told, given)
        offset = batch.next_offset


def _check_read(
    reads: SourceReads,
    partition: object,
    offset: object,
    limit: int,
    rows: list[object],
    given: str,
) -> None:
    if len(rows) > limit:
        raise LawBroken(
            "a read returns at most as many records as its limit",
            given,
            {"found": rows},
            "return fewer records, and an offset after the last of them",
        )
    stored, at = pickle.loads(pickle.dumps((partition, offset)))
    again = deepcopy(reads).rows(stored, at, len(rows), replayed=True) if rows else []
    if not _same(again, rows):
        raise LawBroken(
            "a read from the same offset returns the same records",
            given,
            {"first": rows, "again": again},
            "let the partition and the offset alone determine the records",
        )


def _check_told(
    reads: SourceReads,
    partition: object,
    offset: object,
    limit: int,
    told: LatestOffset,
    given: str,
) -> None:
    batch = reads.read_told(partition, offset, told) if told.records else None
    rows = [] if batch is None else rows_of(batch)
    splits = [reads.rows(partition, at, n, replayed=True) for at, n in told.splits]
    parts = [row for part in splits for row in part]
    following = offset if batch is None else batch.next_offset
    sides: dict[str, Any] = {"latest_offset": told, "read": rows}
    if told.splits:
        sides["splits"] = parts
    agrees = len(rows) == told.records or (batch is not None and following == told.offset)
    agrees = agrees and told.records <= limit and (not told.splits or _same(parts, rows))
    if agrees and told.records:
        expected = reads.rows(partition, following, limit)
        sides["next read"] = reads.rows(partition, told.offset, limit)
        sides["expected next read"] = expected
        agrees = _same(sides["next read"], expected)
    if not agrees:
        raise LawBroken(
            "latest_offset agrees with read",
            given,
            sides,
            "return the offset and the number of the records that read returns with this number as the limit",
        )


def _same(one: list[object], other: list[object]) -> bool:
    return list(map(encode_value, one)) == list(map(encode_value, other))
