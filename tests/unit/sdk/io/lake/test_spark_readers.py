"""Tables that are written here are read by the connectors of Delta and Iceberg for Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr
from headrace.testing import TestStream
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from tests.support.repository import ROOT
from tests.support.services import kafka
from tests.unit.sdk.io.lake.lakes import lake

CONNECTORS = {
    "4.1": (
        "io.delta:delta-spark_4.1_2.13:4.4.0",
        "io.delta:delta-storage:4.4.0",
        "io.delta:delta-kernel-api:4.4.0",
        "io.delta:delta-kernel-defaults:4.4.0",
        "io.delta:delta-kernel-unitycatalog:4.4.0",
        "io.unitycatalog:unitycatalog-client:0.6.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    )
}
"""By version of Spark. For Spark 4.3 neither format has a connector yet, and for 4.2 Iceberg has none."""


def jars(spark: str) -> str:
    """The connectors for a version of Spark, fetched once for a checkout."""
    folder = ROOT / "out" / "lake-jars" / spark
    kafka.fetch_once(CONNECTORS[spark], folder, alone=True)
    return ",".join(map(str, sorted(folder.glob("*.jar"))))


@pytest.mark.spark
@pytest.mark.spark_versions
@pytest.mark.skipif(not kafka.is_installed(), reason="Maven fetches the connectors")
def test_spark_reads_what_was_written_and_corrected(tmp_path: Path) -> None:
    version = ".".join(pytest.importorskip("pyspark").__version__.split(".")[:2])
    if version not in CONNECTORS:
        pytest.skip(f"no connectors of Delta and Iceberg are known to fit Spark {version}")
    delta, iceberg = lake("delta", tmp_path / "delta"), lake("iceberg", tmp_path / "iceberg")
    stream = (
        TestStream()
        .add_elements([hr.TimestampedValue(("quay", 5), 1), hr.TimestampedValue(("weir", 7), 2)])
        .advance_watermark_to(100)
        .add_elements([hr.TimestampedValue(("quay", 3), 3)])
        .advance_watermark_to_infinity()
    )
    windows = hr.WindowInto(
        hr.window.FixedWindows(10),
        trigger=AfterWatermark(late=AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
        allowed_lateness=1000,
    )
    with hr.Pipeline() as p:
        totals = p | stream | windows | hr.CombinePerKey(sum)
        for name, table in (("delta", delta), ("iceberg", iceberg)):
            write = table.write(key="place", columns=["place", "total"], windows=True)
            _ = totals | name >> write
    tables = [f"delta={delta.path}", f"iceberg={iceberg.table().metadata_location}"]
    command = [sys.executable, "-m", "tests.unit.sdk.io.lake.spark_reader", jars(version), *tables]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    bounds = ["1970-01-01 00:00:00", "1970-01-01 00:00:10"]
    rows = [["quay", "8", *bounds], ["weir", "7", *bounds]]
    assert [json.loads(line) for line in told.splitlines() if line.startswith("[[")] == [rows, rows]
