"""The delivery of a sink is chosen where it is written, is refused by name, and is shown by hr.explain."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import attrs
import pytest

import headrace as hr
from headrace.errors import UnsupportedError
from headrace.grouping.bundle import Bundle
from headrace.io import Delivery
from headrace.sdk.io.table.sink import TableSink
from headrace.sdk.sources.sink import Commit, PartSink, Sink, SinkBatch, SinkPart


class Lines(Sink):
    """A plain sink."""

    def write(self, batch: SinkBatch) -> None:
        """Drop a batch."""


@attrs.frozen(eq=False)
class Numbered(Sink):
    """A frozen sink that offers everything."""

    got: list[Delivery] = attrs.field(factory=list)

    deliveries = tuple(Delivery)
    delivery = Delivery.EXACTLY_ONCE

    def write(self, batch: SinkBatch) -> None:
        """Note what is wanted."""
        self.got.append(batch.delivery)


def test_a_plain_sink_delivers_at_least_once_and_refuses_the_rest_by_name() -> None:
    assert Lines().delivery is Delivery.AT_LEAST_ONCE
    with pytest.raises(UnsupportedError, match="Lines cannot deliver exactly once"):
        hr.io.Write(Lines(), delivery=Delivery.EXACTLY_ONCE)


def test_files_deliver_exactly_once_and_nothing_else(tmp_path: Path) -> None:
    sink = hr.io.TextSink(hr.io.FileNaming(str(tmp_path / "out")))
    assert sink.delivery is Delivery.EXACTLY_ONCE
    with pytest.raises(UnsupportedError, match="TextSink cannot deliver at most once"):
        hr.io.Write(sink, delivery=Delivery.AT_MOST_ONCE)


def test_a_delivery_must_be_one() -> None:
    with pytest.raises(TypeError, match="delivery must be one of"):
        hr.io.Write(Lines(), delivery="exactly once")  # type: ignore[arg-type]


@pytest.mark.parametrize("chosen", [None, *Delivery])
def test_a_sink_is_told_the_delivery_with_each_batch(chosen: Delivery | None) -> None:
    sink = Numbered()
    with hr.Pipeline() as p:
        _ = p | hr.Create(["a"]) | hr.io.Write(sink, delivery=chosen)
    assert sink.got == [chosen or Delivery.EXACTLY_ONCE]


@attrs.frozen(eq=False)
class Staged(PartSink):
    """A sink whose workers and whose driver note what is wanted."""

    got: list[Delivery] = attrs.field(factory=list)

    deliveries = tuple(Delivery)

    def write_part(self, part: SinkPart) -> Delivery:
        return part.delivery

    def commit(self, commit: Commit) -> None:
        self.got.extend([*commit.written, commit.delivery])


@pytest.mark.mode("batch")
@pytest.mark.parametrize("chosen", [None, Delivery.AT_MOST_ONCE])
def test_parts_and_commits_are_told_too(runner: Any, chosen: Delivery | None) -> None:
    sink = Staged()
    with hr.Pipeline(runner=runner) as p:
        _ = p | hr.Create(["a"]) | hr.io.Write(sink, delivery=chosen)
    assert set(sink.got) == {chosen or Delivery.AT_LEAST_ONCE}


@pytest.mark.parametrize("format", ["text", "mermaid", "html"])
def test_a_plan_shows_the_delivery_of_each_sink(format: str) -> None:
    p = hr.Pipeline()
    rows = p | hr.Create(["a"])
    _ = rows | "Plain" >> hr.io.Write(Lines())
    _ = rows | "Chosen" >> hr.io.Write(Numbered(), delivery=Delivery.AT_MOST_ONCE)
    text = str(hr.explain(p, format=format))  # type: ignore[arg-type]
    assert text.count("delivers: at least once") == text.count("delivers: at most once") == 1


def _batch(number: int, delivery: Delivery, *rows: dict[str, int]) -> SinkBatch:
    bundle = Bundle(list(rows))
    return SinkBatch(number, 0, bundle, "run", "step", streaming=True, delivery=delivery)


def _table(file: Path) -> TableSink:
    sink = TableSink(str(file), "t", (), None, {}, False)
    sink.open()
    return sink


def _values(file: Path) -> list[int]:
    with sqlite3.connect(file) as connection:
        return sorted(n for (n,) in connection.execute("select n from t"))


@pytest.mark.parametrize(
    ("delivery", "values"),
    [
        (Delivery.EXACTLY_ONCE, [1, 2]),
        (Delivery.AT_LEAST_ONCE, [1, 2, 2]),
        (Delivery.AT_MOST_ONCE, [1, 2]),
    ],
)
def test_a_repeated_batch_of_a_table(tmp_path: Path, delivery: Delivery, values: list[int]) -> None:
    file = tmp_path / "table.db"
    for number, n in ((0, 1), (1, 2), (1, 2)):
        sink = _table(file)
        sink.write(_batch(number, delivery, {"n": n}))
        sink.close()
    assert _values(file) == values


@pytest.mark.parametrize(
    ("delivery", "values"),
    [(Delivery.EXACTLY_ONCE, [1, 2]), (Delivery.AT_MOST_ONCE, [1])],
)
def test_a_batch_of_a_table_that_failed_is_written_again_unless_at_most_once(
    tmp_path: Path, delivery: Delivery, values: list[int]
) -> None:
    file = tmp_path / "table.db"
    sink = _table(file)
    sink.write(_batch(0, delivery, {"n": 1}))
    with pytest.raises(hr.ElementError):
        sink.write(_batch(1, delivery, {"n": 1 << 70}))
    sink.write(_batch(1, delivery, {"n": 2}))
    sink.close()
    assert _values(file) == values
