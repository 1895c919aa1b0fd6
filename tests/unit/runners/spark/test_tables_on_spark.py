"""Batches on Spark: steps on columns give the results of elements, and read only the fields that they use."""

from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.sdk.testing.assertions.capturing import capture

pytestmark = pytest.mark.spark

COLUMNS = {
    "time": [None if n == 60 else float(n % 50) for n in range(60)],
    "shop": [("quay", "mill", None, "ß")[n % 4] for n in range(60)],
    "price": [n % 7 for n in range(60)],
    "quantity": [None if n % 11 == 0 else 2**61 - n for n in range(60)],
}
COMBINERS: list[Any] = [sum, max, hr.combiners.MeanCombineFn(), hr.combiners.CountCombineFn()]
WINDOWS = [
    hr.window.GlobalWindows(),
    hr.window.FixedWindows(7),
    hr.window.SlidingWindows(10, 4),
    hr.window.Sessions(2),
]


def totals(p: hr.Pipeline, read: Any, on_columns: bool) -> list[Any]:
    """Return what each grouping of the records of a source emits, when it has run.

    Args:
        p: the pipeline.
        read: the reading transform.
        on_columns: whether filters and fields are expressions; else they are functions.
    """
    sales = p | f"Read {on_columns}" >> read
    if on_columns:
        dear = sales | hr.Filter(nw.col("price") > 1)
        paid = dear | hr.WithFields(paid=nw.col("price") * 3)
    else:
        dear = sales | "Dear" >> hr.Filter(lambda sale: sale.price > 1)
        paid = dear | "Paid" >> hr.Map(
            lambda sale: hr.Row(
                shop=sale.shop, quantity=sale.quantity, paid=sale.price * 3, price=sale.price
            )
        )
    taken = attrgetter("shop", "paid")
    pairs = paid | f"Pairs {on_columns}" >> (
        hr.Map(taken) if on_columns else hr.Map(lambda sale: taken(sale))
    )
    combined = [
        capture(
            pairs
            | f"Windows {on_columns} {number} {index}" >> hr.WindowInto(window_fn)
            | f"Combine {on_columns} {number} {index}" >> hr.CombinePerKey(combiner),
            f"Panes {on_columns} {number} {index}",
        )
        for number, combiner in enumerate(COMBINERS)
        for index, window_fn in enumerate(WINDOWS)
    ]
    taken_pair = attrgetter("price", "paid")
    together = hr.GroupBy("shop").aggregate_field(
        taken_pair if on_columns else lambda sale: taken_pair(sale),
        hr.combiners.CovarianceCombineFn(),
        "together",
    )
    weeks = f"Weeks {on_columns}" >> hr.WindowInto(WINDOWS[1])
    combined += [
        capture(paid | weeks | together, f"Together {on_columns}"),
        capture(
            pairs
            | f"Visits {on_columns}" >> hr.WindowInto(WINDOWS[3])
            | hr.combiners.Latest.PerKey(),
            f"Latest {on_columns}",
        ),
        capture(
            pairs
            | f"Days {on_columns}" >> hr.WindowInto(WINDOWS[1])
            | hr.combiners.Earliest.PerKey(),
            f"Earliest {on_columns}",
        ),
        capture(
            paid
            | f"Hours {on_columns}" >> hr.WindowInto(WINDOWS[1])
            | f"Shops {on_columns}" >> hr.Select("shop")
            | f"Once {on_columns}" >> hr.Distinct(),
            f"Distinct {on_columns}",
        ),
    ]
    if on_columns:
        rows = paid | hr.Select("shop", "paid") | hr.WithKeys(attrgetter("shop"))
    else:
        rows = pairs | "Rows" >> hr.MapTuple(
            lambda shop, cost: (shop, hr.Row(shop=shop, paid=cost))
        )
    for index in (1, 3):
        sides: Any = tuple(
            side | f"Side {on_columns} {index} {number}" >> hr.WindowInto(WINDOWS[index])
            for number, side in enumerate((pairs, rows))
        )
        matches = sides | f"Join {on_columns} {index}" >> hr.FullJoin()
        combined.append(capture(matches, f"Matches {on_columns} {index}"))
    return combined


def panes(captured: list[Any]) -> list[list[str]]:
    """Return the panes of each grouping, in order."""
    return [
        sorted(repr((e.value, e.timestamp, e.windows, e.pane)) for e in found.elements)
        for found in captured
    ]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    table = pa.table(COLUMNS)
    for name, part in (("a", table.slice(0, 25)), ("b", table.slice(25))):
        pq.write_table(part, tmp_path / f"{name}.parquet", row_group_size=10)
    return tmp_path


def reads(files: Path, spark: SparkSession) -> dict[str, Callable[[], Any]]:
    """Return the reading transforms of the same records, by name."""
    pattern = str(files / "*.parquet")

    def frame() -> DataFrame:
        other = "raise_error('an unused column is read') AS other"
        return spark.read.parquet(str(files)).selectExpr("*", other)

    return {
        "files": lambda: hr.io.ReadFromParquet(pattern, as_rows=True, timestamp="time"),
        "uri": lambda: hr.io.ReadFromParquet(f"file://{pattern}", as_rows=True, timestamp="time"),
        "format": lambda: hr.io.ReadFromSpark(
            "parquet", {"path": str(files)}, timestamp="time", streaming=False
        ),
        "frame": lambda: hr.io.FromDataFrame(frame(), timestamp="time"),
    }


@pytest.mark.parametrize("name", ["files", "uri", "format", "frame"])
def test_tables_give_the_results_of_elements(name: str, files: Path, spark: SparkSession) -> None:
    read = reads(files, spark)[name]
    with hr.Pipeline("local", argv=[]) as p:
        source = hr.io.ReadFromParquet(str(files / "*.parquet"), as_rows=True, timestamp="time")
        expected = totals(p, source, on_columns=False)
    with hr.Pipeline("spark", argv=[]) as p:
        found = totals(p, read(), on_columns=True)
    assert panes(found) == panes(expected)
