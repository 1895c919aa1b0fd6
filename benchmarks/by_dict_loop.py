"""The workloads as plain loops over dictionaries: the simplest Python code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from workloads import GAP, WINDOW, Event, Results


def windowed_sum(events: list[Event]) -> Results:
    sums: Results = defaultdict(int)
    for time, key, value in events:
        sums[key, time // WINDOW * WINDOW] += value
    return sums


def sessions(events: list[Event]) -> Results:
    by_key = defaultdict(list)
    for time, key, value in events:
        by_key[key].append((time, value))
    found: Results = {}
    for key, rows in by_key.items():
        rows.sort()
        start = last = rows[0][0]
        total = count = 0
        for time, value in rows:
            if time - last >= GAP:
                found[key, start] = total, count
                start, total, count = time, 0, 0
            total += value
            count += 1
            last = time
        found[key, start] = total, count
    return found


def word_count(lines: Iterable[str]) -> Results:
    counts: Results = defaultdict(int)
    for line in lines:
        for word in line.split():
            counts[word] += 1
    return counts
