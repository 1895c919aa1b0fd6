"""Streaming runs without a checkpoint leave no directory, also when Spark unloads their state later."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runners.spark import SparkRunner
from headrace.testing import capture

RUNS = 3


def run(spark: SparkSession) -> list[Any]:
    p = hr.Pipeline(runner=SparkRunner(spark), argv=["--streaming", "--key-groups=2"])
    sums = p | hr.Create([("a", 1), ("a", 2), ("b", 3)]) | hr.CombinePerKey(sum)
    found = capture(sums)
    p.run().wait_until_finish()
    return sorted(found.values)


def loaded_state(spark: SparkSession) -> list[str]:
    """Return the directories of the state that Spark has loaded, and writes before it unloads the state."""
    jvm: Any = spark._jvm
    states = jvm.org.apache.spark.sql.execution.streaming.state
    store = getattr(getattr(states, "StateStore$"), "MODULE$")
    loaded = store.getClass().getDeclaredField("loadedProviders")
    loaded.setAccessible(True)
    found, each = [], loaded.get(store).keySet().iterator()
    while each.hasNext():
        found.append(each.next().storeId().checkpointRootLocation())
    return found


def test_runs_in_one_process_leave_no_directory(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for _ in range(RUNS):
        assert run(spark) == [("a", 3), ("b", 3)]
    assert [place for place in loaded_state(spark) if str(tmp_path) in place] == []
    assert list(tmp_path.glob("headrace-run-*")) == []
