"""The ETL application: readings are cleaned, joined to rows again, annotated and published.

SenML parse, range filter, Bloom filter, interpolation, join, annotation, and the results as CSV and SenML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from rbloom import Bloom

import headrace as hr
from benchmarks.in_time_order import InTimeOrder
from benchmarks.riot.messages import RANGES, Config, Reading, places, registered
from benchmarks.riot.senml import as_senml

LAST: Final = 5
"""A missing value is the mean of the last values of the sensor and field, at most this many."""

FALSE_POSITIVES: Final = 1e-6
"""Probability that an unregistered sensor passes the Bloom filter."""

JOIN_SECONDS: Final = 1
"""The windows in which the readings of a message are joined; they have the same time."""

Row = dict[str, Any]


def in_range(reading: Reading) -> Reading:
    """Return a reading without a value that is out of range."""
    low, high = RANGES[reading.field]
    if reading.value is not None and not low <= reading.value <= high:
        return reading._replace(value=None)
    return reading


class Registered(hr.DoFn):
    """Keeps the readings of registered sensors, by a Bloom filter of their names.

    Args:
        names: the names.
    """

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def setup(self) -> None:
        """Make the filter."""
        self._known = Bloom(len(self._names), FALSE_POSITIVES, _hash)
        self._known.update(self._names)

    def process(self, reading: Reading) -> Iterator[Reading]:
        """Yield the reading, if its sensor is known."""
        if reading.sensor in self._known:
            yield reading


def _hash(name: str) -> int:
    """Return a hash that is the same in each process."""
    return int.from_bytes(blake2b(name.encode(), digest_size=16).digest(), signed=True)


def interpolated(
    last: list[float] | None, reading: Reading
) -> tuple[list[float] | None, list[Reading]]:
    """Return the last values, and the reading; if its value is missing, with their mean."""
    last = last or []
    if reading.value is not None:
        return [*last, reading.value][-LAST:], [reading]
    mean = round(sum(last) / len(last), 3) if last else None
    return last, [reading._replace(value=mean)]


def joined(message: tuple[int, Iterable[Reading]]) -> Row:
    """Return the readings of a message as a row."""
    number, readings = message
    by_field = {reading.field: reading for reading in readings}
    first = next(iter(by_field.values()))
    row: Row = {"message": number, "sensor": first.sensor, "time": first.time}
    return row | {field: by_field[field].value for field in RANGES}


def annotated(row: Row, cities: dict[str, str]) -> Row:
    """Return a row with the city of its sensor."""
    return row | {"city": cities[row["sensor"]]}


def by_sensor_and_field(reading: Reading) -> tuple[str, Reading]:
    """Return a reading with the key of its sensor and field."""
    return f"{reading.sensor}/{reading.field}", reading


def cleaned(readings: hr.PCollection[Reading], config: Config) -> hr.PCollection[Reading]:
    """Return the readings of registered sensors, without values that are out of range."""
    return (
        readings
        | "Range filter" >> hr.Map(in_range)
        | "Bloom filter" >> hr.ParDo(Registered(registered(config)))
    )


class Etl(hr.PTransform[Any, Any]):
    """Joins, annotates and publishes cleaned readings.

    Args:
        config: how the messages were generated.
        directory: gets the results.
    """

    def __init__(self, config: Config, directory: Path) -> None:
        super().__init__()
        self._config = config
        self._directory = directory

    def expand(self, readings: hr.PCollection[Reading]) -> None:
        """Publish rows as CSV and as SenML."""
        cities = readings.pipeline | "Metadata" >> hr.Create(places(self._config))
        rows = (
            readings
            | "Sensors and fields" >> hr.Map(by_sensor_and_field)
            | "Interpolate" >> hr.ParDo(InTimeOrder(interpolated))
            | "Messages" >> hr.MapTuple(lambda _, reading: (reading.message, reading))
            | "Into seconds" >> hr.WindowInto(hr.window.FixedWindows(JOIN_SECONDS))
            | "Join" >> hr.GroupByKey()
            | "Rows" >> hr.Map(joined)
            | "Annotate" >> hr.Map(annotated, hr.AsDict(cities))
        )
        _ = rows | "CSV" >> hr.io.WriteToCsv(self._directory / "csv")
        senml = rows | "To SenML" >> hr.Map(as_senml)
        _ = senml | "SenML" >> hr.io.WriteToText(self._directory / "senml")
