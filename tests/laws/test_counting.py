"""Counting cases and merging reports: `python -m tests.laws`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import attrs
import pytest

from headrace.sdk.testing.conformance import check_runner
from headrace.sdk.testing.conformance.check_runner import Kit
from headrace.sdk.testing.laws.pane_laws import COUNTED
from headrace.sdk.testing.laws.run_laws import AGREES
from headrace.sdk.testing.strategies.targeted_runs import KINDS_OF_RUNS
from headrace.testing.laws import LawBroken, Report, Verdict
from headrace.testing.strategies import Run, Step, is_odd, pipelines
from headrace.triggers import WindowingStrategy
from headrace.windowing.time.timestamps import MAX_MICROS
from tests.faults.days import on_days
from tests.laws.__main__ import (
    MIXED,
    enough,
    examine,
    keep_broken,
    kind_for_rarest_law,
    merge_reports,
    oracle,
    oracle_or_local,
    reports,
)
from tests.laws.corpus import law, read

ONE = Report("mine", 5, (Verdict("a", "batch", 5), Verdict("b", "batch", 2)))
BROKEN = attrs.evolve(
    ONE.verdicts[1],
    broken=LawBroken("b", "", {}, ""),
    after=2,
    run=Run((("watermark", 7),), (Step(WindowingStrategy()),)),
)


def test_reports_add_up() -> None:
    assert str(merge_reports([ONE, ONE])).splitlines()[0] == "mine: 10 cases, all laws hold"
    assert [verdict.cases for verdict in merge_reports([ONE, ONE]).verdicts] == [10, 4]


def test_a_law_broken_in_one_report_is_broken() -> None:
    report = merge_reports([ONE, attrs.evolve(ONE, verdicts=(ONE.verdicts[0], BROKEN)), ONE])
    (verdict,) = report.broken
    assert (verdict.law, verdict.cases, verdict.run) == ("b", 6, BROKEN.run)


def test_the_smallest_run_that_breaks_a_law_is_kept(tmp_path: Path) -> None:
    (place,) = keep_broken(attrs.evolve(ONE, verdicts=(BROKEN, BROKEN)), tmp_path)
    assert read(place) == (
        "tests.laws.test_counting.test_the_local_runner_keeps_all_laws",
        BROKEN.run,
    )


@law(pipelines())
def test_the_local_runner_keeps_all_laws(run: Run) -> None:
    kit = Kit("local", streaming=True, batch=True, reference=oracle, columns=True)
    (judgement,) = kit.judge([run])
    for broken in filter(None, judgement.values()):
        raise broken


@pytest.mark.parametrize(
    ("cases", "each", "report", "end"),
    [
        (5, 0, ONE, True),
        (6, 0, ONE, False),
        (5, 2, ONE, True),
        (5, 3, ONE, False),
        (9, 9, attrs.evolve(ONE, verdicts=(BROKEN,)), True),
    ],
)
def test_stop_condition(cases: int, each: int, report: Report, end: bool) -> None:
    assert enough(report, Namespace(cases=cases, each=each)) is end


def test_the_kind_of_runs_for_the_rarest_law_is_drawn_next() -> None:
    first, *others = KINDS_OF_RUNS
    shows = attrs.evolve(ONE, verdicts=(ONE.verdicts[0], attrs.evolve(ONE.verdicts[1], cases=4)))
    assert [kind_for_rarest_law({}, n) for n in range(len(others) + 1)] == [first, *others]
    assert kind_for_rarest_law({MIXED: shows, first: ONE}, 0) == others[0]
    assert (
        kind_for_rarest_law(dict.fromkeys(KINDS_OF_RUNS, ONE) | {others[2]: shows}, 5) == others[2]
    )


@pytest.mark.slow
@pytest.mark.chaos
@on_days(4)
def test_each_law_gets_its_number_of_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_runner, "AT_LEAST", 20)  # to draw more takes longer than all checks
    options = Namespace(
        runner="local",
        cases=20,
        each=60,
        pack=10,
        batch=False,
        columns=False,
        processes=2,
        seed=0,
        kind=MIXED,
    )
    *_, report = reports(options)
    assert report.passed, report
    seen = {verdict.law: verdict.cases for verdict in report.verdicts}
    assert min(seen.values()) >= 60
    assert seen[COUNTED.sentence] >= 60
    assert report.cases < 1_200


@pytest.mark.slow
def test_runs_are_compared_with_the_oracle_if_it_supports_them() -> None:
    report = examine("local", 60, 60, False, False, MIXED, 3)
    assert report.passed, report
    (agrees,) = (verdict for verdict in report.verdicts if verdict.law == AGREES)
    assert 30 < agrees.cases < 60


def test_the_local_runner_replaces_the_oracle_for_other_runs() -> None:
    step = Step(WindowingStrategy())
    rows = ("elements", (("a", 1, 0, 1), ("a", 2, 0, 1)))
    plain = Run((rows, ("watermark", MAX_MICROS)), (step,))
    filtered = attrs.evolve(plain, steps=(attrs.evolve(step, only=is_odd),))
    assert oracle([filtered, plain])[0] is None
    panes_of_runs = oracle_or_local([filtered, plain])
    assert [[pane.value for pane in panes] for (panes,) in panes_of_runs] == [[1], [3]]
