"""Nothing is computed twice: branches, a Flatten across levels, groupings in a row, sinks; one Spark job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import headrace as hr
from headrace.runners.spark import SparkRunner
from headrace.testing import capture

from .recording_dofns import Parts, RecordingDoFn, counted, elements, recorded

STEPS = ("source", "even", "sums", "again", "third", "plain", "all")


def build(p: hr.Pipeline, place: Path) -> dict[str, Any]:
    """Three branches, one of which is grouped twice in a row; all meet in the last step."""

    def noting(name: str) -> Any:
        return name >> hr.ParDo(RecordingDoFn(name, place))

    numbers = p | hr.Read(Parts([range(0, 300), range(300, 500)])) | noting("source")
    even = numbers | hr.Filter(lambda n: n % 2 == 0) | noting("even")
    sums = even | hr.WithKeys(lambda n: n % 50) | hr.GroupByKey()
    sums = (
        sums
        | "to sums" >> hr.MapTuple(lambda key, values: (key % 10, sum(values)))
        | noting("sums")
    )
    again = sums | "again by key" >> hr.GroupByKey()
    again = (
        again
        | "to sums again" >> hr.MapTuple(lambda key, values: (key, sum(values)))
        | noting("again")
    )
    third = numbers | "by 3" >> hr.Map(lambda n: (n % 3, n)) | hr.CombinePerKey(sum)
    third = third | noting("third")
    plain = numbers | "negative" >> hr.Map(lambda n: (-n, n)) | noting("plain")
    everything = (sums, again, third, plain) | hr.Flatten() | noting("all")
    named = {"sums": sums, "again": again, "third": third, "all": everything}
    return {name: capture(collection, f"write {name}") for name, collection in named.items()}


def run(runner: Any, place: Path) -> tuple[Any, dict[str, list[Any]]]:
    place.mkdir()
    p = hr.Pipeline(runner=runner)
    found = build(p, place)
    result = p.run()
    return result, {name: sorted(taken.values) for name, taken in found.items()}


def test_each_element_once_in_one_job(spark: SparkSession, tmp_path: Path) -> None:
    _, expected = run("local", tmp_path / "local")
    spark.sparkContext.setJobGroup("once", "one job")
    result, found = run(SparkRunner(spark), tmp_path / "spark")
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("once")
    spark.sparkContext.setJobGroup("others", "others")
    assert found == expected
    assert len(jobs) == 1
    for name in STEPS:
        seen = elements(name, tmp_path / "spark")
        assert seen == elements(name, tmp_path / "local")
        assert set(seen.values()) == {1}, "the elements of a step all differ"
        number, sizes = counted(result, name)
        assert (number, sizes.count) == (len(seen), len(seen))
        assert result.metrics().steps[name].elements_in == len(seen)
        assert os.getpid() not in recorded(name, tmp_path / "spark"), "all of it on workers"
