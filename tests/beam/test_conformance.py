"""The generated pages are current."""

from __future__ import annotations

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from tests.beam.conformance import reference_pages
from tests.beam.conformance.marks import Marked, collected
from tests.beam.conformance.verdicts import LOCAL, RIGHT, judge, panes_text
from tests.model.figures import Case, cases

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

WRITE = "regenerate it: make conformance"


@pytest.fixture(scope="module")
def marks() -> list[Marked]:
    return collected()


def test_the_conformance_page_is_current(marks: list[Marked]) -> None:
    assert reference_pages.CONFORMANCE.read_text() == reference_pages.conformance(marks), WRITE


def test_the_capabilities_page_is_current(marks: list[Marked]) -> None:
    assert reference_pages.CAPABILITIES.read_text() == reference_pages.capabilities(marks), WRITE


def test_a_gap_is_counted_and_listed() -> None:
    area = "tests/model/test_figures.py"
    runs = Marked(area, "test_one", "spark", "streaming", "", "spark")
    page = reference_pages.capabilities(
        [runs, Marked(area, "test_two", "spark", "streaming", "so", "spark")]
    )
    assert "all but 1" in page
    assert "- `tests/model/test_figures.py::test_two`: so." in page


@pytest.mark.parametrize("case", cases(), ids=str)
def test_headrace_gets_each_figure_right(case: Case) -> None:
    assert judge(case, LOCAL).word == RIGHT


def test_a_miss_shows_the_panes() -> None:
    assert (
        panes_text([{"value": 5, "timing": "EARLY", "index": 0, "first": True}])
        == "5 (EARLY 0 first)"
    )
    assert panes_text([]) == "nothing"
