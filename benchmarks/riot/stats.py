"""The STATS application: for each sensor and field, block averages, a filtered trend, and distinct values.

The trend is a Kalman filter followed by a linear regression over the last values. All of it is in event-time
order, so that it does not depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import headrace as hr
from benchmarks.in_time_order import InTimeOrder
from benchmarks.riot.messages import Reading

BLOCK: Final = 10
"""Number of readings in a block average, and in a regression."""

PROCESS_NOISE: Final = 0.125
SENSOR_NOISE: Final = 0.32
"""The noise that the Kalman filter assumes, as in RIoTBench."""

DISTINCT_SECONDS: Final = 60
DISTINCT_ERROR: Final = 0.02
"""The windows in which distinct values are counted, and the standard error of the count."""

Estimate = tuple[float, float]
"""The estimate of a Kalman filter, and the variance of its error."""

Sample = tuple[int, float]
"""A time in milliseconds, and a value."""


def filtered(
    before: Estimate | None, reading: tuple[int, float]
) -> tuple[Estimate, list[tuple[int, float]]]:
    """Return the next estimate of a Kalman filter, as its state and as its result."""
    time, value = reading
    estimate, error = before or (value, 1.0)
    error += PROCESS_NOISE
    gain = error / (error + SENSOR_NOISE)
    estimate += gain * (value - estimate)
    return (estimate, (1 - gain) * error), [(time, estimate)]


def slope_and_next(samples: Sequence[Sample]) -> tuple[float, float]:
    """Return the slope of a regression line per second, and its value a second after the last time."""
    last = samples[-1][0]
    xs = [(time - last) / 1000 for time, _ in samples]
    mean_x = sum(xs) / len(xs)
    mean_y = sum(y for _, y in samples) / len(samples)
    spread = sum((x - mean_x) ** 2 for x in xs)
    product = sum((x - mean_x) * (y - mean_y) for x, (_, y) in zip(xs, samples, strict=True))
    slope = product / spread if spread else 0.0
    return slope, mean_y + slope * (1 - mean_x)


def _average(block: tuple[str, list[Sample]]) -> dict[str, Any]:
    key, samples = block
    mean = sum(value for _, value in samples) / len(samples)
    return {"key": key, "time": samples[-1][0], "mean": mean}


def _trend(window: tuple[str, list[Sample]]) -> dict[str, Any]:
    key, samples = window
    slope, following = slope_and_next(samples)
    return {"key": key, "time": samples[-1][0], "slope": slope, "next": following}


def _distinct(count: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> dict[str, Any]:
    return {"key": count[0], "start": window.start.micros // 1000, "values": count[1]}


def _present(reading: Reading) -> Iterator[tuple[str, Sample]]:
    if reading.value is not None:
        yield f"{reading.sensor}/{reading.field}", (reading.time, reading.value)


class Stats(hr.PTransform[Any, Any]):
    """Writes averages, trends and numbers of distinct values of cleaned readings.

    Args:
        directory: gets the results.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory

    def expand(self, readings: hr.PCollection[Reading]) -> None:
        """Write the results as JSON lines."""
        samples = readings | "Present" >> hr.FlatMap(_present)
        averages = samples | "Blocks" >> hr.CountWindows(BLOCK) | "Average" >> hr.Map(_average)
        trends = (
            samples
            | "Kalman" >> hr.ParDo(InTimeOrder(filtered))
            | "Last values" >> hr.CountWindows(BLOCK, every=1)
            | "Regression" >> hr.Map(_trend)
        )
        distinct = (
            samples
            | "Into minutes" >> hr.WindowInto(hr.window.FixedWindows(DISTINCT_SECONDS))
            | "Values" >> hr.MapTuple(lambda key, sample: (key, sample[1]))
            | "Distinct" >> hr.combiners.ApproximateCountDistinct.PerKey(error=DISTINCT_ERROR)
            | "Number" >> hr.Map(_distinct)
        )
        for name, rows in {"average": averages, "trend": trends, "distinct": distinct}.items():
            _ = rows | f"Write {name}" >> hr.io.WriteToJson(self._directory / name)
