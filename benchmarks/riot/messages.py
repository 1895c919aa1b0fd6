"""Makes the input: messages of sensors in SenML, out of order, in files.

A message has one reading of each field. Some readings are missing, some are far out of range, and some
messages come from sensors that are not registered.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import attrs

import headrace as hr

START: Final = 1_767_225_600_000
"""The time of the first message, in milliseconds: the beginning of the year 2026."""

RANGES: Final = {
    "temperature": (-12.5, 43.1),
    "humidity": (10.7, 95.2),
    "light": (1345.0, 26282.0),
    "dust": (186.6, 5188.2),
    "airquality_raw": (17.0, 363.0),
}
"""The fields of a message, with the lowest and the highest value of each that is in range."""

UNITS: Final = {"temperature": "far", "humidity": "per", "light": "per", "dust": "per"}

MISSING: Final = 0.04
OUT_OF_RANGE: Final = 0.02
"""Parts of the readings."""

UNREGISTERED: Final = 10
"""Each tenth sensor is not registered."""

CITIES: Final = ("Geneva", "Nairobi", "Quito", "Turku")


class Reading(NamedTuple):
    """A reading of a field by a sensor; its value is None if it is missing.

    Attributes:
        message: number of the message.
        sensor: name of the sensor.
        field: one of :data:`RANGES`.
        time: milliseconds since 1970.
        value: the value.
    """

    message: int
    sensor: str
    field: str
    time: int
    value: float | None


@attrs.frozen
class Config:
    """What is generated.

    Args:
        messages: number of messages; each has a reading of five fields.
        sensors: number of sensors.
        rate: messages per second of event time, at most 1,000 for each sensor.
        longest_delay: the longest delay of a message, in milliseconds.
        seed: selects the messages.
        files: number of files.
    """

    messages: int = 2_000
    sensors: int = 20
    rate: int = 20
    longest_delay: int = 5_000
    seed: int = 1
    files: int = 2

    @property
    def readings(self) -> int:
        """Number of readings."""
        return self.messages * len(RANGES)

    @property
    def watermark(self) -> hr.BoundedOutOfOrderness:
        """The watermark that no message is behind."""
        return hr.BoundedOutOfOrderness(self.longest_delay / 1000)


def registered(config: Config) -> list[str]:
    """Return the names of the registered sensors."""
    return [_name(n) for n in range(config.sensors) if not _is_unregistered(n)]


def places(config: Config) -> list[tuple[str, str]]:
    """Return the registered sensors with their cities."""
    return [(name, CITIES[n % len(CITIES)]) for n, name in enumerate(registered(config))]


def write_messages(config: Config, directory: Path) -> None:
    """Write the messages to files, each in the order of arrival; every file has messages of all sensors."""
    directory.mkdir(parents=True, exist_ok=True)
    for file in range(config.files):
        numbers = (n for n in range(config.messages) if n // config.sensors % config.files == file)
        arrivals = sorted((_time(config, n) + _delay(config, n), n) for n in numbers)
        lines = (message(config, n) + "\n" for _, n in arrivals)
        (directory / f"messages-{file}.txt").write_text("".join(lines))


def message(config: Config, n: int) -> str:
    """Return message n as text: an object in SenML, with a base time and an entry for each field."""
    random = Random(config.seed << 40 | n)
    sensor = n % config.sensors
    entries: list[dict[str, object]] = [{"n": "source", "sv": _name(sensor)}]
    for field in RANGES:
        value = _value(random, field, sensor, n)
        entries.append({"n": field, "u": UNITS.get(field, ""), "v": value})
    return json.dumps({"bn": n, "bt": _time(config, n), "e": entries})


def _value(random: Random, field: str, sensor: int, n: int) -> str | None:
    """Return a value as text: mostly a wave with noise, sometimes none, or one out of range."""
    low, high = RANGES[field]
    drawn = random.random()
    if drawn < MISSING:
        return None
    if drawn < MISSING + OUT_OF_RANGE:
        return f"{high * random.uniform(2, 9):.1f}"
    wave = 0.5 + 0.3 * math.sin(sensor + n / 200) + random.uniform(-0.1, 0.1)
    return f"{low + (high - low) * wave:.1f}"


def _time(config: Config, n: int) -> int:
    return START + n * 1000 // config.rate


def _delay(config: Config, n: int) -> int:
    return Random(config.seed << 40 | 1 << 39 | n).randrange(config.longest_delay + 1)


def _name(sensor: int) -> str:
    return f"sensor-{sensor:04}"


def _is_unregistered(sensor: int) -> bool:
    return sensor % UNREGISTERED == UNREGISTERED - 1
