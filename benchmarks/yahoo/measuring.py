"""A run at a rate: the answers are compared, and then the latencies of its windows are read from Redis.

The latency of a window is that of the benchmark: the time of the last update of its count, minus its end. The
windows of the first seconds warm up, and a window with late views is not timed, since its last update waits
for them. All windows are compared.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from statistics import median
from typing import Any, Final
from uuid import uuid4

import attrs
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.yahoo.events import (
    WINDOW,
    Counts,
    Load,
    campaigns,
    counts,
    windows_with_late_views,
)
from benchmarks.yahoo.sender import PARTITIONS, start_sender
from benchmarks.yahoo.stored_counts import CountStore, Stored

WARM_UP: Final = 2 * WINDOW
TIMEOUT: Final = 180
"""Seconds after the last event in which all counts must be there."""

Start = Callable[[str], AbstractContextManager[Any]]
"""Starts a program on a topic, and stops it."""


class MismatchError(Exception):
    """The counts in Redis are not those of plain Python."""


@attrs.frozen
class Measured:
    """What was measured at a rate; times are in seconds.

    Attributes:
        rate: events per second.
        windows: number of windows whose counts were compared.
        middle: the median latency.
        high: the latency below which 99 of 100 windows are.
        last: the median latency of the last windows.
        behind: how far the sender was behind at most.
    """

    rate: int
    windows: int
    middle: float
    high: float
    last: float
    behind: float

    @property
    def is_bounded(self) -> bool:
        """Whether the last windows were complete before the next ones ended."""
        return self.last < WINDOW


def new_topic(address: str) -> str:
    """Make a topic, and return its name."""
    name = f"ads-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(60)
    return name


def measure(start: Start, address: str, store: CountStore, rate: int, seconds: int) -> Measured:
    """Run a program while events arrive at a rate.

    Args:
        start: starts the program on a topic.
        address: address of Kafka.
        store: the counts, which are removed first.
        rate: events per second.
        seconds: for how long events arrive, beside the warm-up.

    Raises:
        MismatchError: the counts are not those of plain Python.
    """
    store.clear()
    store.put_campaigns(campaigns())
    topic = new_topic(address)
    with start(topic):
        load = Load(rate, WARM_UP + seconds, _full_window(time.time() + 15 + rate / 500))
        with start_sender(address, topic, load) as sender:
            behind = int(sender.communicate()[0]) / 1000
        found = wait_for(store, counts(load.messages()))
    latencies = latencies_of(found, load)
    last = [each for window, each in latencies.items() if window[1] == max(w for _, w in latencies)]
    sorted_ones = sorted(latencies.values())
    high = sorted_ones[math.ceil(0.99 * len(sorted_ones)) - 1]
    return Measured(rate, len(found), median(sorted_ones), high, median(last), behind)


def _full_window(at: float) -> int:
    return math.ceil(at / WINDOW) * WINDOW


def wait_for(
    store: CountStore, expected: Counts, timeout: float = TIMEOUT
) -> dict[tuple[str, int], Stored]:
    """Return the counts when they are those of plain Python.

    Raises:
        MismatchError: they are not, when the time is up.
    """
    end = time.monotonic() + timeout
    while True:
        found = store.read()
        if {window: stored.count for window, stored in found.items()} == expected:
            return found
        if time.monotonic() > end:
            total = sum(stored.count for stored in found.values())
            raise MismatchError(
                f"{len(found):,} windows with {total:,} views instead of {len(expected):,} with"
                f" {sum(expected.values()):,}"
            )
        time.sleep(0.5)


def latencies_of(found: dict[tuple[str, int], Stored], load: Load) -> dict[tuple[str, int], float]:
    """Return the latency of each window that is timed."""
    late = windows_with_late_views(load)
    first, last = load.start + WARM_UP, load.start + load.seconds
    return {
        window: stored.updated - window[1] - WINDOW
        for window, stored in found.items()
        if window not in late and first <= window[1] and window[1] + WINDOW <= last
    }
