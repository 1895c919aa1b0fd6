"""Several ways to compute the same, timed in turn, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from comparison import Clock, timed
from table import table

Seconds = dict[str, list[float]]
"""The times of each way, by its name."""


def seconds_of(ways: Mapping[str, Callable[[], Any]], repeat: int, clock: Clock) -> Seconds:
    """Time all ways, in turn; the order is reversed each time, since later runs of a process are slower."""
    seconds: Seconds = {name: [] for name in ways}
    for number in range(repeat):
        for name in list(ways)[:: -1 if number % 2 else 1]:
            seconds[name].append(timed(ways[name], clock)[0])
    return seconds


def table_of(seconds: Seconds, sizes: Mapping[str, int], base: str) -> str:
    """Return a table of the times and rates.

    Args:
        seconds: the times.
        sizes: the number of rows that each way gets.
        base: the way to which the others are compared by rate.
    """
    rates = {name: sizes[name] / median(each) for name, each in seconds.items()}
    rows = (
        [
            name,
            f"{median(each):.2f} ({min(each):.2f} … {max(each):.2f})",
            f"{rates[name]:,.0f}",
            f"{rates[name] / rates[base]:.2f}",
        ]
        for name, each in seconds.items()
    )
    return table(["", "CPU seconds (from … to …)", "rows/s", f"× {base}"], rows)
