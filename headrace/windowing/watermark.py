"""Watermarks: how far a source is complete, as a policy says it, partition by partition.

A watermark w says: no element older than w is to come. A policy is a value; it makes an estimator
for each partition, and :class:`PartitionedWatermark` takes the minimum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable

import attrs

from headrace.errors import TimeError, shorten
from headrace.windowing.column import Column, materialise
from headrace.windowing.time import MAX_MICROS, MIN_MICROS, Duration, DurationTypes, positive
from headrace.windowing.watermark_estimator import (
    AsReported,
    BoundedDelayEstimator,
    EstimatorState,
    PercentileEstimator,
    WatermarkEstimator,
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
            f"{shorten(p)} is not a percentile", remedy="use percent, 1 to 100, such as 95"
        )


def _at_least_one(policy: object, attribute: object, elements: int) -> None:
    if elements < 1:
        raise TimeError(f"cannot remember {shorten(elements)} elements", remedy="use 1 or more")


class WatermarkPolicy(ABC):
    """How a source's watermark comes about: a value, which makes an estimator for each partition.

    >>> isinstance(Monotonic(), WatermarkPolicy)
    True
    """

    __slots__ = ()

    @abstractmethod
    def estimator(self) -> WatermarkEstimator:
        """Return an estimator for one partition that has seen nothing yet."""


@attrs.frozen
class BoundedOutOfOrderness(WatermarkPolicy):
    """The watermark stays a fixed delay behind the newest element (Flink's name).

    Args:
        delay: how much older than an element before it an element may be, in seconds.
        idle_timeout: after so many seconds without an element a partition holds nothing back; None
            for never.

    >>> estimator = BoundedOutOfOrderness(delay=10).estimator()
    >>> estimator.observe([60_000_000, 55_000_000], now=0)
    >>> estimator.watermark(now=0)
    50000000
    """

    delay: Duration = attrs.field(converter=_delay)
    idle_timeout: Duration | None = attrs.field(default=None, converter=_timeout)

    def estimator(self) -> WatermarkEstimator:
        """Return an estimator for one partition that has seen nothing yet."""
        return BoundedDelayEstimator(_micros(self.idle_timeout), self.delay.micros)


@attrs.frozen
class Monotonic(WatermarkPolicy):
    """The watermark is the newest element: for partitions in order of event time.

    Args:
        idle_timeout: after so many seconds without an element a partition holds nothing back; None
            for never.

    >>> estimator = Monotonic().estimator()
    >>> estimator.observe([1_000_000, 2_000_000], now=0)
    >>> estimator.watermark(now=0)
    2000000
    """

    idle_timeout: Duration | None = attrs.field(default=None, converter=_timeout)

    def estimator(self) -> WatermarkEstimator:
        """Return an estimator for one partition that has seen nothing yet."""
        return BoundedDelayEstimator(_micros(self.idle_timeout), 0)


@attrs.frozen
class Percentile(WatermarkPolicy):
    """The watermark leaves behind what p percent of the last elements would not have needed.

    It stays as far behind the newest element as p percent of the last elements came at most; the
    others were late ("Streaming Systems", chapter 3: percentile watermarks). Until a tenth of the
    memory is filled, it stays at the beginning of time.

    Args:
        p: percent, 1 to 100; 100 follows the slowest of the last elements.
        memory: how many of the last elements count.
        idle_timeout: after so many seconds without an element a partition holds nothing back; None
            for never.

    >>> estimator = Percentile(75, memory=4).estimator()
    >>> estimator.observe([9_000_000, 8_000_000, 10_000_000, 2_000_000], now=0)
    >>> estimator.watermark(now=0)
    9000000
    """

    p: float = attrs.field(validator=_percent)
    memory: int = attrs.field(default=1_000, validator=_at_least_one)
    idle_timeout: Duration | None = attrs.field(default=None, converter=_timeout)

    def estimator(self) -> WatermarkEstimator:
        """Return an estimator for one partition that has seen nothing yet."""
        return PercentileEstimator(_micros(self.idle_timeout), self.p, self.memory)


@attrs.frozen
class FromSource(WatermarkPolicy):
    """The watermark is what the source itself reports.

    Args:
        idle_timeout: after so many seconds without an element or a higher report a partition holds
            nothing back; None for never.

    >>> estimator = FromSource().estimator()
    >>> estimator.report(3_000_000)
    >>> estimator.watermark(now=0)
    3000000
    """

    idle_timeout: Duration | None = attrs.field(default=None, converter=_timeout)

    def estimator(self) -> WatermarkEstimator:
        """Return an estimator for one partition that has seen nothing yet."""
        return AsReported(_micros(self.idle_timeout))


def _micros(duration: Duration | None) -> int | None:
    return None if duration is None else duration.micros


class PartitionedWatermark:
    """The watermark of a source: the minimum over its partitions.

    Idle and finished ones do not count. It never goes back, and stays where it is while all are
    idle; when all are finished it is the end of time.

    Args:
        policy: how the watermark of each partition comes about.
        partitions: their names; plain data.

    >>> source = PartitionedWatermark(Monotonic(), partitions=["a", "b"])
    >>> source.observe("a", [7_000_000], rows=1, now=0)
    >>> source.watermark(now=0) == MIN_MICROS  # "b" has shown nothing yet
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
        """Watch one more partition; it holds back the others until it has shown something."""
        self._estimators.setdefault(partition, self._policy.estimator())

    def observe(self, partition: Hashable, timestamps: Column[int], rows: int, now: int) -> None:
        """Take note of elements of a partition.

        Args:
            partition: where they are from.
            timestamps: their event times in microseconds, in order of arrival.
            rows: how many they are.
            now: processing time in microseconds.
        """
        self._estimators[partition].observe(materialise(timestamps, rows), now)

    def report(self, partition: Hashable, watermark: int) -> None:
        """Take note of what the source says of a partition, in microseconds."""
        self._estimators[partition].report(watermark)

    def finish(self, partition: Hashable) -> None:
        """Take note that nothing more will come from a partition."""
        self.report(partition, MAX_MICROS)

    def watermark(self, now: int) -> int:
        """Return how far the source is complete, in microseconds.

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
        """Return all that was observed, as plain data."""
        each = tuple((name, e.state()) for name, e in self._estimators.items())
        return self._reached, each

    def restore(self, state: tuple[int, tuple[tuple[Hashable, EstimatorState], ...]]) -> None:
        """Go on from what :meth:`state` gave; partitions that it does not know begin anew."""
        self._reached, each = state
        for partition, observed in each:
            self.add(partition)
            self._estimators[partition].restore(observed)
