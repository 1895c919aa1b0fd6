"""A plugin of pytest that lets the tests of the installed Beam run on Headrace.

A test that asks for a runner of Beam by name, or for the default one, gets Headrace's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apache_beam.pipeline import Pipeline
from apache_beam.testing.test_pipeline import TestPipeline

from headrace.sdk.beam.programs.runner import HeadraceRunner
from tests.beam.suites.suite_runner import MODE, SuiteRunner

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

RUNS: list[str] = []
"""A name for each pipeline that ran on Headrace."""


def pytest_configure(config: Any) -> None:
    """Register Beam's marks, and replace the runner of Beam's pipelines."""
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: of Beam's tests")
    tests: Any = TestPipeline
    tests.pytest_test_pipeline_options = f"--temp_location={Path.cwd()}"
    if os.environ.get(MODE) == "beam":
        return
    pipelines: Any = Pipeline
    pipelines.__init__ = _on_headrace(pipelines.__init__)
    runners: Any = HeadraceRunner
    runners.run_pipeline = _counted(runners.run_pipeline)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """Tell the report how many pipelines the test ran on Headrace."""
    before = len(RUNS)
    try:
        return (yield)
    finally:
        item.user_properties.append(("runs", len(RUNS) - before))


def _on_headrace(init: Any) -> Any:
    def __init__(self: Any, runner: Any = None, *args: Any, **kwargs: Any) -> None:
        named = runner is None or isinstance(runner, str)
        init(self, SuiteRunner() if named else runner, *args, **kwargs)

    return __init__


def _counted(run_pipeline: Any) -> Any:
    def run_pipeline_counted(self: Any, pipeline: Any, options: Any) -> Any:
        RUNS.append(type(self).__name__)
        return run_pipeline(self, pipeline, options)

    return run_pipeline_counted
