"""Sinks are told the watermark: with their elements, and without any if they ask for that."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

import headrace as hr
from headrace.grouping.bundle import Bundle, Element
from headrace.io import Commit, PartSink, Sink, SinkBatch, SinkPart
from headrace.testing import TestStream
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND

from .stages import Stream, run_batch
from .test_side_input_stages import LocalRounds


@attrs.define
class Told(Sink):
    """Remembers what it is told."""

    told: list[tuple[int | None, list[Any]]] = attrs.field(factory=list)

    def write(self, batch: SinkBatch) -> None:
        self.told.append((batch.watermark, list(batch.bundle.values)))


@attrs.define
class Asks(Told):
    """Remembers what it is told, and wants to be told of each watermark."""

    wants_watermarks: ClassVar[bool] = True


@attrs.define
class PartAsks(PartSink):
    """The same for parts, whose watermark is known only at their commit."""

    wants_watermarks: ClassVar[bool] = True
    told: list[tuple[int | None, list[Any]]] = attrs.field(factory=list)

    def write_part(self, part: SinkPart) -> list[Any]:
        assert part.watermark is None
        return list(part.bundle.values)

    def commit(self, commit: Commit) -> None:
        self.told.append((commit.watermark, [value for part in commit.written for value in part]))


def pipeline(source: Any) -> tuple[hr.Pipeline, Told, Asks, PartAsks]:
    """Values to three sinks, two of them behind a grouping."""
    told, asks, parts = Told(), Asks(), PartAsks()
    p = hr.Pipeline()
    values = p | "in" >> source
    sums = values | hr.WindowInto(hr.window.FixedWindows(10)) | hr.CombinePerKey(sum)
    _ = values | "told" >> hr.Write(told)
    _ = sums | "asks" >> hr.Write(asks)
    _ = sums | "parts" >> hr.Write(parts)
    return p, told, asks, parts


ROUNDS = [([("a", 1)], -5), ([], 5), ([("a", 2)], 12), ([], 25)]


def run(rounds: Any) -> None:
    for elements, watermark in ROUNDS:
        rows = [Element(value, 3 * SECOND, (hr.window.GlobalWindow(),)) for value in elements]
        rounds.round({"in": Bundle.of(rows)} if rows else {}, {"in": watermark * SECOND}, 0)


def test_the_watermarks_of_a_stream_are_the_same_on_both_runners() -> None:
    p, told, asks, parts = pipeline(TestStream())
    run(Stream(p.graph, 2, 1))
    local, local_told, local_asks, local_parts = pipeline(TestStream())
    run(LocalRounds(local.graph))
    assert told.told == local_told.told
    assert told.told == [(w * SECOND, elements) for elements, w in ROUNDS if elements]
    pane = [("a", 3)]
    assert asks.told == [(w * SECOND, pane if w == 12 else []) for _, w in ROUNDS]
    assert asks.told == parts.told == local_asks.told == local_parts.told


def test_the_watermark_of_a_batch_is_at_the_end_of_time() -> None:
    p, told, asks, parts = pipeline(hr.Create([("a", 1), ("a", 2)]))
    run_batch(p.graph, 2, 1)
    assert told.told == [(MAX_MICROS, [("a", 1), ("a", 2)])]
    assert asks.told == parts.told == [(MAX_MICROS, [("a", 3)])]
    local, local_told, local_asks, local_parts = pipeline(hr.Create([("a", 1), ("a", 2)]))
    local.run()
    assert (local_told, local_asks, local_parts) == (told, asks, parts)
