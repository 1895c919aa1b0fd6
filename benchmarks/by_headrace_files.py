"""The workloads as Headrace pipelines over Parquet files, on any runner.

``Rows`` reads files with the same function as the hand-written RDD code, so the two differ only after the
read. ``Dictionaries`` reads with ``hr.io.ReadFromParquet``, as most users do. ``Columns`` does so too, and
names the fields of pairs, so that no element is made before the grouping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, Protocol

import attrs
from by_headrace import SumAndCount
from parquet_input import events_of, lines_of
from workloads import GAP, WINDOW, Event, Results

import headrace as hr

MICROS = 1_000_000


class Input(Protocol):
    """A way to read the files."""

    sum_and_count: Any
    """The CombineFn of sessions."""

    def pairs(self, p: hr.Pipeline, paths: list[str]) -> Any:
        """Return timestamped pairs of key and value."""

    def lines(self, p: hr.Pipeline, paths: list[str]) -> Any:
        """Return lines."""


@attrs.frozen
class EventFiles(hr.io.BoundedSource[Event]):
    """Events from Parquet files; each file is a partition."""

    paths: list[str]

    def partitions(self) -> list[str]:
        return self.paths

    def read(self, partition: str) -> Iterator[Event]:
        return events_of(partition)


@attrs.frozen
class LineFiles(hr.io.BoundedSource[str]):
    """Lines from Parquet files; each file is a partition."""

    paths: list[str]

    def partitions(self) -> list[str]:
        return self.paths

    def read(self, partition: str) -> Iterator[str]:
        return lines_of(partition)


class Rows:
    """Reads tuples and strings with custom sources."""

    sum_and_count = SumAndCount()

    def pairs(self, p: hr.Pipeline, paths: list[str]) -> Any:
        events = p | hr.Read(EventFiles(paths)) | hr.WithTimestamps(lambda event: event[0])
        return events | "Pair" >> hr.Map(lambda event: (event[1], event[2]))

    def lines(self, p: hr.Pipeline, paths: list[str]) -> Any:
        return p | hr.Read(LineFiles(paths))


class Dictionaries:
    """Reads dictionaries with ``hr.io.ReadFromParquet``."""

    sum_and_count: Any = SumAndCount()

    def pairs(self, p: hr.Pipeline, paths: list[str]) -> Any:
        read = hr.io.ReadFromParquet(paths, columns=["key", "value"], timestamp="time")
        return p | read | "Pair" >> hr.Map(lambda event: (event["key"], event["value"]))

    def lines(self, p: hr.Pipeline, paths: list[str]) -> Any:
        read = hr.io.ReadFromParquet(paths, columns=["line"])
        return p | read | "Line" >> hr.Map(lambda record: record["line"])


class Columns(Dictionaries):
    """Reads columns with ``hr.io.ReadFromParquet``, and combines them with known CombineFns."""

    sum_and_count = hr.combiners.SingleInputTupleCombineFn(sum, hr.combiners.CountCombineFn())

    def pairs(self, p: hr.Pipeline, paths: list[str]) -> Any:
        read = hr.io.ReadFromParquet(paths, timestamp="time")
        return p | read | "Pair" >> hr.Map(itemgetter("key", "value"))

    def lines(self, p: hr.Pipeline, paths: list[str]) -> Any:
        return p | hr.io.ReadFromParquet(paths) | "Line" >> hr.Map(itemgetter("line"))


@attrs.define
class CollectingSink(hr.io.Sink):
    """Collects batches in the process that runs the pipeline."""

    batches: list[hr.io.SinkBatch] = attrs.field(factory=list)

    def write(self, batch: hr.io.SinkBatch) -> None:
        self.batches.append(batch)


def windowed_sum(
    runner: Any, files: Input, paths: list[str], flags: Sequence[str] = ()
) -> CollectingSink:
    sink = CollectingSink()
    with hr.Pipeline(runner, argv=[*flags]) as p:
        (
            files.pairs(p, paths)
            | hr.WindowInto(hr.window.FixedWindows(WINDOW))
            | hr.CombinePerKey(sum)
            | hr.Write(sink)
        )
    return sink


def sessions(
    runner: Any, files: Input, paths: list[str], flags: Sequence[str] = ()
) -> CollectingSink:
    sink = CollectingSink()
    with hr.Pipeline(runner, argv=[*flags]) as p:
        (
            files.pairs(p, paths)
            | hr.WindowInto(hr.window.Sessions(GAP))
            | hr.CombinePerKey(files.sum_and_count)
            | hr.Write(sink)
        )
    return sink


def word_count(
    runner: Any, files: Input, paths: list[str], flags: Sequence[str] = ()
) -> CollectingSink:
    sink = CollectingSink()
    with hr.Pipeline(runner, argv=[*flags]) as p:
        (
            files.lines(p, paths)
            | hr.FlatMap(str.split)
            | hr.combiners.Count.PerElement()
            | hr.Write(sink)
        )
    return sink


def results(workload: str, sink: CollectingSink) -> Results:
    if workload == "word_count":
        return dict(pair for batch in sink.batches for pair in batch.bundle.values)
    return {
        (key, window[0] / MICROS): result
        for batch in sink.batches
        for (key, result), (window,) in zip(batch.bundle.values, batch.bundle.windows, strict=False)
    }
