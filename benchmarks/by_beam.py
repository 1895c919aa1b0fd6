"""The workloads as Apache Beam pipelines, by default on its FnApiRunner.

Beam's DirectRunner falls back to this runner: it tries Prism first, a Go program that is downloaded on first
use, and runs the FnApiRunner in this process if Prism is unavailable or cannot run the pipeline (sessions).

``beam_programs.py`` runs these programs on other runners, too, and as programs of Headrace: the environment
says which package is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final

from workloads import GAP, WINDOW, Event, Pair, Results, entries

PACKAGE: Final = "BENCHMARK_PACKAGE"
"""The environment variable with the name of the package, ``apache_beam`` unless it is set."""

beam: Any = import_module(os.environ.get(PACKAGE, "apache_beam"))
userstate: Any = import_module(f"{beam.__name__}.transforms.userstate")

runner: list[Any] = ["FnApiRunner"]
"""The runner, and its flags."""

PART: Final = 10_000
"""Number of rows that are read at once."""

input_rows: list[Any] = []
found: dict[Any, Any] = {}
outputs: list[Any] = []
"""Input and results. Globals, since Beam pickles local functions but imports module-level ones."""


def pipeline() -> Any:
    name, *flags = runner
    return beam.Pipeline(name, argv=flags)


def part(start: int) -> Sequence[Any]:
    return input_rows[start : start + PART]


def read(p: Any, rows: Sequence[Any]) -> Any:
    """Read rows; a Create of them would take longer than most runs, since Beam infers the type of each."""
    input_rows[:] = rows
    starts = list(range(0, len(rows), PART))
    return p | beam.Create(starts, reshuffle=False) | "Read" >> beam.FlatMap(part)


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


class RunningCount(beam.DoFn):
    """Emits each key with the number of its elements so far."""

    COUNT = userstate.CombiningValueStateSpec("count", sum)
    GIVEN = beam.DoFn.StateParam(COUNT)

    def process(self, element: Pair, count: Any = GIVEN) -> Iterator[tuple[str, int]]:
        count.add(1)
        yield element[0], count.read()


def with_team(pair: Pair, teams: dict[str, str]) -> tuple[str, int, str]:
    key, value = pair
    return key, value, teams[key]


def stamped(event: Event) -> Any:
    return beam.window.TimestampedValue((event[1], event[2]), event[0])


def keep_in_window(pair: tuple[str, Any], window: Any = beam.DoFn.WindowParam) -> None:
    key, result = pair
    found[key, float(window.start)] = result


def keep(pair: tuple[str, int]) -> None:
    word, count = pair
    found[word] = count


def keep_output(output: Any) -> None:
    outputs.append(output)


def windowed_sum(events: list[Event]) -> Results:
    found.clear()
    with pipeline() as p:
        _ = (
            read(p, events)
            | beam.Map(stamped)
            | beam.WindowInto(beam.window.FixedWindows(WINDOW))
            | beam.CombinePerKey(sum)
            | "Keep" >> beam.Map(keep_in_window)
        )
    return found


def sessions(events: list[Event]) -> Results:
    found.clear()
    with pipeline() as p:
        _ = (
            read(p, events)
            | beam.Map(stamped)
            | beam.WindowInto(beam.window.Sessions(GAP))
            | beam.CombinePerKey(SumAndCount())
            | "Keep" >> beam.Map(keep_in_window)
        )
    return found


def word_count(lines: list[str]) -> Results:
    found.clear()
    with pipeline() as p:
        _ = (
            read(p, lines)
            | beam.FlatMap(str.split)
            | beam.combiners.Count.PerElement()
            | "Keep" >> beam.Map(keep)
        )
    return found


def running_count(pairs: list[Pair]) -> Results:
    outputs.clear()
    with pipeline() as p:
        _ = read(p, pairs) | beam.ParDo(RunningCount()) | "Keep" >> beam.Map(keep_output)
    return outputs


def enrich(pairs: list[Pair]) -> Results:
    outputs.clear()
    with pipeline() as p:
        teams = p | "Teams" >> beam.Create(entries())
        _ = (
            read(p, pairs)
            | beam.Map(with_team, beam.pvalue.AsDict(teams))
            | "Keep" >> beam.Map(keep_output)
        )
    return outputs
