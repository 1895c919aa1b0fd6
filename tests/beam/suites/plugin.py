"""A plugin of pytest that lets the tests of the installed Beam run on Headrace.

A test that asks for a runner of Beam by name or object, or for the default one, gets Headrace's. The report
has for each test the number of its pipelines that Headrace ran.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apache_beam.pipeline import Pipeline
from apache_beam.runners.runner import PipelineRunner
from apache_beam.testing.test_pipeline import TestPipeline

from tests.beam.suites.suite_runner import SUITE, SuiteRunner

MARKS = (
    "it_validatesrunner",
    "it_validatescontainer",
    "it_postcommit",
    "no_sickbay_batch",
    "no_sickbay_streaming",
    "sickbay_streaming",
    "no_xdist",
    "timeout(seconds)",
)

PIPELINES = "pipelines"
"""The property of a test in the report: the number of its pipelines."""


def pytest_configure(config: Any) -> None:
    """Register Beam's marks, and replace the runner of Beam's pipelines."""
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: of Beam's tests")
    test_pipelines: Any = TestPipeline
    test_pipelines.pytest_test_pipeline_options = " ".join(
        ["--runner=headrace.beam.HeadraceRunner", f"--temp_location={Path.cwd()}"]
    )
    pipelines: Any = Pipeline
    pipelines.__init__ = _on_headrace(pipelines.__init__)


def pytest_collection_finish(session: pytest.Session) -> None:
    """On Spark, run the pipelines of all tests, before the tests."""
    if SUITE.spark is not None:
        SUITE.spark.record(session.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """Count the pipelines of a test."""
    before = SUITE.pipelines
    try:
        return (yield)
    finally:
        item.user_properties.append((PIPELINES, SUITE.pipelines - before))


def _on_headrace(init: Any) -> Any:
    def __init__(self: Any, runner: Any = None, *args: Any, **kwargs: Any) -> None:
        init(self, SuiteRunner() if _is_beams(runner) else runner, *args, **kwargs)

    return __init__


def _is_beams(runner: Any) -> bool:
    """Return whether a runner is one of Beam's, or its name; None stands for the default one."""
    of_beam = isinstance(runner, PipelineRunner) and type(runner).__module__.startswith(
        "apache_beam."
    )
    return runner is None or isinstance(runner, str) or of_beam
