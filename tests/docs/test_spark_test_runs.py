"""The page about versions of Spark comes from the last run of the tests on each of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from headrace.runners.spark.cluster.spark_versions import VERSIONS
from tests.support.repository import ROOT

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_one"/>
<testcase classname="tests.a" name="test_two"><failure message="no"/></testcase>
<testcase classname="tests.a" name="test_three"><error message="no"/></testcase>
<testcase classname="tests.a" name="test_four"><skipped message="needs Kafka"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture(autouse=True)
def tools_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])


def test_the_page_shows_the_last_results() -> None:
    from spark_test_runs import PAGE, RESULTS, page

    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    assert PAGE.read_text() == page(results), "run `python tools/spark_test_runs.py --page`"


def test_the_makefile_and_the_page_name_every_version() -> None:
    from spark_test_runs import LACKS

    names = [version.name for version in VERSIONS]
    assert list(LACKS) == names
    makefile = (ROOT / "Makefile").read_text()
    assert f"foreach version,{' '.join(names)}," in makefile
    assert f"% {len(names) - 1} + 1),{' '.join(names[:-1])})" in makefile


def test_the_outcomes_of_a_run(tmp_path: Path) -> None:
    from spark_test_runs import outcomes

    (tmp_path / "report.xml").write_text(REPORT)
    counts, failed, reasons = outcomes(tmp_path / "report.xml")
    assert counts == {"passed": 1, "failed": 2, "skipped": 1}
    assert failed == ["tests.a::test_two", "tests.a::test_three"]
    assert reasons == ["needs Kafka"]


def test_a_version_without_a_run_and_one_with_a_failure() -> None:
    from spark_test_runs import page

    suite = {"passed": 3, "failed": 1, "failures": ["tests.a::test_two"]}
    run = {"release": "4.1.4", "python": "3.11.7", "date": "2026-11-22", "suites": {"all": suite}}
    text = page({"4.1": run})
    assert "| 4.0 | | not run |" in text
    assert "| 4.1.4 | 3.11.7 | 2026-11-22 | 3 | 1 | 0 | not run | not run |" in text
    assert "Failed on Spark 4.1:\n\n- `tests.a::test_two`\n" in text
