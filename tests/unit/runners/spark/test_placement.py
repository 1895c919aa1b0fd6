"""Key groups are divided evenly over Spark's partitions, by Spark's own hash."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st
from pyspark.sql import SparkSession, functions as F

from headrace.runners.spark.shuffle.placement import place_column, places, spark_hash


@given(st.integers(1, 40), st.integers(1, 40))
def test_each_partition_has_as_many_key_groups_as_any_other(groups: int, partitions: int) -> None:
    found = places(groups, partitions)
    assert len(set(found)) == groups
    sizes = Counter(spark_hash(place) % partitions for place in found)
    assert max(sizes.values()) - min(sizes.values()) <= 1
    assert len(sizes) == min(groups, partitions)


@pytest.mark.spark
def test_spark_puts_key_groups_where_they_are_expected(spark: SparkSession) -> None:
    numbers = spark.range(-3, 500).select(F.col("id").cast("int").alias("n"))
    rows = numbers.select("n", F.hash("n")).collect()
    assert [spark_hash(n) for n, _ in rows] == [found for _, found in rows]
    groups = spark.range(21).select(F.col("id").cast("int").alias("group"))
    placed = groups.repartition(4, place_column(21, 4)).select("group", F.spark_partition_id())
    assert dict(placed.collect()) == {group: group % 4 for group in range(21)}
