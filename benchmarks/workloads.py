"""The workloads and their inputs.

The inputs are plain tuples and strings in memory, random with a fixed seed. Times are multiples of 1/8 s:
they are exact in floats, in microseconds and in milliseconds (to which Beam truncates window bounds), so all
implementations see the same instants.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs

Event: TypeAlias = tuple[float, str, int]
"""(event time in seconds, key, value), in order of arrival."""

Pair: TypeAlias = tuple[str, int]
"""(key, value), in order of arrival."""

Results: TypeAlias = dict[Any, Any] | list[Any]
"""Windowed sums by (key, window start); (sum, count) by (key, session start); counts by word.

A list of outputs, one for each element, is in any order.
"""

WINDOW: Final = 60
"""Size of the fixed windows in seconds."""

GAP: Final = 30
"""Gap between sessions in seconds."""

DISORDER: Final = 5
"""Maximum delay of an event in seconds."""

ENTRIES: Final = 10_000
"""Number of entries of the side input."""

VOCABULARY: Final = 20_000
WORDS_PER_LINE: Final = 10
TICKS_PER_SECOND: Final = 8


@attrs.frozen
class Workload:
    """One computation; every implementation has a function of this name.

    Attributes:
        name: name of the function.
        title: title of the table.
        unit: name of the input rows.
        rows: size of the input at scale 1.
        slow_rows: size of the input for slow implementations.
        generate: returns an input of the given size.
    """

    name: str
    title: str
    unit: str
    rows: int
    slow_rows: int
    generate: Callable[[int], list[Any]]


def events(rows: int, keys: int, span: float) -> list[Event]:
    """Return events spread evenly over `span` seconds of event time, slightly out of order."""
    source = random.Random(2015)
    names = [f"user-{number}" for number in range(keys)]
    ticks, late = span * TICKS_PER_SECOND / rows, DISORDER * TICKS_PER_SECOND
    return [
        (
            max(0, int(row * ticks - source.random() * late)) / TICKS_PER_SECOND,
            source.choice(names),
            source.randrange(100),
        )
        for row in range(rows)
    ]


def pairs(rows: int, keys: int) -> list[Pair]:
    """Return pairs with random keys."""
    source = random.Random(2015)
    names = [f"user-{number}" for number in range(keys)]
    return list(zip(source.choices(names, k=rows), range(rows), strict=True))


def entries() -> list[tuple[str, str]]:
    """Return what the elements are enriched with, by key."""
    return [(f"user-{number}", f"team-{number % 100}") for number in range(ENTRIES)]


def lines(rows: int) -> list[str]:
    """Return lines of words; few words are frequent and most are rare."""
    source = random.Random(2015)
    words = [f"word{number}" for number in range(VOCABULARY)]
    weights = [1 / (rank + 10) for rank in range(VOCABULARY)]
    drawn = source.choices(words, weights, k=rows * WORDS_PER_LINE)
    return [
        " ".join(drawn[at : at + WORDS_PER_LINE]) for at in range(0, len(drawn), WORDS_PER_LINE)
    ]


GROUPINGS: Final = (
    Workload(
        name="windowed_sum",
        title="windowed sum: 10,000 keys, fixed windows of 60 s, 10 events per key and window",
        unit="events",
        rows=1_000_000,
        slow_rows=100_000,
        generate=lambda rows: events(rows, keys=10_000, span=rows * 600 / 1_000_000),
    ),
    Workload(
        name="sessions",
        title="sessions: 1,000 keys, gap 30 s, about 20 events per session, sum and count",
        unit="events",
        rows=1_000_000,
        slow_rows=100_000,
        generate=lambda rows: events(rows, keys=1_000, span=rows / 100),
    ),
    Workload(
        name="word_count",
        title="word count: lines of 10 words, 20,000 distinct words",
        unit="lines",
        rows=200_000,
        slow_rows=200_000,
        generate=lines,
    ),
)
"""The workloads that group; Spark runs them, too."""

WORKLOADS: Final = (
    *GROUPINGS,
    Workload(
        name="running_count",
        title="running count: 1,000 keys, a stateful DoFn, one output per element",
        unit="elements",
        rows=1_000_000,
        slow_rows=100_000,
        generate=lambda rows: pairs(rows, keys=1_000),
    ),
    Workload(
        name="enrich",
        title="enrich: elements with one of the 10,000 entries of a side input",
        unit="elements",
        rows=1_000_000,
        slow_rows=100_000,
        generate=lambda rows: pairs(rows, keys=ENTRIES),
    ),
)
