"""The laws on columns: they hold, and bugs seeded into the groupings of tables are found."""

from __future__ import annotations

from typing import Any, Final

import pytest

from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import KeyedStep, plan
from headrace.runners.plan.table_steps import with_tables
from headrace.runners.precombine import table_keys
from headrace.sdk.testing.conformance import check_runner as check_runner_module
from headrace.sdk.testing.conformance.check_runner import check_runner, drawn
from headrace.sdk.testing.laws.run_laws import LIKE_ELEMENTS
from headrace.sdk.testing.runs.run import Run, build, unchecked_pipeline
from headrace.sdk.testing.strategies.columns import on_columns
from headrace.sdk.testing.strategies.pipelines import runs
from headrace.sdk.testing.streams.script import stream
from headrace.windowing.calendar import CalendarWindows
from tests.faults.days import in_turns
from tests.unit.runners.column_bugs import BUGS

CASES = 300

NOT_DRAWN: Final = {
    "integers with nulls",
    "keys without their last field",
    "any is all",
    "the last of each group are missing",
    "a variance of squared sums",
    "squares that overflow",
    "decimals without a point",
    "floats added in another order",
    "NaN has an order",
    "text in the order of arrival",
    "the largest are the smallest",
    "rows without their last field",
    "a variance in place of a covariance",
}
"""Bugs in what runs do not have: their keys are one field, their values are integers, and they combine with a
sum, a count, a mean, a maximum, a sum and a maximum at once, the earliest or latest value, or the number of
distinct values, or list values, but no rows; they do not combine pairs of fields.
tests/unit/runners/test_table_groups.py finds these bugs."""


IN_STREAMS: Final = {
    "contents that replace others",
    "late rows are lost",
    "merged sessions with the number of one side",
}
"""Bugs that a batch does not have; the others are looked for in batches, which takes a third of the time."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(b, marks=in_turns(n)) for n, b in enumerate(sorted(BUGS.keys() - NOT_DRAWN))],
)
def test_a_seeded_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[name](monkeypatch)
    after = cases_until_broken(streaming=name in IN_STREAMS, cases=CASES)
    print(f"{name}: found after {after} cases")
    assert LIKE_ELEMENTS in after


def cases_until_broken(streaming: bool, cases: int, pipelines: Any = None) -> dict[str, int | None]:
    """Return after how many cases laws on columns are broken, in one mode."""
    report = check_runner(
        "local",
        cases,
        streaming=streaming,
        batch=not streaming,
        reference=None,
        pack=15,
        until_broken=True,
        shrinking=0,
        pipelines=pipelines,
        columns=True,
    )
    return {verdict.law: verdict.after for verdict in report.broken}


@pytest.mark.slow
def test_a_bug_in_calendar_windows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_keys, "_calendar_blocks", lambda window_fn, times: times * 0)
    monkeypatch.setattr(check_runner_module, "AT_LEAST", 30)  # few runs have calendar windows
    by_calendar = runs().filter(
        lambda run: isinstance(run.steps[0].windowing.window_fn, CalendarWindows)
    )
    assert LIKE_ELEMENTS in cases_until_broken(streaming=False, cases=30, pipelines=by_calendar)


@pytest.mark.slow
def test_without_a_bug_no_law_is_broken() -> None:
    report = check_runner("local", cases=60, reference=None, pack=15, columns=True)
    assert report.passed, report


def combines_columns(run: Run, execution: Execution) -> bool:
    """Whether a grouping of a run takes tables."""
    with unchecked_pipeline() as p:
        sources = [p | f"source {n}" >> stream(s, run.columns) for n, s in enumerate(run.scripts)]
        build(sources[0], run, False, *sources[1:])
    steps = with_tables(plan(p.graph), execution).steps.values()
    return any(isinstance(step, KeyedStep) and step.tables for step in steps)


@pytest.mark.slow
@pytest.mark.parametrize("execution", Execution)
def test_many_runs_combine_columns(execution: Execution) -> None:
    found = drawn(on_columns(runs()), 60, 0)
    assert sum(combines_columns(run, execution) for run in found) > 10
    assert not any(combines_columns(run, execution) for run in drawn(runs(), 60, 0))


@pytest.mark.slow
def test_runs_join_columns() -> None:
    drawn_runs = drawn(on_columns(runs(), joins=True), 120, 0)
    found = [run for run in drawn_runs if run.steps[0].beside == "join"]
    assert sum(combines_columns(run, Execution.BATCH) for run in found) > 3
