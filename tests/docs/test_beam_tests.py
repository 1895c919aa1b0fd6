"""`make beam-tests` runs Beam's tests with one import changed, and holds each failure to a reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from tests.support.repository import ROOT

FAILED = "transforms/a_test.py|ATest::test_one"
PASSED = "transforms/a_test.py|ATest::test_two"
EXAMPLE = "examples/b_test.py|BTest::test_three"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import beam_tests

    return beam_tests


def outcomes_of(tool: Any) -> dict[str, Any]:
    return {
        FAILED: tool.Outcome(False, "TypeError: no"),
        PASSED: tool.Outcome(True),
        EXAMPLE: tool.Outcome(True),
    }


def settings_of(tool: Any, *reasons: Any, unit: int = 1) -> Any:
    return tool.Settings([], [], {tool.EXAMPLES: 1, tool.UNIT: unit}, reasons)


def test_each_failure_needs_a_reason(tool: Any) -> None:
    (problem,) = tool.problems(settings_of(tool), outcomes_of(tool))
    assert problem == f"{FAILED} fails without a reason in tests.toml: TypeError: no"


def test_a_reason_covers_what_its_patterns_match(tool: Any) -> None:
    reason = tool.Reason("internal", "it reads a proto", ("transforms/a_test.py|ATest::test_o*",))
    assert tool.problems(settings_of(tool, reason), outcomes_of(tool)) == []
    assert "| Internal to Beam | 1 in `transforms/a_test.py` | it reads a proto |" in tool.page(
        settings_of(tool, reason), outcomes_of(tool)
    )


def test_a_reason_that_no_failure_needs_is_an_error(tool: Any) -> None:
    stale = tool.Reason("internal", "it reads a proto", (FAILED, PASSED))
    assert tool.problems(settings_of(tool, stale), outcomes_of(tool)) == [
        f"no test that fails matches {PASSED!r} in tests.toml"
    ]
    unknown = tool.Reason("bad luck", "", (FAILED,))
    (problem,) = tool.problems(settings_of(tool, unknown), outcomes_of(tool))
    assert problem.startswith("'bad luck' is not a kind of reason")


def test_too_few_passing_tests_are_an_error(tool: Any) -> None:
    reason = tool.Reason("internal", "it reads a proto", (FAILED,))
    (problem,) = tool.problems(settings_of(tool, reason, unit=2), outcomes_of(tool))
    assert problem == "1 unit tests pass, fewer than 2"


def test_only_the_import_is_changed(tool: Any) -> None:
    text = (
        "import apache_beam as beam\n"
        "from apache_beam.examples import wordcount\n"
        "from apache_beam.transforms.display_test import DisplayDataItemMatcher\n"
        "@mock.patch('apache_beam.Pipeline', TestPipeline)\n"
    )
    assert tool.swapped(text) == (
        "import headrace as beam\n"
        "from bexamples import wordcount\n"
        "from headrace.sdk.testing.assertions.hamcrest_matchers import DisplayDataItemMatcher\n"
        "@mock.patch('headrace.Pipeline', TestPipeline)\n"
    )


@pytest.mark.parametrize(
    ("content", "passed", "message"),
    [
        ("", True, ""),
        ('<failure message="TypeError:&#10; no"/>', False, "TypeError: no"),
        ("<error/>", False, "error"),
        ('<skipped message="needs a service"/>', False, "needs a service"),
    ],
)
def test_outcomes_are_those_of_pytest(tool: Any, content: str, passed: bool, message: str) -> None:
    case = fromstring(f'<testcase classname="a" name="b">{content}</testcase>')
    assert tool.outcome(case) == tool.Outcome(passed, message)


def test_a_file_runs_in_a_process_of_its_own(tool: Any, tmp_path: Path) -> None:
    (tmp_path / "good_test.py").write_text("def test_it():\n    pass\n")
    (tmp_path / "bad_test.py").write_text("import no_such_module\n")
    places = {name: tmp_path / name for name in ("good_test.py", "bad_test.py")}
    pytest.importorskip("pytest_timeout", reason="pytest-timeout is not installed")
    found = tool.run_files(places, tmp_path, 2)
    assert found["good_test.py|good_test::test_it"] == tool.Outcome(True)
    assert "No module named 'no_such_module'" in found["bad_test.py"].message


def test_the_settings_can_be_read(tool: Any) -> None:
    given = tool.settings()
    assert set(given.least) == {tool.EXAMPLES, tool.UNIT}
    assert {reason.kind for reason in given.reasons} <= set(tool.KINDS)
    tests = tool.PASSING.read_text().splitlines()
    assert len(tests) == len(set(tests)) > 1_000
    assert all(
        any(tool.matches(pattern, test) for test in tests)
        for reason in given.reasons
        for pattern in reason.tests
    )
