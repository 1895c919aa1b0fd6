"""The workloads as Apache Beam pipelines on its FnApiRunner.

Beam's DirectRunner falls back to this runner: it tries Prism first, a Go program that is downloaded on first
use, and runs the FnApiRunner in this process if Prism is unavailable or cannot run the pipeline (sessions).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apache_beam as beam
from workloads import GAP, WINDOW, Event, Results

RUNNER = "FnApiRunner"

found: Results = {}
"""The results. A global, since Beam pickles local functions but imports module-level ones."""


class SumAndCount(beam.CombineFn):
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


def stamped(event: Event) -> Any:
    return beam.window.TimestampedValue((event[1], event[2]), event[0])


def keep_in_window(pair: tuple[str, Any], window: Any = beam.DoFn.WindowParam) -> None:
    key, result = pair
    found[key, float(window.start)] = result


def keep(pair: tuple[str, int]) -> None:
    word, count = pair
    found[word] = count


def windowed_sum(events: list[Event]) -> Results:
    found.clear()
    with beam.Pipeline(RUNNER, argv=[]) as p:
        _ = (
            p
            | beam.Create(events, reshuffle=False)
            | beam.Map(stamped)
            | beam.WindowInto(beam.window.FixedWindows(WINDOW))
            | beam.CombinePerKey(sum)
            | "Keep" >> beam.Map(keep_in_window)
        )
    return found


def sessions(events: list[Event]) -> Results:
    found.clear()
    with beam.Pipeline(RUNNER, argv=[]) as p:
        _ = (
            p
            | beam.Create(events, reshuffle=False)
            | beam.Map(stamped)
            | beam.WindowInto(beam.window.Sessions(GAP))
            | beam.CombinePerKey(SumAndCount())
            | "Keep" >> beam.Map(keep_in_window)
        )
    return found


def word_count(lines: list[str]) -> Results:
    found.clear()
    with beam.Pipeline(RUNNER, argv=[]) as p:
        _ = (
            p
            | beam.Create(lines, reshuffle=False)
            | beam.FlatMap(str.split)
            | beam.combiners.Count.PerElement()
            | "Keep" >> beam.Map(keep)
        )
    return found
