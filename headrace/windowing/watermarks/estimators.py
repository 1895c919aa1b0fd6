"""Watermark estimators: each estimates the watermark of one partition of a source.

Processing time is an argument, never read from a clock, so the same observations give the same
watermarks. The observed state is plain data that can be stored and restored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import accumulate
from math import ceil
from operator import sub
from typing import Any, TypeAlias

import attrs

from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS

EstimatorState: TypeAlias = tuple[Any, ...]
"""Plain data: ints, None, booleans and tuples of ints."""


@attrs.define
class WatermarkEstimator(ABC):
    """Estimates the watermark of one partition of a source.

    Policies differ in :meth:`estimate` and in the state that :meth:`update` keeps for it. The
    watermark never goes back. A partition is idle if it had neither an element nor a higher report
    for the timeout; a finished partition is not idle.

    >>> from headrace.windowing.watermarks.policies import BoundedOutOfOrderness
    >>> estimator = BoundedOutOfOrderness(delay=0, idle_timeout=60).estimator()
    >>> estimator.observe([5_000_000], now=0)
    >>> estimator.watermark(now=0), estimator.watermark(now=60_000_000)
    (5000000, None)
    """

    idle_timeout: int | None
    _watermark: int = attrs.field(default=MIN_MICROS, init=False)
    _reported: int = attrs.field(default=MIN_MICROS, init=False)
    _report_pending: bool = attrs.field(default=True, init=False)
    _last_active: int = attrs.field(default=MIN_MICROS, init=False)

    @abstractmethod
    def estimate(self) -> int:
        """Return the watermark that follows from the observed state, in microseconds."""

    @abstractmethod
    def update(self, timestamps: list[int]) -> None:
        """Record the timestamps of at least one element, in order of arrival."""

    def observe(self, timestamps: list[int], now: int) -> None:
        """Record elements that arrived.

        Args:
            timestamps: their event times in microseconds, in order of arrival.
            now: processing time in microseconds.
        """
        if timestamps:
            self._last_active = max(self._last_active, now)
            self._report_pending = False
            self.update(timestamps)

    def report(self, watermark: int) -> None:
        """Record a watermark that the source reports, in microseconds.

        A report of the end of time finishes the partition under every policy; other reports count
        only under :class:`FromSource`.
        """
        self._report_pending = self._report_pending or watermark > self._reported
        self._reported = max(self._reported, watermark)

    @property
    def finished(self) -> bool:
        """Whether no more elements will arrive."""
        return self._reported >= MAX_MICROS

    def watermark(self, now: int) -> int | None:
        """Return the watermark of the partition, in microseconds; None while it is idle.

        Args:
            now: processing time in microseconds.
        """
        if self.finished:
            return MAX_MICROS
        if self._report_pending:
            self._last_active, self._report_pending = max(self._last_active, now), False
        self._watermark = max(self._watermark, self.estimate())
        idle = self.idle_timeout is not None and now - self._last_active >= self.idle_timeout
        return None if idle else self._watermark

    def state(self) -> EstimatorState:
        """Return the observed state, as plain data."""
        return tuple(getattr(self, name) for name in _state_fields(type(self)))

    def restore(self, state: EstimatorState) -> None:
        """Restore what :meth:`state` returned."""
        for name, value in zip(_state_fields(type(self)), state, strict=True):
            setattr(self, name, value)


def _state_fields(kind: type[WatermarkEstimator]) -> list[str]:
    """Return the names of the fields that are not arguments: these are the state."""
    return [field.name for field in attrs.fields(kind) if not field.init]


@attrs.define
class BoundedDelayEstimator(WatermarkEstimator):
    """Trails the newest element by a fixed delay, in microseconds.

    >>> BoundedDelayEstimator(idle_timeout=None, delay=10).watermark(now=0) == MIN_MICROS
    True
    """

    delay: int
    _newest: int = attrs.field(default=MIN_MICROS, init=False)

    def estimate(self) -> int:
        return max(MIN_MICROS, self._newest - self.delay)

    def update(self, timestamps: list[int]) -> None:
        self._newest = max(self._newest, max(timestamps))


def timed(timestamps: list[int]) -> list[int]:
    """Return the timestamps of elements that have an event time: those after the beginning of time.

    >>> timed([MIN_MICROS, 5])
    [5]
    """
    return [timestamp for timestamp in timestamps if timestamp > MIN_MICROS]


@attrs.define
class PercentileEstimator(WatermarkEstimator):
    """Trails the newest element by a percentile of the lateness of recent elements.

    >>> PercentileEstimator(idle_timeout=None, percentile=50, memory=10).watermark(
    ...     now=0
    ... ) == MIN_MICROS
    True
    """

    percentile: float
    memory: int
    _newest: int = attrs.field(default=MIN_MICROS, init=False)
    _delays: tuple[int, ...] = attrs.field(default=(), init=False)

    def estimate(self) -> int:
        if len(self._delays) < ceil(self.memory / 10):
            return MIN_MICROS
        rank = ceil(self.percentile / 100 * len(self._delays))
        return max(MIN_MICROS, self._newest - sorted(self._delays)[rank - 1])

    def update(self, timestamps: list[int]) -> None:
        timestamps = timed(timestamps)
        older, last = timestamps[: -self.memory], timestamps[-self.memory :]
        before = max(self._newest, max(older, default=MIN_MICROS))
        newest = list(accumulate(last, max, initial=before))
        delays = tuple(map(sub, newest[1:], last))
        self._newest = newest[-1]
        self._delays = (self._delays + delays)[-self.memory :]


@attrs.define
class ReportedEstimator(WatermarkEstimator):
    """Follows the watermark that the source reports.

    >>> ReportedEstimator(idle_timeout=None).watermark(now=0) == MIN_MICROS
    True
    """

    def estimate(self) -> int:
        return self._reported

    def update(self, timestamps: list[int]) -> None:
        pass
