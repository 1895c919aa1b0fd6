"""Watermarks: how complete a source is, estimated per partition by a policy.

A watermark w asserts that no element older than w will arrive. A policy is a value that creates an
estimator for each partition, and :class:`PartitionedWatermark` takes the minimum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import ClassVar

import attrs

from headrace.errors import TimeError, shorten
from headrace.windowing.column import Column, materialise
from headrace.windowing.time.timestamps import (
    MAX_MICROS,
    MIN_MICROS,
    Duration,
    DurationTypes,
    positive,
)
from headrace.windowing.watermarks.estimators import (
    BoundedDelayEstimator,
    EstimatorState,
    PercentileEstimator,
    ReportedEstimator,
    WatermarkEstimator,
    timed,
)


def _timeout(idle_timeout: DurationTypes | None) -> Duration | None:
    return None if idle_timeout is None else positive(idle_timeout)


def _delay(delay: DurationTypes) -> Duration:
    result = Duration.of(delay)
    if result.micros < 0:
        raise TimeError(f"the delay {result!r} is negative", remedy="use 0 seconds or more")
    return result


def _percent(policy: object, attribute: object, p: float) -> None:
    if not 1 <= p <= 100:
        raise TimeError(
            f"{shorten(p)} is not a percentile", remedy="use a percentage from 1 to 100, such as 95"
        )


def _at_least_one(policy: object, attribute: object, elements: int) -> None:
    if elements < 1:
        raise TimeError(f"memory is {shorten(elements)} elements", remedy="use 1 or more")


class WatermarkPolicy(ABC):
    """A rule that estimates a source's watermark: a value that creates an estimator for each partition.

    >>> isinstance(Monotonic(), WatermarkPolicy)
    True
    """

    __slots__ = ()

    newest_only: ClassVar[bool] = False
    """Whether an estimator depends on the newest of the elements that arrive together alone."""

    @abstractmethod
    def estimator(self) -> WatermarkEstimator:
        """Return a new estimator for one partition."""

    def condense(self, timestamps: list[int]) -> list[int]:
        """Return fewer timestamps, in microseconds, with the same effect on an estimator.

        >>> Monotonic().condense([5, 9, 7]), Percentile(50, memory=2).condense([5, 9, 7, 6])
        ([9], [9, 7, 6])
        """
        return [max(timestamps)] if self.newest_only and timestamps else timestamps


@attrs.frozen
class BoundedOutOfOrderness(WatermarkPolicy):
    """The watermark trails the newest element by a fixed delay (Flink's name).

    Args:
        delay: how much older than the newest element an element may be, in seconds.
        idle_timeout: seconds without an element after which a partition is idle and does not hold
            the watermark back; None for never.

    >>> estimator = BoundedOutOfOrderness(delay=10).estimator()
    >>> estimator.observe([60_000_000, 55_000_000], now=0)
    >>> estimator.watermark(now=0)
    50000000
    """

    newest_only = True

    delay: Duration = attrs.field(converter=_delay)
    idle_timeout: Duration | None = attrs.field(default=None, converter=_timeout)

    def estimator(self) -> WatermarkEstimator:
        """Return a new estimator for one partition."""
        return BoundedDelayEstimator(_micros(self.idle_timeout), self.delay.micros)


@attrs.frozen
class Monotonic(WatermarkPolicy):
    """The watermark is the newest element's timestamp, for partitions in order of event time.

    Args:
        idle_timeout: seconds without an element after which a partition is idle and does not hold
            the watermark back; None for never.

    >>> estimator = Monotonic().estimator()
    >>> estimator.observe([1_000_000, 2_000_000], now=0)
    >>> estimator.watermark(now=0)
    2000000
    """

    newest_only = True

    idle_timeout: Duration | None = attrs.field(default=None, converter=_timeout)

    def estimator(self) -> WatermarkEstimator:
        """Return a new estimator for one partition."""
        return BoundedDelayEstimator(_micros(self.idle_timeout), 0)


@attrs.frozen
class Percentile(WatermarkPolicy):
    """The watermark trails the newest element by the p-th percentile of recent lateness.

    Of the recent elements, p percent arrived at most that far behind the newest element; the others
    were late ("Streaming Systems", chapter 3: percentile watermarks). Until a tenth of the memory is
    filled, the watermark stays at the beginning of time. Elements at the beginning of time have no event
    time, and do not count.

    Args:
        p: percentage, 1 to 100; 100 follows the slowest recent element.
        memory: number of recent elements to consider.
        idle_timeout: seconds without an element after which a partition is idle and does not hold
            the watermark back; None for never.

    >>> estimator = Percentile(75, memory=4).estimator()
    >>> estimator.observe([9_000_000, 8_000_000, 10_000_000, 2_000_000], now=0)
    >>> estimator.watermark(now=0)
    9000000
    """

    p: float = attrs.field(validator=_percent)
    memory: int = attrs.field(default=1_000, validator=_at_least_one)
    idle_timeout: Duration | None = attrs.field(default=None, converter=_timeout)

    def estimator(self) -> WatermarkEstimator:
        """Return a new estimator for one partition."""
        return PercentileEstimator(_micros(self.idle_timeout), self.p, self.memory)

    def condense(self, timestamps: list[int]) -> list[int]:
        """Return the recent timestamps, and the newest of those before them."""
        timestamps = timed(timestamps) or timestamps[:1]
        if len(timestamps) <= self.memory + 1:
            return timestamps
        return [max(timestamps[: -self.memory]), *timestamps[-self.memory :]]


@attrs.frozen
class FromSource(WatermarkPolicy):
    """The watermark is what the source itself reports.

    Args:
        idle_timeout: seconds without an element or a higher report after which a partition is idle
            and does not hold the watermark back; None for never.

    >>> estimator = FromSource().estimator()
    >>> estimator.report(3_000_000)
    >>> estimator.watermark(now=0)
    3000000
    """

    newest_only = True

    idle_timeout: Duration | None = attrs.field(default=None, converter=_timeout)

    def estimator(self) -> WatermarkEstimator:
        """Return a new estimator for one partition."""
        return ReportedEstimator(_micros(self.idle_timeout))


def _micros(duration: Duration | None) -> int | None:
    return None if duration is None else duration.micros


class PartitionedWatermark:
    """The watermark of a source: the minimum over its partitions.

    Idle and finished partitions do not count. The watermark never goes back. It does not move while
    all partitions are idle; when all are finished it is the end of time.

    Args:
        policy: how the watermark of each partition is estimated.
        partitions: the names of the partitions, as plain data.

    >>> source = PartitionedWatermark(Monotonic(), partitions=["a", "b"])
    >>> source.observe("a", [7_000_000], rows=1, now=0)
    >>> source.watermark(now=0) == MIN_MICROS  # "b" has no elements yet
    True
    >>> source.observe("b", [5_000_000], rows=1, now=0)
    >>> source.watermark(now=0)
    5000000
    """

    def __init__(self, policy: WatermarkPolicy, partitions: Iterable[Hashable]) -> None:
        self._policy = policy
        self._estimators: dict[Hashable, WatermarkEstimator] = {}
        self._reached = MIN_MICROS
        for partition in partitions:
            self.add(partition)

    def add(self, partition: Hashable) -> None:
        """Add a partition; it holds the watermark back until its first element or report."""
        self._estimators.setdefault(partition, self._policy.estimator())

    def observe(self, partition: Hashable, timestamps: Column[int], rows: int, now: int) -> None:
        """Record elements of a partition.

        Args:
            partition: the partition that they are from.
            timestamps: their event times in microseconds, in order of arrival.
            rows: number of elements.
            now: processing time in microseconds.
        """
        self._estimators[partition].observe(materialise(timestamps, rows), now)

    def report(self, partition: Hashable, watermark: int) -> None:
        """Record the watermark that the source reports for a partition, in microseconds."""
        self._estimators[partition].report(watermark)

    def finish(self, partition: Hashable) -> None:
        """Record that a partition has no more elements."""
        self.report(partition, MAX_MICROS)

    def watermark(self, now: int) -> int:
        """Return the watermark of the source, in microseconds.

        Args:
            now: processing time in microseconds.
        """
        running = [e for e in self._estimators.values() if not e.finished]
        if not running:
            return MAX_MICROS
        reached = [w for e in running if (w := e.watermark(now)) is not None]
        self._reached = max(self._reached, min(reached, default=MIN_MICROS))
        return self._reached

    def state(self) -> tuple[int, tuple[tuple[Hashable, EstimatorState], ...]]:
        """Return the state of all partitions, as plain data."""
        each = tuple((name, e.state()) for name, e in self._estimators.items())
        return self._reached, each

    def restore(self, state: tuple[int, tuple[tuple[Hashable, EstimatorState], ...]]) -> None:
        """Restore what :meth:`state` returned; partitions that it does not contain keep their state."""
        self._reached, each = state
        for partition, observed in each:
            self.add(partition)
            self._estimators[partition].restore(observed)
