"""The watermark of a partition of Kafka in a program of Beam: with the clock when no records arrive."""

from __future__ import annotations

from typing import Final

import attrs

from headrace.windowing.time.timestamps import MICROS_PER_SECOND
from headrace.windowing.watermarks.estimators import BoundedDelayEstimator
from headrace.windowing.watermarks.policies import WatermarkPolicy

_STEP: Final = MICROS_PER_SECOND
"""The step in which the watermark follows the clock, so that it does not cause a batch each time."""


@attrs.define
class IdleClockEstimator(BoundedDelayEstimator):
    """The newest event time; after some time without records, the clock less that time.

    >>> estimator = IdleClockEstimator(idle_timeout=2_000_000, delay=0)
    >>> estimator.observe([5_000_000], now=60_000_000)
    >>> estimator.watermark(now=61_000_000), estimator.watermark(now=62_500_000)
    (5000000, 60000000)
    """

    def watermark(self, now: int) -> int | None:
        """Return the watermark, in microseconds; it is never idle."""
        found = super().watermark(now)
        if found is not None or self.idle_timeout is None:
            return found
        self._watermark = max(self._watermark, now - now % _STEP - self.idle_timeout)
        return self._watermark


@attrs.frozen
class IdleClock(WatermarkPolicy):
    """Beam's policy for the times of records.

    Args:
        idle: microseconds without a record after which the watermark follows the clock.

    >>> IdleClock(2_000_000).condense([5, 9, 7])
    [9]
    """

    newest_only = True

    idle: int

    def estimator(self) -> IdleClockEstimator:
        """Return a new estimator for one partition."""
        return IdleClockEstimator(self.idle, 0)
