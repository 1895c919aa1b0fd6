"""The random twin: a drawn pipeline, written once, gives the same on a Beam runner and natively on Headrace.

Where triggers mean the same in both (see `tests.beam.reference.cases`), the panes are the same. The final
results are the same in all pipelines whose result does not depend on the number of panes. A pipeline that
Beam's runner does not finish is left out: the judge lists it as a miss of the runner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import attrs
from apache_beam.transforms import trigger as beam_triggers
from apache_beam.transforms.window import TimestampCombiner as BeamCombiner
from hypothesis import Phase, assume, given, settings, strategies as st

from headrace.sdk.beam.judge.playing import NativeRunner, RunsPanes, play
from headrace.sdk.beam.judge.runner_cases import AMPLE, beam_runs
from headrace.sdk.beam.judge.runner_laws import agrees_in_batch
from headrace.sdk.beam.judge.worker import NotEndedError, RunFailedError, RunnerProcess
from headrace.sdk.beam.programs import strategies
from headrace.sdk.testing.runs.batch_oracle import (
    Result,
    end_result,
    source_watermarks,
    without_empty,
)
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import Pane
from headrace.sdk.testing.runs.steps import Step
from headrace.triggers import AccumulationMode, AfterWatermark, DefaultTrigger
from headrace.windowing.timestamp_combiner import TimestampCombiner
from tests.beam.reference.cases import is_shared
from tests.beam.reference.comparison import compare
from tests.faults.days import in_turns

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

END_OF_WINDOW = TimestampCombiner.OUTPUT_AT_EOW

EXAMPLES = max(12, settings().max_examples // 10)


@pytest.fixture(scope="module")
def bundles() -> Iterator[RunnerProcess]:
    """Beam's bundle-based runner, in a process of its own."""
    with RunnerProcess("BundleBasedDirectRunner", (), limit=60) as runner:
        yield runner


def in_beam(runner: RunnerProcess, run: Run, streaming: bool) -> RunsPanes:
    """Return Beam's panes of a run, or give the run up."""
    try:
        return runner.play(run, streaming)
    except (RunFailedError, NotEndedError):
        assume(False)
        raise


def results(run: Run, panes: RunsPanes) -> list[Result]:
    """Return the final result of each grouping."""
    return [
        without_empty(step, end_result(step, found))
        for step, found in zip(run.steps, panes, strict=True)
    ]


def has_same_panes(run: Run) -> bool:
    """Whether Beam and Headrace emit the same panes, and not only the same result."""
    (windowing, *others) = [step.windowing for step in run.steps]
    return not others and windowing.allowed_lateness == AMPLE and is_shared(windowing.trigger)


def has_late(run: Run) -> bool:
    """Whether an element arrives behind the watermark."""
    return any(
        kind == "elements" and any(row[2] < watermark for row in what)
        for (kind, what), watermark in zip(run.script, source_watermarks(run.script), strict=False)
    )


def has_same_stamps(run: Run) -> bool:
    """Whether panes have the same timestamps; see "Timestamps behind the watermark" in the differences."""
    return not has_late(run) or run.steps[0].windowing.timestamp_combiner is END_OF_WINDOW


def may_lose(run: Run) -> bool:
    """Whether Beam may lose elements that never fired: late ones hold no watermark, so its runner ends."""
    return has_late(run) and that_fires_at_the_end(run) != run


def without_lost(ours: Sequence[Pane], theirs: Sequence[Pane]) -> list[Pane]:
    """Leave out our last panes of keys and windows of which Beam has one pane less."""
    more = Counter((pane.key, pane.window) for pane in ours)
    more.subtract((pane.key, pane.window) for pane in theirs)
    return [pane for pane in ours if not (pane.last and more[pane.key, pane.window] == 1)]


def that_fires_at_the_end(run: Run) -> Run:
    """Return a run whose triggers surely fire at the end; see "What never fired" in the differences."""
    return attrs.evolve(run, steps=tuple(map(_firing_at_the_end, run.steps)))


def _firing_at_the_end(step: Step) -> Step:
    if isinstance(step.windowing.trigger, AfterWatermark) and is_shared(step.windowing.trigger):
        return step
    return attrs.evolve(step, windowing=attrs.evolve(step.windowing, trigger=DefaultTrigger()))


@settings(max_examples=EXAMPLES)
@given(beam_runs())
def test_a_stream_on_beam_and_natively(bundles: RunnerProcess, run: Run) -> None:
    theirs, ours = in_beam(bundles, run, True), play(run, NativeRunner())
    if may_lose(run):
        run = attrs.evolve(run, steps=run.steps[:1])
        theirs, ours = theirs[:1], [without_lost(ours[0], theirs[0])]
    if len(run.steps) == 1 or agrees_in_batch(run):
        assert results(run, ours) == results(run, theirs)
    if has_same_panes(run):
        mine, others = compare(run, ours[0], theirs[0], stamps=has_same_stamps(run))  # type: ignore[arg-type]
        assert mine == others


@settings(max_examples=EXAMPLES)
@given(beam_runs().map(that_fires_at_the_end))
def test_a_batch_on_beam_and_natively(bundles: RunnerProcess, run: Run) -> None:
    assume(len(run.steps) == 1 or agrees_in_batch(run))
    theirs, ours = in_beam(bundles, run, False), play(run, NativeRunner(), streaming=False)
    assert results(run, ours) == results(run, theirs)


@settings(max_examples=max(3 * EXAMPLES, settings().max_examples // 2))
@given(beam_runs(), st.booleans())
def test_a_program_of_beam_on_headrace_and_natively(run: Run, streaming: bool) -> None:
    theirs = play(run, "headrace.beam.HeadraceRunner", streaming)
    assert in_order(theirs) == in_order(play(run, NativeRunner(), streaming))


def late_trigger_is_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(
        strategies._TRIGGERS,
        beam_triggers.AfterWatermark,
        lambda trigger: AfterWatermark(strategies._part(trigger.early)),
    )


def panes_are_discarded(patch: pytest.MonkeyPatch) -> None:
    mode = beam_triggers.AccumulationMode.ACCUMULATING
    patch.setitem(strategies._MODES, mode, AccumulationMode.DISCARDING)


def timestamps_are_at_the_end(patch: pytest.MonkeyPatch) -> None:
    combiner = BeamCombiner.OUTPUT_AT_EARLIEST
    patch.setitem(strategies._COMBINERS, combiner, TimestampCombiner.OUTPUT_AT_EOW)


BUGS = [late_trigger_is_lost, panes_are_discarded, timestamps_are_at_the_end]


@pytest.mark.parametrize("bug", [pytest.param(b, marks=in_turns(n)) for n, b in enumerate(BUGS)])
def test_a_bug_seeded_in_the_translation_is_found(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    law = test_a_program_of_beam_on_headrace_and_natively.hypothesis.inner_test  # type: ignore[attr-defined]
    cases = settings(
        max_examples=300, database=None, phases=(Phase.generate,), report_multiple_bugs=False
    )
    with pytest.raises(AssertionError):
        cases(given(run=beam_runs(), streaming=st.just(True))(law))()


def in_order(panes: RunsPanes) -> list[list[str]]:
    """Return the panes of each grouping in a fixed order, with all that they say."""
    return [sorted(map(repr, found)) for found in panes]
