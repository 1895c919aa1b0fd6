"""Test streams whose rows reach the first steps as columns."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest

import headrace as hr
from headrace.sdk.pipelines.graph import Read
from headrace.testing import TableStream, TestPipeline, assert_that, capture, equal_to
from headrace.windowing import FixedWindows

pytestmark = pytest.mark.mode("streaming")


def row(price: object, time: int = 0, shop: str | None = "Lyon") -> Any:
    return hr.TimestampedValue(hr.Row(shop=shop, price=price), time)


def totals(p: Any, stream: TableStream) -> Any:
    windowed = p | stream | hr.Map(attrgetter("shop", "price")) | hr.WindowInto(FixedWindows(10))
    return windowed | "Total" >> hr.CombinePerKey(sum)


def test_rows_are_grouped_as_scripted(runner: str) -> None:
    stream = (
        TableStream()
        .add_elements([row(3), row(4, 8), row(5, 12), row(1, 1, None)])
        .advance_watermark_to(10)
        .add_elements([row(100, 2), row(6, 13)])  # one of them is late
    )
    with TestPipeline(runner) as p:
        assert_that(totals(p, stream), equal_to([("Lyon", 7), (None, 1), ("Lyon", 11)]))


def test_the_grouping_works_on_columns() -> None:
    p = TestPipeline("local")
    totals(p, TableStream().add_elements([row(3)]))
    assert "works on: columns" in str(hr.explain(p)).partition("CombinePerKey 'Total'")[2]


def test_rows_that_a_table_does_not_hold_exactly_stay_elements(runner: str) -> None:
    stream = TableStream().add_elements([row(1), row(0.5)]).add_elements([row(2)])
    with TestPipeline(runner) as p:
        found = capture(p | stream | hr.Map(attrgetter("price")))
    assert sorted(map(repr, found.values)) == ["0.5", "1", "2"]


def test_each_output_of_a_stream_has_tables() -> None:
    both: Any = TableStream().add_elements([row(3)], tag="a").add_elements([row(4)], tag="b")
    p = TestPipeline("local")
    _ = p | both
    reads = [node for node in p.graph if isinstance(node, Read)]
    assert [type(read.source) for read in reads] == [TableStream, TableStream]
