"""Measures of each step for exporters: counts, watermarks and user-defined metrics, under neutral names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, NamedTuple

from headrace.sdk.metrics.cells import MetricResult
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.triggers.pane import PaneInfoTiming
from headrace.windowing.time.timestamps import END_OF_TIME_MICROS, MICROS_PER_SECOND, MIN_MICROS


class StepCount(NamedTuple):
    """A count of each step.

    Attributes:
        name: name of the count.
        unit: what is counted, in the singular.
        help: what it means.
        of: returns it.
    """

    name: str
    unit: str
    help: str
    of: Callable[[StepMetrics], int]


STEP_COUNTS: Final = tuple(
    StepCount(name, unit, help, attrgetter(name))
    for name, unit, help in (
        ("elements_in", "element", "Elements that the step has read."),
        ("elements_out", "element", "Elements that the step has emitted, over all outputs."),
        (
            "late_dropped",
            "element",
            "Elements dropped because their window had expired, per window.",
        ),
        ("retractions", "retraction", "Retractions that the grouping has emitted."),
    )
)
"""The counts of every step."""

PANES_HELP: Final = "Panes that the grouping has emitted, by timing, without retractions."
WATERMARK_HELP: Final = "Output watermark of the step, in seconds since 1970."
LAG_HELP: Final = (
    "Processing time minus output watermark of the step, in seconds; 0 at the end of time."
)
STATE_HELP: Final = "Stored states of the step: keys, or windows with one pane."
ROUNDS_HELP: Final = "Rounds of the run: micro-batches, or one in batch mode."

TIMINGS: Final = tuple(
    timing.name for timing in PaneInfoTiming if timing is not PaneInfoTiming.UNKNOWN
)


def panes(metrics: StepMetrics, groups: bool) -> dict[str, int]:
    """Return the number of panes by timing; for a grouping also the timings that have none.

    >>> panes(StepMetrics(), groups=True)
    {'EARLY': 0, 'ON_TIME': 0, 'LATE': 0}
    """
    return {**(dict.fromkeys(TIMINGS, 0) if groups else {}), **metrics.panes}


def watermark_seconds(metrics: StepMetrics) -> float | None:
    """Return the output watermark in seconds since 1970; infinity at the end of time, None before its start.

    >>> watermark_seconds(StepMetrics(watermark=1_500_000)), watermark_seconds(StepMetrics())
    (1.5, None)
    """
    if metrics.watermark >= END_OF_TIME_MICROS:
        return math.inf
    return None if metrics.watermark <= MIN_MICROS else metrics.watermark / MICROS_PER_SECOND


def lag_seconds(metrics: StepMetrics, now: int) -> float | None:
    """Return by how many seconds the watermark is behind the processing time; None before its start.

    Args:
        metrics: the metrics of the step.
        now: processing time in microseconds.

    >>> lag_seconds(StepMetrics(watermark=1_500_000), now=4_000_000)
    2.5
    """
    watermark = watermark_seconds(metrics)
    if watermark is None or watermark == math.inf:
        return None if watermark is None else 0.0
    return now / MICROS_PER_SECOND - watermark


class UserKey(NamedTuple):
    """A user-defined metric of a step under a name that other systems accept.

    Attributes:
        name: letters, digits and underscores.
        step: full label of the step.
        namespace: the namespace.
    """

    name: str
    step: str
    namespace: str


def plain_name(name: str) -> str:
    """Return a name with letters, digits and single underscores only.

    >>> plain_name("bags per-day (ø)")
    'bags_per_day'
    """
    return re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_") or "unnamed"


def by_plain_name(
    results: list[MetricResult], plus: Callable[[Any, Any], object]
) -> dict[UserKey, Any]:
    """Return the values of user-defined metrics; those whose plain names are the same are combined.

    Args:
        results: metrics of one kind.
        plus: combines two values.
    """
    found: dict[UserKey, Any] = {}
    for result in results:
        metric = result.key.metric
        key = UserKey(plain_name(metric.name), result.key.step, metric.namespace)
        found[key] = plus(found[key], result.result) if key in found else result.result
    return found
