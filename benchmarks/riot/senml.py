"""Reads messages in SenML, and writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import headrace as hr
from benchmarks.riot.messages import RANGES, UNITS, Reading


class SenML(hr.coders.Coder):
    """Reads a line as an object."""

    def encode(self, value: Any) -> bytes:
        """Return a message as bytes."""
        return json.dumps(value).encode()

    def decode(self, encoded: bytes) -> Any:
        """Return the message of bytes."""
        return json.loads(encoded)

    def is_deterministic(self) -> bool:
        """Equal messages have equal bytes if their fields have the same order."""
        return True


def time_of(message: Mapping[str, Any]) -> hr.Timestamp:
    """Return the time of a message."""
    return hr.Timestamp(micros=message["bt"] * 1000)


def readings_of(message: Mapping[str, Any]) -> Iterator[Reading]:
    """Yield the readings of a message."""
    number, time, (source, *entries) = message["bn"], message["bt"], message["e"]
    for entry in entries:
        text = entry["v"]
        value = None if text is None else float(text)
        yield Reading(number, source["sv"], entry["n"], time, value)


def as_senml(row: Mapping[str, Any]) -> str:
    """Return a row of published data as a message."""
    entries = [{"n": "source", "sv": row["sensor"]}, {"n": "city", "sv": row["city"]}]
    values = ({"n": name, "u": UNITS.get(name, ""), "v": row[name]} for name in RANGES)
    return json.dumps({"bn": row["message"], "bt": row["time"], "e": [*entries, *values]})
