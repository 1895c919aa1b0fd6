"""The size of a streaming batch, from the times that the last batches took.

A batch takes a fixed time, and a time for each record. The *limit* is the maximum number of records that a
round reads from a partition. It starts small, and follows a target time: :func:`next_limit` computes it from
the last batches alone, so that the same batches give the same limit. No clock is read there, and none in
:class:`BatchSizer`, which keeps the last batches of a run.

The limit of a round is stored with its end (:class:`~headrace.runners.sources.source_positions.Position`).
So a round that is read again has the same records, and a run that is resumed continues with the limit that
it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import mean, median
from typing import Final

import attrs

FIRST_LIMIT: Final = 200
"""The limit of the first round, in records."""

LEAST_LIMIT: Final = 10
"""The smallest limit, in records; a smaller bound is used as it is."""

MOST_RECORDS: Final = 1_000_000
"""The largest limit by default, in records."""

FIXED_RECORDS: Final = 10_000
"""The limit by default where batches do not follow a target time, in records."""

STEP: Final = 8.0
"""The factor by which the limit changes at most from one round to the next."""

PROBE: Final = 4.0
"""The factor by which a batch shrinks that is too slow while the fixed time is not known."""

FIXED_SHARE: Final = 2.5
"""The ratio of the time of a batch to its fixed time, at least: else most of the time would be fixed."""

MEMORY: Final = 64 << 20
"""The size that the records of a round have at most, in bytes as they are sent to the workers."""

MEASURED_BATCHES: Final = 16
"""Number of batches from which the fixed time is computed."""

RECENT: Final = 3
"""Number of batches from which the time of a record is computed."""

ALIKE: Final = 2.0
"""The ratio of the times of a record in two batches up to which their mean is taken."""

SPREAD: Final = 2
"""The ratio of the sizes of two batches from which their fixed time can be computed."""


@attrs.frozen
class MeasuredBatch:
    """A batch and the time that it took.

    Attributes:
        limit: the limit of its round.
        records: number of records, of all partitions together.
        largest: number of records of the partition that had most.
        seconds: the time from the start of its round to the next round that could start.
        size: the size of its records in bytes, as they are sent; 0 if it is not known.
    """

    limit: int
    records: int
    largest: int
    seconds: float
    size: int = 0


@attrs.frozen
class BatchDelivery:
    """Measurements of a batch, known when the next round can start.

    Attributes:
        at: when it was done, in seconds of the clock that measures batches.
        size: the size of the records that workers have read, in bytes.
    """

    at: float
    size: int = 0


@attrs.frozen
class RoundSize:
    """Limits and targets for the size of rounds.

    Attributes:
        given: maximum number of records of a partition in a round; None for the default.
        seconds: the target time of a batch; 0 to read up to the bound in each round.
    """

    given: int | None = None
    seconds: float = 0.0

    @property
    def bound(self) -> int:
        """The largest limit of a round.

        >>> RoundSize().bound, RoundSize(seconds=2).bound, RoundSize(7, seconds=2).bound
        (10000, 1000000, 7)
        """
        return self.given or (MOST_RECORDS if self.seconds else FIXED_RECORDS)

    @property
    def fixed(self) -> int:
        """The limit of a source whose batches cannot follow a target time."""
        return self.given or FIXED_RECORDS


def next_limit(last: Sequence[MeasuredBatch], seconds: float, bound: int) -> int:
    """Return the limit of the next round.

    A batch of much fewer records than its limit does not change the limit: it tells nothing about large
    batches. A batch that did not reach its limit does not raise it.

    Args:
        last: the last batches, the newest at the end; at least one.
        seconds: the target time of a batch.
        bound: the largest limit.

    >>> first = MeasuredBatch(limit=200, records=200, largest=200, seconds=0.7)
    >>> next_limit([first], seconds=2, bound=1_000_000)
    571
    >>> second = MeasuredBatch(limit=571, records=571, largest=571, seconds=0.8)
    >>> next_limit([first, second], seconds=2, bound=1_000_000)
    4568
    """
    newest = last[-1]
    limit = newest.limit
    if newest.records and newest.largest * STEP >= limit:
        factor = min(max(_records(last, seconds) / newest.records, 1 / STEP), STEP)
        wished = round(newest.largest * factor)
        limit = wished if newest.largest >= limit else min(wished, limit)
    return min(max(limit, LEAST_LIMIT), bound)


def _records(last: Sequence[MeasuredBatch], seconds: float) -> float:
    """Return the number of records of a batch of the target time and of bounded size.

    If the fixed time is long, the target is too: smaller batches would make the run slow, and could not make
    a batch short. As long as the fixed time is not known, the size changes enough to find it out.
    """
    newest, fixed = last[-1], fixed_seconds(last)
    by_size = MEMORY * newest.records / newest.size if newest.size else float("inf")
    if fixed is None and newest.seconds > seconds:
        return min(newest.records / PROBE, by_size)
    least, fixed = (newest.records * SPREAD, 0.0) if fixed is None else (0.0, fixed)
    each = _record_seconds(last[-RECENT:], fixed)
    by_time = (max(seconds, FIXED_SHARE * fixed) - fixed) / each if each > 0 else float("inf")
    return min(max(by_time, least), by_size)


def _record_seconds(recent: Sequence[MeasuredBatch], fixed: float) -> float:
    """Return the time of a record in the newest batch, and in those before it that are like it."""
    each = [(batch.seconds - fixed) / batch.records for batch in recent if batch.records]
    newest = each[-1]
    return mean(one for one in each if newest / ALIKE <= one <= newest * ALIKE or one is newest)


def fixed_seconds(last: Sequence[MeasuredBatch]) -> float | None:
    """Return the time of a batch without records: where the line through the batches begins.

    The slope is the median over all pairs of batches of different size (Theil and Sen), so that one slow
    batch changes little. Without such a pair the result is None. No batch takes less than the fixed time.

    >>> few, many = MeasuredBatch(10, 10, 10, 0.6), MeasuredBatch(1010, 1010, 1010, 1.6)
    >>> round(fixed_seconds([few, many]), 3), fixed_seconds([few])
    (0.59, None)
    """
    slopes = [
        (large.seconds - small.seconds) / (large.records - small.records)
        for small, large in (
            sorted(pair, key=lambda batch: batch.records) for pair in combinations(last, 2)
        )
        if large.records >= max(SPREAD * small.records, 1)
    ]
    if not slopes:
        return None
    slope = max(median(slopes), 0.0)
    start = median(batch.seconds - slope * batch.records for batch in last)
    return max(min(start, *(batch.seconds for batch in last)), 0.0)


@attrs.define
class BatchSizer:
    """The limits of a run's rounds.

    The first batch of a process is not counted: workers start in it.

    Args:
        asked: what is asked of the size of rounds.
    """

    asked: RoundSize
    _last: list[MeasuredBatch] = attrs.field(factory=list, init=False)
    _is_warm: bool = attrs.field(default=False, init=False)

    @property
    def follows_time(self) -> bool:
        """Whether there is a target time."""
        return self.asked.seconds > 0

    def limit(self, before: int, partitions: int) -> int:
        """Return the limit of the next round.

        Args:
            before: the limit of the round before it; 0 if there was none.
            partitions: number of partitions that can be read, among which the first round is divided.
        """
        if not self.follows_time:
            return self.asked.bound
        if self._last:
            return next_limit(self._last, self.asked.seconds, self.asked.bound)
        first = before or max(FIRST_LIMIT // max(partitions, 1), LEAST_LIMIT)
        return min(first, self.asked.bound)

    def add(self, batch: MeasuredBatch) -> None:
        """Add a batch that is done."""
        if self._is_warm:
            self._last.append(batch)
        self._is_warm = self._is_warm or batch.records > 0
        if len(self._last) > MEASURED_BATCHES:
            # not the only one of another size, from which the fixed time follows
            del self._last[1 if fixed_seconds(self._last[1:]) is None else 0]
