"""DataFrames as tables on the local runner: only the needed columns are collected, with the same results."""

from operator import attrgetter
from typing import Any

import narwhals as nw
import pytest
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.errors import ElementError, PipelineError
from headrace.sdk.io.frames.frame_source import BoundedFrame
from headrace.sdk.testing.assertions.capturing import capture

pytestmark = pytest.mark.spark

PAID = nw.col("price") * nw.col("quantity")


def totals(frame: DataFrame, timestamp: str) -> Any:
    """Return the sums of a DataFrame by shop and window."""
    with hr.Pipeline("local", argv=[]) as p:
        sales = p | hr.io.FromDataFrame(frame, timestamp=timestamp)
        paid = sales | hr.Filter(nw.col("price") > 1) | hr.WithFields(paid=PAID)
        sums = (
            paid
            | hr.WindowInto(hr.window.FixedWindows(4))
            | hr.Map(attrgetter("shop of the sale", "paid"))
            | hr.CombinePerKey(sum)
        )
        found = capture(sums)
    return sorted(repr((e.value, e.timestamp, e.windows)) for e in found.elements)


def test_only_needed_columns_are_collected(spark: SparkSession) -> None:
    columns = [
        "timestamp_seconds(id) AS at",
        "id % 3 AS `shop of the sale`",
        "CAST(1000 * id AS INT) AS price",
        "CAST(1000000 * id AS INT) AS quantity",
    ]
    frame = spark.range(10, numPartitions=2).selectExpr(*columns)
    refusing = spark.range(10).selectExpr(*columns, "raise_error('read') AS other")
    found = totals(refusing, "at")
    assert found == totals(frame, "at")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoundedFrame, "records", None)
        assert found == totals(frame, "at")
    repeated = frame.selectExpr("*", "price AS PRICE")
    assert found == totals(repeated, "at")
    with pytest.raises(PipelineError, match="there is no column 'when'"):
        totals(frame, "when")
    untimed = frame.selectExpr("*", "CASE WHEN price = 2000 THEN NULL ELSE at END AS sold")
    with pytest.raises(ElementError, match="not a time"):
        totals(untimed, "sold")
