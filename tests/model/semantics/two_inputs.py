"""Scenarios with a main and a side input: events of one of them, and nothing in the other."""

from __future__ import annotations

from functools import reduce
from typing import Any

import headrace as hr
from headrace.testing import TestStream
from tests.model.semantics.scenarios import Event


def on(time: float, value: Any) -> hr.TimestampedValue:
    """An element of a side input, which needs no key."""
    return hr.TimestampedValue(value, time)


def nothing(stream: TestStream) -> TestStream:
    """No element arrives."""
    return stream.add_elements([])


def main(event: Event) -> tuple[Event, Event]:
    """An event of the main input."""
    return event, nothing


def side(event: Event) -> tuple[Event, Event]:
    """An event of the side input."""
    return nothing, event


def streams(rounds: Any) -> list[TestStream]:
    """The streams of both inputs."""
    return [
        reduce(lambda stream, event: event(stream), events, TestStream(stays_open=True))
        for events in zip(*rounds, strict=True)
    ]
