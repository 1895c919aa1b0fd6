"""The checks of times that users supply: timestamps in milliseconds, and timers of the other time domain.

Milliseconds that are taken as seconds are far in the future; a timer of processing time that is set to an
event timestamp is in the past. Operators note such a time. The note travels with the metrics of its step, so
that the driver of a run on workers can warn.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Final

import attrs

from headrace.errors import warn
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.windowing.column import Column
from headrace.windowing.time.timestamps import MICROS_PER_SECOND, MIN_MICROS, Timestamp

FAR_FUTURE: Final = 7_258_118_400 * MICROS_PER_SECOND
"""The year 2200, from which timestamps are unlikely."""

MILLISECONDS: Final = 315_532_800_000 * MICROS_PER_SECOND
"""The year 1980, in milliseconds that are taken as seconds."""

END: Final = FAR_FUTURE * 1000
"""The year 2200, in milliseconds that are taken as seconds; later timestamps stand for the end of time."""


YEAR: Final = 31_557_600 * MICROS_PER_SECOND
"""The time before the clock at which a timer is unlikely."""


def past_timer(moment: int, now: int) -> int:
    """Return by how many microseconds a timer of processing time is in the past; 0 up to a year.

    Times in 1970 come from tests, whose clock starts at 0.

    >>> past_timer(5, 6), past_timer(2 * YEAR, 5 * YEAR) == 3 * YEAR
    (0, True)
    """
    return now - moment if YEAR < moment < now - YEAR else 0


def note_read(bundle: Bundle, metrics: StepMetrics) -> None:
    """Note an unlikely timestamp of a source."""
    if isinstance(bundle, TableBundle) and bundle.times is not None:
        latest = int(bundle.times.max(initial=MIN_MICROS))
    else:
        latest = _latest(bundle.timestamps)
    if FAR_FUTURE <= latest < END:
        metrics.unlikely_timestamp = latest


def note_made(made: Bundle, origin: Bundle, metrics: StepMetrics) -> None:
    """Note an unlikely timestamp that a function added.

    Args:
        made: outputs of the function.
        origin: the bundle that it was called on.
        metrics: the metrics of the step.
    """
    if isinstance(made, TableBundle) or made.timestamps is origin.timestamps:
        return
    latest = _latest(made.timestamps)
    if FAR_FUTURE <= latest < END and latest > _latest(origin.timestamps):
        metrics.unlikely_timestamp = latest


def _latest(column: Column[int]) -> int:
    return next(column) if isinstance(column, repeat) else max(column, default=MIN_MICROS)


@attrs.define
class TimestampWarnings:
    """Warns of unlikely times, once for each step."""

    _warned: set[str] = attrs.field(factory=set, init=False)

    def warn(self, steps: Mapping[str, StepMetrics]) -> None:
        """Warn of the times that steps have noted.

        Args:
            steps: the metrics of each step by label.
        """
        for label, metrics in steps.items():
            if label in self._warned or not (metrics.unlikely_timestamp or metrics.past_timer):
                continue
            self._warned.add(label)
            if metrics.unlikely_timestamp:
                _warn(metrics.unlikely_timestamp, label)
            if metrics.past_timer:
                _warn_of_timer(metrics.past_timer, label)


def _warn(latest: int, label: str) -> None:
    shown = repr(Timestamp(micros=latest))
    if latest >= MILLISECONDS:
        problem = f"{shown} is probably a number of milliseconds, but timestamps are in seconds"
        warn(problem, where=label, remedy="divide it by 1000: t / 1000")
    else:
        problem = f"{shown} is after the year 2200"
        warn(problem, where=label, remedy="check the unit: timestamps are in seconds since 1970")


def _warn_of_timer(behind: int, label: str) -> None:
    warn(
        f"a timer with TimeDomain.REAL_TIME is set to a time {behind / YEAR:.0f} years before the clock, "
        "so it fires at once; it is probably an event timestamp",
        where=label,
        remedy="use TimeDomain.WATERMARK for event time, or set_relative for a duration from now",
    )
