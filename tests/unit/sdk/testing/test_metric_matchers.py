"""Hamcrest's matchers of metrics, and the assertion about elements that cannot be hashed."""

import subprocess
import sys
from typing import Any

import pytest
from hamcrest import assert_that, greater_than, has_item, starts_with

import headrace as hr
from headrace.metrics import Metrics
from headrace.metrics.cells import DistributionData, DistributionResult
from headrace.metrics.execution import MetricKey, MetricResult
from headrace.metrics.metricbase import MetricName
from headrace.testing import TestPipeline
from headrace.testing.extra_assertions import ExtraAssertionsMixin
from headrace.testing.metric_result_matchers import (
    DistributionMatcher,
    MetricResultMatcher,
    verify_all,
)
from tests.support.repository import ROOT


@pytest.fixture(scope="module")
def results():
    def grind(bag):
        Metrics.counter("mill", "bags").inc()
        Metrics.distribution("mill", "weight").update(bag)

    with TestPipeline() as p:
        p | hr.Create([3, 5]) | "Grind" >> hr.Map(grind)
    assert p.result is not None
    return p.result.metrics().query()


def test_a_counter_of_a_run(results) -> None:
    step = starts_with("Gri")
    assert_that(
        results["counters"], has_item(MetricResultMatcher("mill", "bags", step, committed=2))
    )
    wrong = [
        MetricResultMatcher(namespace="sea"),
        MetricResultMatcher(step="Gri"),
        MetricResultMatcher(committed=greater_than(2)),
        MetricResultMatcher(committed=DistributionMatcher()),
    ]
    assert len(verify_all(results["counters"], wrong)) == len(wrong)


def test_a_distribution_of_a_run(results) -> None:
    (result,) = results["distributions"]
    matching = DistributionMatcher(sum_value=8, count_value=2, min_value=3, max_value=5)
    assert verify_all([result], [MetricResultMatcher(committed=matching, attempted=matching)]) == []
    assert MetricResultMatcher(name="weight", sum_value=8).matches(result)
    assert not MetricResultMatcher(sum_value=9).matches(result)
    assert not DistributionMatcher(min_value=greater_than(3)).matches(result.committed)
    assert not MetricResultMatcher(committed=8).matches(result)


def test_results_of_your_own() -> None:
    key = MetricKey("Grind", MetricName("mill", "bags"), {"site": "river"})
    value = DistributionResult(DistributionData(8, 2, 3, 5))
    assert value == DistributionResult(8, 2, 3, 5)
    result = MetricResult(key, value, None)
    assert MetricResultMatcher(labels={"site": starts_with("r")}).matches(result)
    assert not MetricResultMatcher(labels={"site": "sea"}).matches(result)
    assert not MetricResultMatcher(attempted=value).matches(result)


def test_what_a_matcher_expects() -> None:
    expected = r"a MetricResult, key.step 'Grind', committed a DistributionResult, sum <8>"
    with pytest.raises(AssertionError, match=expected):
        assert_that(7, MetricResultMatcher(step="Grind", committed=DistributionMatcher(8)))


def test_without_hamcrest() -> None:
    program = (
        "import sys; sys.modules['hamcrest'] = None; import headrace.testing.metric_result_matchers"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert "what to do: pip install 'headrace[hamcrest]'" in done.stderr


class Array(list):
    """As an array of numpy: it compares element by element."""

    shape = (2,)

    def __eq__(self, other):
        return Array(map(int.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def all(self):
        return all(self)


def test_elements_that_cannot_be_hashed() -> None:
    count_equal = ExtraAssertionsMixin().assertUnhashableCountEqual
    one: list[Any] = [{"a": [1]}, [Array([1, 2])], (3, {}), None, "x"]
    count_equal(one, reversed(one))
    pairs: list[tuple[list[Any], list[Any]]] = [
        ([{"a": [1]}], [{"a": [2]}]),
        ([{"a": [1]}], [{"b": [1]}]),
        ([{"a": Array([1, 2])}], [{"a": Array([1, 3])}]),
        ([(3, {})], [[3, {}]]),
        ([{}, {}], [{}]),
        ([Array([1, 2])], ["x"]),
    ]
    for left, right in pairs:
        with pytest.raises(AssertionError):
            count_equal(left, right)
