"""The judge finds seeded bugs in a Beam runner, and known misses of Beam's own runners."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import attrs

from headrace.beam import check_runner
from headrace.errors import PipelineError, UnsupportedError
from headrace.sdk.beam.judge.beam_programs import beam_program
from headrace.sdk.beam.judge.in_beam import window_fn
from headrace.sdk.beam.judge.judging import NO_ERROR, TERMINATES, BeamJudge
from headrace.sdk.beam.judge.playing import play, silenced
from headrace.sdk.beam.judge.worker import RunnerProcess
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.steps import Step
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark, WindowingStrategy
from headrace.windowing import CalendarWindows, FixedWindows
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from tests.beam.conformance.judged import Miss, stored
from tests.beam.judge import broken_runners
from tests.beam.judge.broken_runners import EMITTING, break_panes

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

BUNDLES = "BundleBasedDirectRunner"

ALL_TIMINGS = Run(
    (
        ("elements", (("a", 1, 3 * SECOND, 1), ("a", 2, 4 * SECOND, 1))),
        ("watermark", 12 * SECOND),
        ("elements", (("a", 5, 5 * SECOND, 1),)),
        ("watermark", MAX_MICROS),
    ),
    (
        Step(
            WindowingStrategy(
                FixedWindows(10),
                trigger=AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
                accumulation_mode=AccumulationMode.ACCUMULATING,
                allowed_lateness=20 * SECOND,
            ),
            "list",
        ),
    ),
)
"""A window with an EARLY, an ON_TIME and a LATE pane."""


def laws_broken_by(run: Run) -> set[str]:
    """Return the laws that the bundle-based runner breaks in streaming mode, in this process."""
    judge = BeamJudge(BUNDLES, lambda run, streaming: play(run, BUNDLES, streaming), ["streaming"])
    return {law for (law, _), broken in judge.judge(run).items() if broken}


def test_the_bundle_based_runner_holds_the_laws_in_a_window_with_all_timings() -> None:
    assert laws_broken_by(ALL_TIMINGS) == set()


@pytest.mark.parametrize(
    ("bug", "law"),
    [
        ("drops_late_panes", "panes make up the batch result of all elements"),
        (
            "counts_from_one",
            "panes of a window are early, then on time, then late, and numbered from 0",
        ),
        ("calls_late_panes_on_time", "a window has at most one ON_TIME pane"),
        ("puts_an_element_in_twice", "panes make up the batch result of all elements"),
        (
            "forgets_the_panes_before",
            "an accumulating pane holds all elements of the pane before it",
        ),
        (
            "stamps_at_the_start",
            "a pane has the timestamp that the timestamp combiner of its windowing says",
        ),
    ],
)
def test_a_bug_of_a_runner_breaks_a_law(
    bug: str, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in EMITTING:
        break_panes(name, getattr(broken_runners, bug), monkeypatch.setattr)
    assert law in laws_broken_by(ALL_TIMINGS)


def test_a_report_on_a_broken_runner_has_a_program_that_names_it() -> None:
    report = check_runner(
        broken_runners.CountsFromOne(), cases=6, streaming=True, batch=False, shrinking=1
    )
    (verdict,) = [each for each in report.broken if "numbered from 0" in each.law]
    assert 'beam.Pipeline("tests.beam.judge.broken_runners.CountsFromOne"' in str(verdict.program)
    assert not report.passed
    assert f"BROKEN by {verdict.broken}" in str(report)
    assert str(verdict.program) in str(report)


def test_a_runner_that_does_not_end_is_stopped() -> None:
    report = check_runner(broken_runners.Waits(), cases=1, streaming=False, limit=1, shrinking=0)
    assert [verdict.law for verdict in report.broken] == [TERMINATES]
    assert report.broken[0].found == ("error: the pipeline did not end in 1 seconds",)


def test_a_runner_that_does_not_exist_breaks_the_law_of_errors() -> None:
    report = check_runner("tests.beam.judge.NoRunner", cases=1, shrinking=0)
    assert {verdict.law for verdict in report.broken} == {NO_ERROR}
    assert "NoRunner" in str(report.no_streaming)


def test_a_runner_that_cannot_be_pickled_is_refused() -> None:
    runner = broken_runners.Waits()
    runner.letters = (letter for letter in "ab")  # type: ignore[attr-defined]
    with pytest.raises(PipelineError, match="cannot be pickled"):
        RunnerProcess(runner, (), limit=1)


def test_windows_that_beam_does_not_have_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="no equivalent of CalendarWindows"):
        window_fn(CalendarWindows.days(1))


def test_headraces_runner_of_beam_programs_holds_all_laws() -> None:
    report = check_runner("headrace.beam.HeadraceRunner", cases=12)
    assert report.passed, report
    assert report.no_streaming is None


# Programs


def printed(program: str) -> list[str]:
    """Run a program in this process, and return the lines that it prints."""
    out = StringIO()
    with redirect_stdout(out), silenced():
        exec(program, {})
    return sorted(out.getvalue().splitlines())


def test_a_program_prints_the_panes_of_its_pipeline() -> None:
    lines = printed(beam_program(ALL_TIMINGS, BUNDLES, streaming=True))
    (panes,) = play(ALL_TIMINGS, BUNDLES)
    assert sorted(line.split(" [0.0")[0] for line in lines) == sorted(
        f"{pane.key} {pane.value}" for pane in panes
    )
    assert [f"timing: {pane.timing}," in "".join(lines) for pane in panes] == [True] * 3


def test_a_program_of_two_groupings_prints_the_panes_of_the_second_one() -> None:
    then = Step(WindowingStrategy(FixedWindows(20), allowed_lateness=100 * SECOND), one_key=True)
    run = attrs.evolve(ALL_TIMINGS, steps=(*ALL_TIMINGS.steps, then))
    (line,) = printed(beam_program(run, BUNDLES, streaming=True))
    assert line.startswith("all 14 [0.0, 20.0)")


def known_misses() -> Iterator[Miss]:
    """The stored misses of FnApiRunner and the bundle-based runner that are not errors."""
    for runner, judged in stored().items():
        if runner != "PrismRunner":
            laws = [m for m in judged.misses if m.verdict.law not in (NO_ERROR, TERMINATES)]
            yield from laws[:5]


def of_law(miss: Miss) -> str:
    return f"{str(miss.verdict.program).partition('Pipeline(')[2][:12]} {miss.verdict.law}"


@pytest.mark.parametrize("miss", [*known_misses()], ids=of_law)
def test_a_known_miss_is_still_one(miss: Miss) -> None:
    assert printed(str(miss.verdict.program)) == list(miss.prints)
