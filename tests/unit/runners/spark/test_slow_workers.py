"""A Python process that does not start in the ten seconds that Spark allows: the batch is tried again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PipelineError
from headrace.runners.spark import SparkRunner
from headrace.runners.spark.cluster.error_transport import WorkerStartError
from headrace.runners.spark.cluster.options import spark_settings
from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.testing import TestStream, capture

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SLOW = """#!/bin/sh
case "$*" in *python_streaming_source_runner*)
    echo start >> {starts}
    if [ $(wc -l < {starts}) -le {slow} ]; then sleep 12; fi;;
esac
exec {python} "$@"
"""
"""A Python whose first processes that read sources start too late."""


@pytest.fixture
def slow_python(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(slow: int) -> Path:
        starts, script = tmp_path / "starts", tmp_path / "python"
        script.write_text(SLOW.format(starts=starts, slow=slow, python=sys.executable))
        script.chmod(0o755)
        monkeypatch.setenv("PYSPARK_PYTHON", str(script))
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(script))
        return starts

    return use


def sums(spark: Any, *flags: str) -> list[Any]:
    p = hr.Pipeline(SparkRunner(spark), argv=["--streaming", *flags])
    stream = TestStream().add_elements([("a", 1), ("a", 2)]).advance_watermark_to_infinity()
    captured = capture(p | stream | hr.CombinePerKey(sum))
    p.run().wait_until_finish()
    return [element.value for element in captured.elements]


def test_the_batch_is_tried_again(spark, slow_python, caplog: pytest.LogCaptureFixture) -> None:
    starts = slow_python(1)
    assert sums(spark) == [("a", 3)]
    assert len(starts.read_text().splitlines()) == 2
    (warning,) = (r.getMessage() for r in caplog.records if "tried again" in r.getMessage())
    assert "did not start within ten seconds" in warning


def test_up_to_a_limit(spark, slow_python) -> None:
    slow_python(9)
    with pytest.raises(WorkerStartError, match="--batch-retries"):
        sums(spark, "--batch-retries=0")


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(PipelineError, match="--batch-retries is -1"):
        spark_settings(PipelineOptions(["--batch-retries=-1"]))
