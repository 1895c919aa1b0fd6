"""Sessions of a Spark DataFrame: a DataFrame in, and a DataFrame out.

    python examples/dataframe_in_and_out.py

The input is a DataFrame of page views. The job groups the views of each visitor into visits, with less than
half an hour between views, and describes each visit: its begin, its number of pages, and the path through
the pages. The path is plain Python, which is hard to express in SQL. The result is a DataFrame again, and
Spark SQL continues with it. A streaming DataFrame of views becomes a table of visits that grows with each
batch, and a function that gets each batch.
"""

from __future__ import annotations

from random import Random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.runners.spark import SparkRunner

MINUTE = 60
GAP = 30 * MINUTE
PAGES = ["home", "search", "product", "cart"]

View = tuple[str, int, str]


def views(count: int = 200, visitors: int = 12, seed: int = 1) -> list[View]:
    """Return page views: a visitor, the time in seconds, and a page; in no order."""
    random = Random(seed)
    found: set[tuple[str, int]] = set()
    while len(found) < count:
        second = 1_767_225_600 + random.randrange(12 * 60 * MINUTE)
        found.add((f"visitor-{random.randrange(visitors):02}", second))
    return [(visitor, second, random.choice(PAGES)) for visitor, second in sorted(found)]


def to_visit(group: tuple[str, list[tuple[int, str]]]) -> hr.Row:
    """Return a visit; the views of a group have no order, so they are sorted by time."""
    visitor, views = group
    ordered = sorted(views)
    path = " > ".join(page for _, page in ordered)
    return hr.Row(visitor=visitor, begin=ordered[0][0], pages=len(ordered), path=path)


class Visits(hr.PTransform[Any, hr.PCollection[hr.Row]]):
    """Turns views with the fields visitor, second and page, at their event times, into visits."""

    def expand(self, pcoll: hr.PCollection[hr.Row]) -> hr.PCollection[hr.Row]:
        return (
            pcoll
            | "By visitor" >> hr.Map(lambda view: (view.visitor, (view.second, view.page)))
            | "Into visits" >> hr.WindowInto(hr.window.Sessions(GAP))
            | "Group" >> hr.GroupByKey()
            | "To visits" >> hr.Map(to_visit)
        )


def visits_of(frame: DataFrame) -> DataFrame:
    """Return the visits of a DataFrame of views."""
    visits = hr.io.ToDataFrame({"visitor": str, "begin": int, "pages": int, "path": str})
    with hr.Pipeline(runner=SparkRunner(frame.sparkSession)) as pipeline:
        pipeline | hr.io.FromDataFrame(frame, timestamp="second") | Visits() | visits
    frame_of_visits: DataFrame = visits.dataframe()
    return frame_of_visits


def growing_visits(stream: DataFrame, sizes: dict[int, int]) -> DataFrame:
    """Return the visits of a streaming DataFrame of views, which is read until it is caught up.

    Args:
        stream: the views.
        sizes: receives the number of visits in each batch.
    """

    def count(batch: DataFrame, number: int) -> None:
        sizes[number] = batch.count()

    columns = {"visitor": str, "begin": int, "pages": int, "path": str}
    table = hr.io.ToDataFrame(columns)
    runner = SparkRunner(stream.sparkSession)
    with hr.Pipeline(runner=runner, argv=["--until-caught-up"]) as pipeline:
        watermark = hr.BoundedOutOfOrderness(12 * 60 * MINUTE)
        rows = pipeline | hr.io.FromDataFrame(stream, timestamp="second", watermark=watermark)
        visits = rows | Visits()
        visits | table
        visits | hr.io.ForeachBatch(count, columns)
    frame_of_visits: DataFrame = table.dataframe()
    return frame_of_visits


def main() -> None:
    """Print the longest visits."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    frame = spark.createDataFrame(views(), "visitor STRING, second LONG, page STRING")
    visits_of(frame).orderBy("pages", ascending=False).show(10, truncate=False)
    spark.stop()


if __name__ == "__main__":
    main()
