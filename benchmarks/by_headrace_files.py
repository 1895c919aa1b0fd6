"""The workloads as Headrace pipelines over Parquet files, on whichever runner.

``Rows`` reads what the hand-written RDD code reads, by the same function, so that the two differ in what
comes behind it. ``Dictionaries`` reads with ``hr.io.ReadFromParquet``, as most users would.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import attrs
from by_headrace import SumAndCount
from parquet_input import events_of, lines_of
from workloads import GAP, WINDOW, Event, Results

import headrace as hr

MICROS = 1_000_000


class Input(Protocol):
    """How files are read."""

    def pairs(self, p: hr.Pipeline, paths: list[str]) -> Any:
        """Return pairs of key and value with their timestamps."""

    def lines(self, p: hr.Pipeline, paths: list[str]) -> Any:
        """Return lines."""


@attrs.frozen
class EventFiles(hr.io.BoundedSource[Event]):
    """Events of Parquet files, each file a partition."""

    paths: list[str]

    def partitions(self) -> list[str]:
        return self.paths

    def read(self, partition: str) -> Iterator[Event]:
        return events_of(partition)


@attrs.frozen
class LineFiles(hr.io.BoundedSource[str]):
    """Lines of Parquet files, each file a partition."""

    paths: list[str]

    def partitions(self) -> list[str]:
        return self.paths

    def read(self, partition: str) -> Iterator[str]:
        return lines_of(partition)


class Rows:
    """Tuples and strings from sources of our own."""

    def pairs(self, p: hr.Pipeline, paths: list[str]) -> Any:
        events = p | hr.Read(EventFiles(paths)) | hr.WithTimestamps(lambda event: event[0])
        return events | "Pair" >> hr.Map(lambda event: (event[1], event[2]))

    def lines(self, p: hr.Pipeline, paths: list[str]) -> Any:
        return p | hr.Read(LineFiles(paths))


class Dictionaries:
    """Dictionaries, as ``hr.io.ReadFromParquet`` gives them."""

    def pairs(self, p: hr.Pipeline, paths: list[str]) -> Any:
        read = hr.io.ReadFromParquet(paths, columns=["key", "value"], timestamp="time")
        return p | read | "Pair" >> hr.Map(lambda event: (event["key"], event["value"]))

    def lines(self, p: hr.Pipeline, paths: list[str]) -> Any:
        read = hr.io.ReadFromParquet(paths, columns=["line"])
        return p | read | "Line" >> hr.Map(lambda record: record["line"])


@attrs.define
class Kept(hr.io.Sink):
    """Keeps the batches that it is given, in the process that runs the pipeline."""

    batches: list[hr.io.SinkBatch] = attrs.field(factory=list)

    def write(self, batch: hr.io.SinkBatch) -> None:
        self.batches.append(batch)


def windowed_sum(runner: Any, files: Input, paths: list[str]) -> Kept:
    kept = Kept()
    with hr.Pipeline(runner, argv=[]) as p:
        (
            files.pairs(p, paths)
            | hr.WindowInto(hr.window.FixedWindows(WINDOW))
            | hr.CombinePerKey(sum)
            | hr.Write(kept)
        )
    return kept


def sessions(runner: Any, files: Input, paths: list[str]) -> Kept:
    kept = Kept()
    with hr.Pipeline(runner, argv=[]) as p:
        (
            files.pairs(p, paths)
            | hr.WindowInto(hr.window.Sessions(GAP))
            | hr.CombinePerKey(SumAndCount())
            | hr.Write(kept)
        )
    return kept


def word_count(runner: Any, files: Input, paths: list[str]) -> Kept:
    kept = Kept()
    with hr.Pipeline(runner, argv=[]) as p:
        (
            files.lines(p, paths)
            | hr.FlatMap(str.split)
            | hr.combiners.Count.PerElement()
            | hr.Write(kept)
        )
    return kept


def results(workload: str, kept: Kept) -> Results:
    if workload == "word_count":
        return dict(pair for batch in kept.batches for pair in batch.bundle.values)
    return {
        (key, window[0] / MICROS): result
        for batch in kept.batches
        for (key, result), (window,) in zip(batch.bundle.values, batch.bundle.windows, strict=False)
    }
