"""The runner of Beam's suites, in the mode of the environment: local, spark or spark-streaming."""

from __future__ import annotations

import os
from typing import Any

from apache_beam.options.pipeline_options import StandardOptions

from headrace.sdk.beam.programs.runner import HeadraceRunner

MODE = "HEADRACE_BEAM_MODE"


class Runs:
    """Counts the pipelines that ran in this process."""

    count = 0


RUNS = Runs()


class SuiteRunner(HeadraceRunner):
    """Headrace's runner in that mode; options of a test that name another runner do not matter."""

    def __init__(self, is_drain: bool = False) -> None:
        self.mode = os.environ.get(MODE, "local")
        super().__init__(self.mode.partition("-")[0], is_drain)

    def run_pipeline(self, pipeline: Any, options: Any) -> Any:
        RUNS.count += 1
        if self.mode.endswith("streaming"):
            options.view_as(StandardOptions).streaming = True
        return super().run_pipeline(pipeline, options)
