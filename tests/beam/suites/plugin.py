"""A plugin of pytest that lets the tests of the installed Beam run on Headrace.

A test that asks for a runner of Beam by name, or for the default one, gets Headrace's.
"""

from __future__ import annotations

from typing import Any

from apache_beam.testing.test_pipeline import TestPipeline

from tests.beam.suites.suite_runner import SuiteRunner

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


def pytest_configure(config: Any) -> None:
    """Register Beam's marks, and replace the runner of Beam's test pipelines."""
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: of Beam's tests")
    pipelines: Any = TestPipeline
    pipelines.pytest_test_pipeline_options = "--runner=headrace.beam.HeadraceRunner"
    pipelines.__init__ = _on_headrace(pipelines.__init__)


def _on_headrace(init: Any) -> Any:
    def __init__(self: Any, runner: Any = None, *args: Any, **kwargs: Any) -> None:
        init(
            self,
            SuiteRunner() if runner is None or isinstance(runner, str) else runner,
            *args,
            **kwargs,
        )

    return __init__
