"""Keys that stay numbers of dictionaries of Parquet files reach Spark's workers, in both modes."""

from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.sdk.testing.assertions.capturing import capture

pytestmark = pytest.mark.spark

ROWS = 600
SHOPS: list[list[str | None]] = [["quay", "mill", None], ["mill", "lock"], ["harbour"]]


def totals(runner: str, argv: list[str], files: Path, keys: Any) -> list[str]:
    """Return the panes of two groupings of the same files."""
    with hr.Pipeline(runner, argv=argv) as p:
        rows = p | hr.io.ReadFromParquet(str(files), as_rows=True, timestamp="time")
        windowed = rows | hr.WindowInto(hr.window.FixedWindows(100))
        sums = windowed | hr.Map(keys) | hr.CombinePerKey(max)
        sides: Any = tuple(windowed | f"Side {n}" >> hr.Map(keys) for n in range(2))
        matches: Any = sides | hr.InnerJoin() | hr.CombinePerKey(hr.combiners.CountCombineFn())
        found = [capture(sums, "sums"), capture(matches, "matches")]
    return [repr(sorted(repr((e.value, e.windows)) for e in each.elements)) for each in found]


@pytest.mark.parametrize("argv", [[], ["--streaming", "--max-records-per-batch=700"]])
def test_the_results_are_those_of_elements(
    argv: list[str], tmp_path: Path, spark: SparkSession
) -> None:
    for number, shops in enumerate(SHOPS):
        times = [number * ROWS + row for row in range(ROWS)]
        names = [shops[row * row % len(shops)] for row in range(ROWS)]
        table = pa.table({"time": times, "shop": names, "price": times})
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=300)
    expected = totals("local", [], tmp_path, lambda sale: (sale.shop, sale.price))
    assert totals("spark", argv, tmp_path, attrgetter("shop", "price")) == expected
