"""The engine against the oracle: the same panes in the same events, for every drawn run."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, settings

from headrace.sdk.testing.run_on_runner import UNKNOWN, Observation, perform
from headrace.sdk.testing.runs import Run
from headrace.sdk.testing.strategies.pipelines import reunions, runs
from headrace.sdk.testing.strategies.windowing import aligned, merging
from tests.laws.corpus import law
from tests.laws.event_by_event import follow, foretell
from tests.oracle.replay import Played


def in_order(panes: list[Any]) -> dict[Any, list[tuple[Any, ...]]]:
    """The panes of each event, key and window in order; order across windows means nothing."""
    said = defaultdict(list)
    for pane in panes:
        said[pane.event, pane.key, tuple(pane.window[:2])].append(told(pane))
    return said


def told(pane: Any) -> tuple[Any, ...]:
    """A pane without its number of the event, to be read in a message."""
    return tuple(pane.window[:2]), *(getattr(pane, name) for name in TOLD)


TOLD = (
    "diff",
    "value",
    "timing",
    "timestamp",
    "index",
    "nonspeculative",
    "first",
    "last",
)


def agrees(heard: Observation, played: Played) -> None:
    assert in_order(heard.panes) == in_order(played.panes)
    assert heard.watermarks == played.watermarks
    assert max(heard.dropped, default=0) == len(played.dropped)


def check(run: Run) -> None:
    for heard, played in zip(follow(run), foretell(run), strict=True):
        agrees(heard, played)


@law(runs(retractions=True))
def test_one_grouping_says_what_the_oracle_says(run: Run) -> None:
    check(run)


@law(runs(windows=aligned(), safe=False))
def test_one_grouping_whose_trigger_may_lose_data(run: Run) -> None:
    check(run)


@law(runs(windows=merging(), retractions=True, safe=False))
def test_one_grouping_whose_windows_merge(run: Run) -> None:
    check(run)


@law(reunions(retractions=True))
def test_sessions_that_have_fired_and_become_one(run: Run) -> None:
    check(run)


@law(runs(steps=2))
def test_two_groupings_in_a_row_say_what_the_oracle_says(run: Run) -> None:
    check(run)


@law(runs(steps=2, retractions=True, safe=False))
def test_two_groupings_of_which_each_may_lose_data(run: Run) -> None:
    check(run)


@law(runs(steps=2))
def test_what_was_too_late_is_what_the_oracle_drops(run: Run) -> None:
    """Seen where a grouping has an output for it: behind new windows."""
    for step, heard, played in zip(
        run.steps, follow(run, watched=True), foretell(run), strict=True
    ):
        agrees(heard, played)
        late = [(e.key, e.value, e.timestamp, e.diff, e.windows) for _, e in heard.late]
        gone = [(e.key, e.value, e.timestamp, e.diff, (w,)) for e, w in played.dropped]
        assert not step.assigns or sorted(late, key=repr) == sorted(gone, key=repr)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@law(runs(steps=2, to_infinity=True))
@pytest.mark.local_only("a query of Spark's has one clock, so that each of these needs its own")
def test_each_runner_says_what_the_oracle_says(runner: Any, run: Run) -> None:
    check_on(runner, run)


@settings(
    derandomize=True,  # on Spark the same runs are drawn twice
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@law(runs(steps=2, to_infinity=True))
def test_each_runner_says_what_the_oracle_says_while_the_clock_stands_still(
    runner: Any, run: Run
) -> None:
    check_on(runner, attrs.evolve(run, script=tuple(e for e in run.script if e[0] != "clock")))


def check_on(runner: Any, run: Run) -> None:
    for heard, played in zip(perform(run, runner), foretell(run), strict=True):
        foreseen = [told(pane) for pane in played.panes]
        assert sorted(map(told, heard.panes), key=repr) == sorted(foreseen, key=repr)
        assert heard.dropped == [len(played.dropped)]
        assert {pane.event for pane in heard.panes} <= {UNKNOWN}
