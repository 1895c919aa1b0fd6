"""The generated pages are what their programs and marks say today."""

from __future__ import annotations

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from tests.conformance import pages
from tests.conformance.marks import Marked, collected
from tests.conformance.verdicts import LOCAL, RIGHT, judge, told
from tests.figures import Case, cases

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

WRITE = "write it anew: make conformance"


@pytest.fixture(scope="module")
def marks() -> list[Marked]:
    return collected()


def test_conformance_is_as_the_programs_say(marks: list[Marked]) -> None:
    assert pages.CONFORMANCE.read_text() == pages.conformance(marks), WRITE


def test_capabilities_are_as_the_marks_say(marks: list[Marked]) -> None:
    assert pages.CAPABILITIES.read_text() == pages.capabilities(marks), WRITE


def test_a_gap_is_counted_and_told() -> None:
    area = "tests/test_figures.py"
    runs = Marked(area, "test_one", "spark", "streaming", "", "spark")
    page = pages.capabilities([runs, Marked(area, "test_two", "spark", "streaming", "so", "spark")])
    assert "all but 1" in page
    assert "- `tests/test_figures.py::test_two`: so." in page


@pytest.mark.parametrize("case", cases(), ids=str)
def test_headrace_gets_each_figure_right(case: Case) -> None:
    assert judge(case, LOCAL).word == RIGHT


def test_a_miss_shows_what_came_out() -> None:
    assert told([{"value": 5, "timing": "EARLY", "index": 0, "first": True}]) == "5 (EARLY 0 first)"
    assert told([]) == "nothing"
