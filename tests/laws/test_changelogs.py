"""The law of changelogs: after each change, groupings hold what a batch of the present rows holds."""

from __future__ import annotations

from functools import wraps
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from headrace.sdk.changelogs import latest_rows
from headrace.sdk.changelogs.latest_rows import RowRules
from headrace.sdk.changelogs.matched_retractions import MatchRetractions
from headrace.testing import TestPipeline, TestStream
from tests.laws.changelog_cases import (
    KINDS,
    Case,
    Diffs,
    Messages,
    at_once,
    cases,
    check,
    check_at_the_end,
    drawn_cases,
    grouped,
    places,
    told,
)


def run(kind: str, histories: list[Case], runner: Any = "local", rows: Any = None) -> Any:
    with TestPipeline(runner=runner) as p:
        panes = grouped(p, kind, histories, rows)
    return panes.elements


@given(cases())
@pytest.mark.parametrize("kind", KINDS)
def test_groupings_hold_the_present_rows(kind: str, case: Case) -> None:
    check(run(kind, [case]), [case])


@given(cases())
def test_groupings_hold_the_present_rows_of_tables_that_can_be_truncated(case: Case) -> None:
    check(run("messages", [case], rows=Messages(on_truncate="retract")), [case])


@given(cases(in_order=True))
def test_groupings_hold_the_present_rows_of_unchecked_diffs(case: Case) -> None:
    check(run("diffs", [case], rows=Diffs("pass")), [case])


@given(cases(), st.randoms(use_true_random=False))
def test_diffs_that_overtake_each_other_add_up(case: Case, chance: Random) -> None:
    """Each diff arrives alone, in any order; all are matched, since the watermark does not pass them."""
    apart = [diff for place in range(places([case])) for diff in told("diffs", [case], place)]
    chance.shuffle(apart)
    stream = TestStream()
    for diff in apart:
        stream = stream.add_elements([diff]).advance_processing_time(1)
    with TestPipeline() as p:
        panes = grouped(
            p, "diffs", [case], source=lambda *_: stream.advance_watermark_to_infinity()
        )
    check_at_the_end(panes.elements, [case])


@pytest.mark.mode("streaming")
@pytest.mark.parametrize("kind", KINDS)
def test_each_runner_holds_the_present_rows(runner: Any, kind: str) -> None:
    histories = drawn_cases(12)
    check(run(kind, histories, runner), histories)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_holds_the_last_rows(runner: Any, kind: str) -> None:
    histories = drawn_cases(6)
    with TestPipeline(runner=runner) as p:
        panes = grouped(p, kind, histories, source=at_once)
    check_at_the_end(panes.elements, histories)


def old_row_stays(patch: pytest.MonkeyPatch) -> None:
    """An update retracts nothing."""
    changes: Any = RowRules._changes
    patch.setattr(RowRules, "_changes", lambda self, old, new: changes(self, new and None, new))


def retracted_at_the_new_time(patch: pytest.MonkeyPatch) -> None:
    """A retraction is in the windows of the row that replaces it."""
    changes: Any = RowRules._changes

    def moved(self: Any, old: Any, new: Any) -> Any:
        return changes(self, old if old is None or new is None else (old[0], new[1]), new)

    patch.setattr(RowRules, "_changes", moved)


def stale_is_applied(patch: pytest.MonkeyPatch) -> None:
    """A change counts although a later one has arrived."""
    patch.setattr(latest_rows, "is_stale", lambda *_: False)


def position_of_deletion_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An old change brings back a row that was deleted."""
    apply = RowRules.apply

    def forgetful(self: Any, *given: Any) -> Any:
        (position, row), changes = apply(self, *given)
        return (position if row is not None else None, row), changes

    patch.setattr(RowRules, "apply", forgetful)


BUGS = [old_row_stays, retracted_at_the_new_time, stale_is_applied, position_of_deletion_forgotten]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_bug_is_found(bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    histories = drawn_cases(20)
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        check(run("upserts", histories), histories)


def test_a_doubled_retraction_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    process = MatchRetractions.process

    @wraps(process)
    def twice(self: Any, pair: Any, *others: Any, **more: Any) -> Any:
        changes = process(self, pair, *others, **more)
        return [each for change in changes for each in [change] * (1 if change.diff > 0 else 2)]

    monkeypatch.setattr(MatchRetractions, "process", twice)
    histories = drawn_cases(20)
    with pytest.raises(AssertionError):
        check(run("diffs", histories), histories)
