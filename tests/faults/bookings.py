"""Bookings: what the programs of kill tests compute of told records, and what it must be in the end.

Each record is entered twice, for an account and for its counter-account. So in each state of a table that a
reader can see, all entries together are 0.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import headrace as hr
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows
from tests.faults.program import ROUND

CORRECTED: dict[str, Any] = {
    "trigger": AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
    "accumulation_mode": AccumulationMode.RETRACTING,
}
"""With early and late panes, each of which retracts the one before."""

SIZE = 10
"""The size of the windows, in seconds."""


def entries(record: tuple[str, int]) -> list[tuple[str, int]]:
    """A record as an entry of an account and of its counter-account."""
    account, amount = record
    return [(account, amount), (f"-{account}", -amount)]


def corrected_sums(pairs: Any) -> Any:
    """The sums by key and window, with early and late corrections."""
    windows = hr.WindowInto(FixedWindows(SIZE), allowed_lateness=1000, **CORRECTED)
    return pairs | windows | hr.CombinePerKey(sum)


def booked(source: Any, rounds: int) -> tuple[list[tuple[str, int]], Counter[tuple[str, int]]]:
    """All entries, sorted, and their sums by account and start of the window in seconds."""
    log, sums = [], Counter[tuple[str, int]]()
    for n in range(rounds * ROUND):
        record = source.record("p", n)
        for account, amount in entries(record.value):
            sums[account, window_start(record)] += amount
            log.append((account, amount))
    return sorted(log), sums


def window_start(record: hr.TimestampedValue[Any]) -> int:
    """The start of the window of a record, in seconds."""
    return int(record.timestamp.micros // (SIZE * 1_000_000) * SIZE)
