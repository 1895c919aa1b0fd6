"""The delivery of a sink is chosen where it is written, is refused by name, and is shown by hr.explain."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import attrs
import pytest

import headrace as hr
from headrace.errors import UnsupportedError
from headrace.grouping.bundle import Bundle
from headrace.io import Delivery
from headrace.sdk.io.table.sink import TableSink
from headrace.sdk.sources.sink import Sink, SinkBatch


class Lines(Sink):
    """A plain sink."""

    def write(self, batch: SinkBatch) -> None:
        """Drop a batch."""


@attrs.frozen(eq=False)
class Numbered(Sink):
    """A frozen sink that offers everything."""

    deliveries = tuple(Delivery)
    delivery: Delivery = Delivery.EXACTLY_ONCE

    def write(self, batch: SinkBatch) -> None:
        """Drop a batch."""


def test_a_plain_sink_delivers_at_least_once_and_refuses_the_rest_by_name() -> None:
    assert Lines().delivery is Delivery.AT_LEAST_ONCE
    with pytest.raises(UnsupportedError, match="Lines cannot deliver exactly once"):
        hr.io.Write(Lines(), delivery=Delivery.EXACTLY_ONCE)


def test_files_deliver_exactly_once_and_nothing_else(tmp_path: Path) -> None:
    sink = hr.io.TextSink(hr.io.FileNaming(str(tmp_path / "out")))
    assert sink.with_delivery(Delivery.EXACTLY_ONCE) is sink
    with pytest.raises(UnsupportedError, match="TextSink cannot deliver at most once"):
        hr.io.Write(sink, delivery=Delivery.AT_MOST_ONCE)


def test_a_delivery_must_be_one() -> None:
    with pytest.raises(TypeError, match="delivery must be one of"):
        hr.io.Write(Lines(), delivery="exactly once")  # type: ignore[arg-type]


def test_a_chosen_delivery_leaves_the_given_sink_as_it_is() -> None:
    sink = Numbered()
    assert sink.with_delivery(Delivery.AT_MOST_ONCE).delivery is Delivery.AT_MOST_ONCE
    assert sink.delivery is Delivery.EXACTLY_ONCE


@pytest.mark.parametrize("format", ["text", "mermaid", "html"])
def test_a_plan_shows_the_delivery_of_each_sink(format: str) -> None:
    p = hr.Pipeline()
    rows = p | hr.Create(["a"])
    _ = rows | "Plain" >> hr.io.Write(Lines())
    _ = rows | "Chosen" >> hr.io.Write(Numbered(), delivery=Delivery.AT_MOST_ONCE)
    text = str(hr.explain(p, format=format))  # type: ignore[arg-type]
    assert text.count("delivers: at least once") == text.count("delivers: at most once") == 1


def _batch(number: int, *rows: dict[str, int]) -> SinkBatch:
    return SinkBatch(number, 0, Bundle(list(rows)), "run", "step", streaming=True)


def _table(file: Path, delivery: Delivery) -> TableSink:
    sink = TableSink(str(file), "t", (), None, {}, False, delivery=delivery)
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
    for batch in (_batch(0, {"n": 1}), _batch(1, {"n": 2}), _batch(1, {"n": 2})):
        sink = _table(file, delivery)
        sink.write(batch)
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
    sink = _table(file, delivery)
    sink.write(_batch(0, {"n": 1}))
    with pytest.raises(hr.ElementError):
        sink.write(_batch(1, {"n": 1 << 70}))
    sink.write(_batch(1, {"n": 2}))
    sink.close()
    assert _values(file) == values
