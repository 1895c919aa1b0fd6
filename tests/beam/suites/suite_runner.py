"""The runner of Beam's suites, in the mode of the environment: local, spark or spark-streaming."""

from __future__ import annotations

import os
from typing import Any

import attrs
from apache_beam.options.pipeline_options import StandardOptions

from headrace.sdk.beam.programs.runner import HeadraceRunner
from tests.beam.suites.suite_batches import OnSpark

MODE = os.environ.get("HEADRACE_BEAM_MODE", "local")


@attrs.define
class SuiteRun:
    """The run of a suite.

    Attributes:
        spark: runs pipelines on Spark; None in the mode local.
        pipelines: the number of pipelines so far.
    """

    spark: OnSpark | None = attrs.field(factory=lambda: None if MODE == "local" else OnSpark())
    pipelines: int = 0


SUITE = SuiteRun()


class SuiteRunner(HeadraceRunner):
    """Headrace's runner in that mode; options of a test that name another runner do not matter."""

    def __init__(self, is_drain: bool = False) -> None:
        super().__init__("local", is_drain)

    def run_pipeline(self, pipeline: Any, options: Any) -> Any:
        SUITE.pipelines += 1
        if SUITE.spark is not None:
            self._runner = SUITE.spark.runner()
        if MODE.endswith("streaming"):
            options.view_as(StandardOptions).streaming = True
        return super().run_pipeline(pipeline, options)
