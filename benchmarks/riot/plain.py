"""The answers in plain Python: loops over the messages in the order of their times."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import attrs

from benchmarks.riot.messages import RANGES, Config, message, places

BLOCK = 10
"""Number of values in an average and in a regression."""


@attrs.frozen
class Answers:
    """What the applications publish.

    Attributes:
        rows: the rows of the ETL application, in the order of time.
        averages: (key, time of the last value) with the mean of each block.
        trends: (key, time of the last value) with the slope and the following value.
        distinct: (key, start of the minute) with the number of different values.
    """

    rows: list[dict[str, Any]] = attrs.field(factory=list)
    averages: dict[tuple[str, int], float] = attrs.field(factory=dict)
    trends: dict[tuple[str, int], tuple[float, float]] = attrs.field(factory=dict)
    distinct: dict[tuple[str, int], int] = attrs.field(factory=dict)


def answers(config: Config) -> Answers:
    """Return the answers for the messages of a configuration."""
    found = Answers(rows=list(_rows(config)))
    for key, samples in _samples(config).items():
        for end in range(BLOCK, len(samples) + 1, BLOCK):
            block = samples[end - BLOCK : end]
            found.averages[key, block[-1][0]] = sum(v for _, v in block) / BLOCK
        _add_trends(found, key, samples)
        minutes = defaultdict(set)
        for time, value in samples:
            minutes[time - time % 60_000].add(value)
        found.distinct.update({(key, start): len(values) for start, values in minutes.items()})
    return found


def _messages(config: Config) -> Iterator[tuple[int, str, int, dict[str, float | None]]]:
    """Yield number, sensor, time and values of messages of registered sensors; None if not in range."""
    known = dict(places(config))
    for n in range(config.messages):
        parsed = json.loads(message(config, n))
        sensor = parsed["e"][0]["sv"]
        if sensor in known:
            texts = {entry["n"]: entry["v"] for entry in parsed["e"][1:]}
            yield n, sensor, parsed["bt"], {f: _in_range(f, text) for f, text in texts.items()}


def _in_range(field: str, text: str | None) -> float | None:
    low, high = RANGES[field]
    return float(text) if text is not None and low <= float(text) <= high else None


def _rows(config: Config) -> Iterator[dict[str, Any]]:
    known = dict(places(config))
    history: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for n, sensor, time, values in _messages(config):
        row: dict[str, Any] = {"message": n, "sensor": sensor, "time": time}
        for field, value in values.items():
            last = history[sensor, field]
            if value is not None:
                last.append(value)
                row[field] = value
            else:
                row[field] = round(sum(last[-5:]) / len(last[-5:]), 3) if last else None
        yield row | {"city": known[sensor]}


def _samples(config: Config) -> dict[str, list[tuple[int, float]]]:
    found: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for _, sensor, time, values in _messages(config):
        for field, value in values.items():
            if value is not None:
                found[f"{sensor}/{field}"].append((time, value))
    return found


def _add_trends(found: Answers, key: str, samples: list[tuple[int, float]]) -> None:
    """Add the regressions over the estimates of a Kalman filter."""
    estimate, variance = samples[0][1], 1.0
    smooth: list[tuple[int, float]] = []
    for time, value in samples:
        variance += 0.125
        gain = variance / (variance + 0.32)
        estimate, variance = estimate + gain * (value - estimate), (1 - gain) * variance
        smooth.append((time, estimate))
        found.trends[key, time] = _line(smooth[-BLOCK:])


def _line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Return the slope of the least-squares line, and its value a second after the last point."""
    last, n = points[-1][0], len(points)
    xs, ys = [(time - last) / 1000 for time, _ in points], [value for _, value in points]
    denominator = n * sum(x * x for x in xs) - sum(xs) ** 2
    products = sum(x * y for x, y in zip(xs, ys, strict=True))
    slope = (n * products - sum(xs) * sum(ys)) / denominator if n > 1 else 0.0
    return slope, (sum(ys) - slope * sum(xs)) / n + slope
