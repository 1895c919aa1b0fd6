"""The plugin: a suite of tests says ``test_pipeline``, and the command line says on which runner."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from tests.support.repository import ROOT

pytest_plugins = ["pytester"]

PLUGIN = "headrace.sdk.testing.plugin"

SUITE = """
    import headrace as hr
    from headrace.testing import assert_that, equal_to

    def test_sums(test_pipeline):
        with test_pipeline() as p:
            assert_that(p | hr.Create([1, 2]) | hr.CombineGlobally(sum), equal_to([3]))

    def test_two_pipelines(test_pipeline):
        for number in (1, 2):
            with test_pipeline() as p:
                assert_that(p | hr.Create([number]), equal_to([number]))

    def test_flags(test_pipeline):
        p = test_pipeline("local", argv=["--job_name=mine"])
        options = p.options.get_all_options()
        print("streaming:", options["streaming"], "records:", options["max_records_per_batch"])
        print("runner:", p._runner)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite of a user's, with this plugin and no other, whether it is installed or not."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", PLUGIN)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(SUITE)
    return pytester


@pytest.mark.slow
def test_pipelines_run_on_the_local_runner(suite: pytest.Pytester) -> None:
    suite.runpytest_subprocess().assert_outcomes(passed=3)


@pytest.mark.slow
def test_the_command_line_names_the_runner(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("--runner=abacus")
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*there is no runner 'abacus'*"])


def test_a_test_may_choose_a_runner_of_its_own(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("--runner=abacus", "-s", "-k", "flags")
    result.stdout.fnmatch_lines(["*runner: local*"])


@pytest.mark.slow
def test_the_command_line_gives_further_flags(suite: pytest.Pytester) -> None:
    flags = "--test-pipeline-options=--streaming --max-records-per-batch=3"
    result = suite.runpytest_subprocess(flags, "-s", "-k", "flags")
    result.stdout.fnmatch_lines(["*streaming: True records: 3*"])


def test_help_says_what_there_is(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("--help")
    result.stdout.fnmatch_lines(["*--runner=NAME*", "*--test-pipeline-options=FLAGS*"])


def test_pytest_finds_it_by_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"headrace": PLUGIN}


def test_it_costs_little() -> None:
    program = (
        f"import sys, pytest; before = set(sys.modules); import {PLUGIN}; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(done.stdout.split())
    assert "headrace" in loaded
    assert loaded & {"hypothesis", "pyspark", "pandas", "pyarrow"} == set()
