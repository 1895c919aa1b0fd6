"""The workloads as loops tuned for CPython."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from itertools import chain, count
from typing import Any

from workloads import GAP, WINDOW, Event, Pair, Results, entries


def windowed_sum(events: list[Event]) -> Results:
    """Use one dictionary per window, which avoids a tuple per event."""
    sums: dict[float, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for time, key, value in events:
        sums[time // WINDOW][key] += value
    return {
        (key, window * WINDOW): total
        for window, group in sums.items()
        for key, total in group.items()
    }


def sessions(events: list[Event]) -> Results:
    """Sort the events themselves, which avoids a tuple per event."""
    by_key: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_key[event[1]].append(event)
    found: dict[Any, Any] = {}
    for key, rows in by_key.items():
        rows.sort()
        start = last = rows[0][0]
        total = count = 0
        for time, _, value in rows:
            if time - last >= GAP:
                found[key, start] = total, count
                start, total, count = time, 0, 0
            total += value
            count += 1
            last = time
        found[key, start] = total, count
    return found


def word_count(lines: list[str]) -> Results:
    """Count with Counter, whose loop runs in C."""
    return Counter(chain.from_iterable(map(str.split, lines)))


def running_count(pairs: list[Pair]) -> Results:
    """Count with an iterator per key."""
    counts: dict[str, count[int]] = defaultdict(partial(count, 1))
    return [(key, next(counts[key])) for key, _ in pairs]


def enrich(pairs: list[Pair]) -> Results:
    """Use a list comprehension."""
    teams = dict(entries())
    return [(key, value, teams[key]) for key, value in pairs]
