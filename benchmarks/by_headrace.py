"""The workloads as Headrace pipelines on the local runner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workloads import GAP, WINDOW, Event, Pair, Results, entries

import headrace as hr
from headrace.transforms.userstate import CombiningValueStateSpec


class SumAndCount(hr.CombineFn):
    """Sum and count of numbers."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add_input(self, accumulator: tuple[int, int], value: int) -> tuple[int, int]:
        total, count = accumulator
        return total + value, count + 1

    def merge_accumulators(self, accumulators: Iterable[tuple[int, int]]) -> tuple[int, int]:
        totals, counts = zip(*accumulators, strict=True)
        return sum(totals), sum(counts)

    def extract_output(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator


class RunningCount(hr.DoFn):
    """Emits each key with the number of its elements so far."""

    COUNT = CombiningValueStateSpec("count", sum)

    def process(
        self, element: Pair, count: Any = hr.DoFn.StateParam(COUNT)
    ) -> Iterator[tuple[str, int]]:
        count.add(1)
        yield element[0], count.read()


def with_team(pair: Pair, teams: dict[str, str]) -> tuple[str, int, str]:
    key, value = pair
    return key, value, teams[key]


def windowed_sum(events: list[Event]) -> Results:
    found: dict[Any, Any] = {}
    with hr.Pipeline("local", argv=[]) as p:
        (
            p
            | hr.Create(events)
            | hr.WithTimestamps(lambda event: event[0])
            | "Pair" >> hr.Map(lambda event: (event[1], event[2]))
            | hr.WindowInto(hr.window.FixedWindows(WINDOW))
            | hr.CombinePerKey(sum)
            | "Keep" >> hr.Map(_keep_in(found))
        )
    return found


def sessions(events: list[Event]) -> Results:
    found: dict[Any, Any] = {}
    with hr.Pipeline("local", argv=[]) as p:
        (
            p
            | hr.Create(events)
            | hr.WithTimestamps(lambda event: event[0])
            | "Pair" >> hr.Map(lambda event: (event[1], event[2]))
            | hr.WindowInto(hr.window.Sessions(GAP))
            | hr.CombinePerKey(SumAndCount())
            | "Keep" >> hr.Map(_keep_in(found))
        )
    return found


def word_count(lines: list[str]) -> Results:
    found: dict[Any, Any] = {}
    with hr.Pipeline("local", argv=[]) as p:
        (
            p
            | hr.Create(lines)
            | hr.FlatMap(str.split)
            | hr.combiners.Count.PerElement()
            | hr.MapTuple(found.__setitem__)
        )
    return found


def running_count(pairs: list[Pair]) -> Results:
    found: list[Any] = []
    with hr.Pipeline("local", argv=[]) as p:
        p | hr.Create(pairs) | hr.ParDo(RunningCount()) | "Keep" >> hr.Map(found.append)
    return found


def enrich(pairs: list[Pair]) -> Results:
    found: list[Any] = []
    with hr.Pipeline("local", argv=[]) as p:
        teams = p | "Teams" >> hr.Create(entries())
        enriched = p | hr.Create(pairs) | hr.Map(with_team, hr.pvalue.AsDict(teams))
        enriched | "Keep" >> hr.Map(found.append)
    return found


def _keep_in(found: dict[Any, Any]) -> Callable[..., None]:
    def keep(pair: tuple[str, Any], window: Any = hr.DoFn.WindowParam) -> None:
        key, result = pair
        found[key, window[0] / 1_000_000] = result  # a window is a tuple of microseconds

    return keep
