"""Watermark estimators: each watches one partition of a source and says how far it is complete.

All processing time is told, never read from a clock, so the same observations give the same
watermarks, and what was observed is plain data that can be kept and restored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import accumulate
from math import ceil
from operator import sub
from typing import Any, TypeAlias

import attrs

from headrace.windowing.time import MAX_MICROS, MIN_MICROS

EstimatorState: TypeAlias = tuple[Any, ...]
"""Plain data: ints, None, booleans and tuples of ints."""


@attrs.define
class WatermarkEstimator(ABC):
    """Watches one partition of a source and says how far it is complete.

    What policies differ in is :meth:`estimate` and what they observe for it. The watermark never
    goes back. A partition is idle when it has shown no sign of life for the timeout, and not when
    it is finished.

    >>> from headrace.windowing.watermark import BoundedOutOfOrderness
    >>> estimator = BoundedOutOfOrderness(delay=0, idle_timeout=60).estimator()
    >>> estimator.observe([5_000_000], now=0)
    >>> estimator.watermark(now=0), estimator.watermark(now=60_000_000)
    (5000000, None)
    """

    idle_timeout: int | None
    _reached: int = attrs.field(default=MIN_MICROS, init=False)
    _reported: int = attrs.field(default=MIN_MICROS, init=False)
    _stirred: bool = attrs.field(default=True, init=False)
    _alive: int = attrs.field(default=MIN_MICROS, init=False)

    @abstractmethod
    def estimate(self) -> int:
        """Return how far the partition is complete by what was observed, in microseconds."""

    @abstractmethod
    def update(self, timestamps: list[int]) -> None:
        """Take note of the timestamps of elements, one at least, in order of arrival."""

    def observe(self, timestamps: list[int], now: int) -> None:
        """Take note of elements that arrived.

        Args:
            timestamps: their event times in microseconds, in order of arrival.
            now: processing time in microseconds.
        """
        if timestamps:
            self._alive = max(self._alive, now)
            self._stirred = False
            self.update(timestamps)

    def report(self, watermark: int) -> None:
        """Take note of what the source says itself, in microseconds.

        Every policy believes the end of time, by which the partition is finished; only
        :class:`FromSource` believes more.
        """
        self._stirred = self._stirred or watermark > self._reported
        self._reported = max(self._reported, watermark)

    @property
    def finished(self) -> bool:
        """Whether nothing more will come."""
        return self._reported >= MAX_MICROS

    def watermark(self, now: int) -> int | None:
        """Return how far the partition is complete, in microseconds; None while it is idle.

        Args:
            now: processing time in microseconds.
        """
        if self.finished:
            return MAX_MICROS
        if self._stirred:
            self._alive, self._stirred = max(self._alive, now), False
        self._reached = max(self._reached, self.estimate())
        idle = self.idle_timeout is not None and now - self._alive >= self.idle_timeout
        return None if idle else self._reached

    def state(self) -> EstimatorState:
        """Return all that was observed, as plain data."""
        return tuple(getattr(self, name) for name in _observed(type(self)))

    def restore(self, state: EstimatorState) -> None:
        """Go on from what :meth:`state` gave."""
        for name, value in zip(_observed(type(self)), state, strict=True):
            setattr(self, name, value)


def _observed(kind: type[WatermarkEstimator]) -> list[str]:
    """Name the fields that are not arguments: these are the state."""
    return [field.name for field in attrs.fields(kind) if not field.init]


@attrs.define
class BoundedDelayEstimator(WatermarkEstimator):
    """So far behind the newest element.

    >>> BoundedDelayEstimator(idle_timeout=None, delay=10).watermark(now=0) == MIN_MICROS
    True
    """

    delay: int
    _newest: int = attrs.field(default=MIN_MICROS, init=False)

    def estimate(self) -> int:
        return max(MIN_MICROS, self._newest - self.delay)

    def update(self, timestamps: list[int]) -> None:
        self._newest = max(self._newest, max(timestamps))


@attrs.define
class PercentileEstimator(WatermarkEstimator):
    """As far behind the newest element as all but the slowest of the last elements came.

    >>> PercentileEstimator(idle_timeout=None, percentile=50, memory=10).watermark(
    ...     now=0
    ... ) == MIN_MICROS
    True
    """

    percentile: float
    memory: int
    _newest: int = attrs.field(default=MIN_MICROS, init=False)
    _behind: tuple[int, ...] = attrs.field(default=(), init=False)

    def estimate(self) -> int:
        if len(self._behind) < ceil(self.memory / 10):
            return MIN_MICROS
        rank = ceil(self.percentile / 100 * len(self._behind))
        return max(MIN_MICROS, self._newest - sorted(self._behind)[rank - 1])

    def update(self, timestamps: list[int]) -> None:
        older, last = timestamps[: -self.memory], timestamps[-self.memory :]
        before = max(self._newest, max(older, default=MIN_MICROS))
        newest = list(accumulate(last, max, initial=before))
        behind = tuple(map(sub, newest[1:], last))
        self._newest = newest[-1]
        self._behind = (self._behind + behind)[-self.memory :]


@attrs.define
class AsReported(WatermarkEstimator):
    """What the source says.

    >>> AsReported(idle_timeout=None).watermark(now=0) == MIN_MICROS
    True
    """

    def estimate(self) -> int:
        return self._reported

    def update(self, timestamps: list[int]) -> None:
        pass
