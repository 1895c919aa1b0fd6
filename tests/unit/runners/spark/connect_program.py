"""Pipelines in a session of Spark Connect; prints what they give as JSON. Run by test_connect.py."""

import json

import attrs
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import capture


@attrs.frozen
class Shop:
    """A key of ``__main__``."""

    name: str


def failing(number):
    if number == 3:
        raise ValueError("the milk is spilled")
    return number


def totals():
    with hr.Pipeline(runner="spark") as p:
        pairs = p | hr.Create([(Shop("quay"), 1), (Shop("mill"), 2), (Shop("quay"), 3)])
        found = capture(pairs | hr.CombinePerKey(sum) | hr.MapTuple(lambda s, n: (s.name, n)))
    return sorted(found.values)


def with_a_frame(spark):
    frame = spark.range(5).toDF("n")
    with hr.Pipeline(runner="spark") as p:
        numbers = p | hr.io.FromDataFrame(frame) | hr.Map(lambda row: row.n)
        found = capture((numbers, p | hr.Create([7])) | hr.Flatten() | hr.CombineGlobally(sum))
    return found.values


def error_of(run):
    try:
        run()
    except Exception as error:
        return [type(error).__name__, str(error), *getattr(error, "__notes__", ())]
    return []


def fail():
    with hr.Pipeline(runner="spark") as p:
        capture(p | hr.Create([1, 2, 3]) | "Fail" >> hr.Map(failing))


def stream():
    with hr.Pipeline(runner="spark", argv=["--streaming"]) as p:
        capture(p | hr.Create([1]))


def main():
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    found = {
        "totals": totals(),
        "frame": with_a_frame(spark),
        "failure": error_of(fail),
        "streaming": error_of(stream),
        "zone": spark.conf.get("spark.sql.session.timeZone"),
    }
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
