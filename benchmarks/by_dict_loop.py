"""The workloads as plain loops over dictionaries: the simplest Python code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from workloads import GAP, WINDOW, Event, Pair, Results, entries


def windowed_sum(events: list[Event]) -> Results:
    sums: dict[Any, int] = defaultdict(int)
    for time, key, value in events:
        sums[key, time // WINDOW * WINDOW] += value
    return sums


def sessions(events: list[Event]) -> Results:
    by_key = defaultdict(list)
    for time, key, value in events:
        by_key[key].append((time, value))
    found: dict[Any, Any] = {}
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
    counts: dict[str, int] = defaultdict(int)
    for line in lines:
        for word in line.split():
            counts[word] += 1
    return counts


def running_count(pairs: list[Pair]) -> Results:
    counts: dict[str, int] = defaultdict(int)
    found: list[tuple[str, int]] = []
    for key, _ in pairs:
        counts[key] += 1
        found.append((key, counts[key]))
    return found


def enrich(pairs: list[Pair]) -> Results:
    teams = dict(entries())
    found: list[tuple[str, int, str]] = []
    for key, value in pairs:
        found.append((key, value, teams[key]))
    return found
