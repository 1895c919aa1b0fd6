"""The engine against the oracle: the same panes in the same events, for every drawn run."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, settings

from headrace.sdk.testing.runs.run import Run, has_late_output
from headrace.sdk.testing.runs.run_on_runner import UNKNOWN_EVENT, Observation, run_alone
from headrace.sdk.testing.strategies.pipelines import runs
from headrace.sdk.testing.strategies.targeted_runs import closing_over_changes, merging_after_firing
from headrace.sdk.testing.strategies.windowing import aligned, merging
from tests.laws.corpus import law
from tests.laws.event_by_event import oracle_results, run_events
from tests.laws.oracle.replay import GroupingResult


def in_order(panes: list[Any]) -> dict[Any, list[tuple[Any, ...]]]:
    """The panes of each event, key and window in order; the order across windows is not defined."""
    panes_by_window = defaultdict(list)
    for pane in panes:
        panes_by_window[pane.event, pane.key, tuple(pane.window[:2])].append(fields_of(pane))
    return panes_by_window


def fields_of(pane: Any) -> tuple[Any, ...]:
    """The fields of a pane that are compared, without the number of the event."""
    return tuple(pane.window[:2]), *(getattr(pane, name) for name in FIELDS)


FIELDS = (
    "diff",
    "value",
    "timing",
    "timestamp",
    "index",
    "nonspeculative",
    "first",
    "last",
)


def assert_agree(heard: Observation, expected: GroupingResult) -> None:
    assert in_order(heard.panes) == in_order(expected.panes)
    assert heard.watermarks == expected.watermarks
    assert max(heard.dropped, default=0) == len(expected.dropped)


def check(run: Run) -> None:
    for heard, expected in zip(run_events(run), oracle_results(run), strict=True):
        assert_agree(heard, expected)


@law(runs(retractions=True))
def test_one_grouping_agrees_with_the_oracle(run: Run) -> None:
    check(run)


@law(runs(windows=aligned(), safe=False))
def test_one_grouping_with_an_unsafe_trigger(run: Run) -> None:
    check(run)


@law(runs(windows=merging(), retractions=True, safe=False))
def test_one_grouping_with_merging_windows(run: Run) -> None:
    check(run)


@law(merging_after_firing(retractions=True))
def test_sessions_that_merge_after_firing(run: Run) -> None:
    check(run)


@law(closing_over_changes(retractions=True))
def test_retractions_into_windows_that_close(run: Run) -> None:
    check(run)


@law(runs(steps=2))
def test_two_groupings_in_a_row_agree_with_the_oracle(run: Run) -> None:
    check(run)


@law(runs(steps=2, retractions=True, safe=False))
def test_two_groupings_with_unsafe_triggers(run: Run) -> None:
    check(run)


@law(runs(steps=2))
def test_late_elements_are_those_that_the_oracle_drops(run: Run) -> None:
    """Late elements are captured where windows are assigned, except with an evictor."""
    for step, heard, expected in zip(
        run.steps, run_events(run, watched=True), oracle_results(run), strict=True
    ):
        assert_agree(heard, expected)
        late = [(e.key, e.value, e.timestamp, e.diff, e.windows) for _, e in heard.late]
        dropped = [(e.key, e.value, e.timestamp, e.diff, (w,)) for e, w in expected.dropped]
        assert not has_late_output(step) or sorted(late, key=repr) == sorted(dropped, key=repr)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@law(runs(steps=2, to_infinity=True))
@pytest.mark.local_only("a Spark query has one clock, so each run needs a query of its own")
def test_each_runner_agrees_with_the_oracle(runner: Any, run: Run) -> None:
    check_on(runner, run)


@settings(
    derandomize=True,  # the dry run for Spark must draw the same runs
    database=None,
    max_examples=max(100, settings().max_examples),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@law(runs(steps=2, to_infinity=True))
def test_each_runner_agrees_with_the_oracle_without_a_clock(runner: Any, run: Run) -> None:
    check_on(runner, attrs.evolve(run, script=tuple(e for e in run.script if e[0] != "clock")))


def check_on(runner: Any, run: Run) -> None:
    for heard, expected in zip(run_alone(run, runner), oracle_results(run), strict=True):
        fields = [fields_of(pane) for pane in expected.panes]
        assert sorted(map(fields_of, heard.panes), key=repr) == sorted(fields, key=repr)
        assert heard.dropped == [len(expected.dropped)]
        assert {pane.event for pane in heard.panes} <= {UNKNOWN_EVENT}
