"""Answers are compared, wrong ones are named, and the examples in the docstrings of benchmarks are right."""

import doctest
from types import ModuleType

import pytest

from benchmarks import answers, page
from benchmarks.answers import WrongAnswerError, require_equal
from benchmarks.linear_road import rules
from benchmarks.rates import Job, engines
from benchmarks.size import queries


def test_a_wrong_answer_is_named() -> None:
    with pytest.raises(WrongAnswerError, match="1 of 2 answers differ: 'b' has 'no answer'"):
        require_equal("sums", {"a": 3}, {"a": 3, "b": 4})


def test_no_rate_without_right_answers() -> None:
    ran: list[list[str]] = []

    def check(directory: object) -> None:
        require_equal("sums", {"a": 3}, {"a": 4})

    job = Job("sums", 10, 10, lambda directory, flags: ran.append([*flags]), check)
    with pytest.raises(WrongAnswerError):
        job.rate(engines(2)[2])
    assert ran == [[*engines(2)[2].flags, "--max-records-per-batch=2"]]


@pytest.mark.parametrize("module", [answers, page, rules, queries])
def test_examples_in_docstrings(module: ModuleType) -> None:
    assert doctest.testmod(module).attempted
    assert not doctest.testmod(module).failed
