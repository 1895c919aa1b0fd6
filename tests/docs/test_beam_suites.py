"""`make beam-suites` runs Beam's suites unchanged, and holds each failure to a reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import ROOT

REPORT = """<testsuites><testsuite>
<testcase classname="beam.a_test.ATest" name="test_runs">
<properties><property name="pipelines" value="2"/></properties></testcase>
<testcase classname="beam.a_test.ATest" name="test_coder">
<properties><property name="pipelines" value="0"/></properties></testcase>
<testcase classname="beam.a_test.ATest" name="test_fails"><failure/></testcase>
<testcase classname="beam.a_test.ATest" name="test_never"><skipped/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import beam_suites

    return beam_suites


@pytest.fixture
def outcome(tool: Any, tmp_path: Path) -> Any:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    return tool.outcome_of(report)


def test_a_test_without_a_pipeline_counts_apart(outcome: Any) -> None:
    assert outcome.passed == ("ATest.test_runs",)
    assert outcome.without == ("ATest.test_coder",)
    assert outcome.failed == ("ATest.test_fails",)
    assert outcome.skipped == ("ATest.test_never",)


def test_each_failure_needs_a_reason_in_its_mode(tool: Any, outcome: Any) -> None:
    results = {"a": {"local": outcome, "spark": outcome}}
    reason = tool.Reason("ATest.test_f*", ("local",), "because")
    assert tool.unexplained(results, [reason]) == ["a, spark: ATest.test_fails"]


def test_a_reason_that_no_failure_needs_is_an_error(tool: Any, outcome: Any) -> None:
    results = {"a": {"local": outcome}}
    stale = tool.Reason("ATest.test_never", ("local",), "because")
    assert tool.unneeded(results, [stale]) == ["ATest.test_never"]


def test_the_page_tells_the_results_that_are_kept(tool: Any) -> None:
    pytest.importorskip("apache_beam", reason="the page names the version of Beam")
    suites, reasons = tool.read_data()
    results = tool.load()
    assert {s.name: set(s.modes) for s in suites} == {name: set(m) for name, m in results.items()}
    assert tool.unexplained(results, reasons) == tool.unneeded(results, reasons) == []
    assert tool.page(suites, results, reasons, tool.installed_version()) == tool.PAGE.read_text()
