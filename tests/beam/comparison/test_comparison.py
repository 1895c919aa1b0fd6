"""The comparison is current, and Headrace and Beam answer as it says."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from tests.beam.comparison import page
from tests.beam.comparison.in_headrace_and_beam import in_beam, in_headrace
from tests.beam.comparison.questions import QUESTIONS, Answer, Change, Question, is_right

pytestmark = pytest.mark.filterwarnings("ignore")

WRITE = "regenerate it: make comparison"
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)


def test_the_page_is_current() -> None:
    assert page.PAGE.read_text() == page.page(page.stored()), WRITE


def test_the_table_of_the_readme_is_current() -> None:
    assert page.table(page.stored(), "docs/reference/") in page.README.read_text(), WRITE


@each_question
@pytest.mark.mode("streaming")
def test_headrace_is_right_on_each_runner(question: Question, runner: Any) -> None:
    assert is_right(question, in_headrace(question, runner))


@each_question
def test_headrace_answers_as_stored(question: Question) -> None:
    assert in_headrace(question) == page.stored()["Headrace"].by_question[question.name]


@each_question
def test_beam_answers_as_stored(question: Question) -> None:
    answer = in_beam(question)
    expected = page.stored()["Beam"].by_question[question.name]
    assert sorted(answer.changes) == sorted(expected.changes)


def test_a_result_that_stays_a_first_result_that_is_missing_and_an_error_are_wrong() -> None:
    question = Question("q", "", "", (), {"ann": 8}, at_first=[("ann", 5)])
    first, last = Change(1, "ann", 5), Change(1, "ann", 8)
    assert is_right(question, Answer((first, last)))
    assert not is_right(question, Answer((last,)))
    assert not is_right(question, Answer((first, Change(1, "bob", 5), last)))
    assert not is_right(question, Answer((first, last), stopped="an error"))
