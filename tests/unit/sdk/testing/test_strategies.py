"""What the strategies draw: what they promise, all of what they name, and shrunk to little."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import attrs
import pytest
from hypothesis import Phase, find, given, settings, strategies as st

import headrace as hr
from headrace.errors import PipelineError
from headrace.sdk.testing.runs.repeating import Pauses
from headrace.sdk.testing.runs.run import can_be_built
from headrace.sdk.testing.runs.shrinking import smaller
from headrace.sdk.testing.strategies.arriving import offsets
from headrace.sdk.testing.strategies.repeating import allowed_pauses
from headrace.sdk.testing.strategies.targeted_runs import (
    UNLIMITED,
    expiring,
    order_free,
    splitting,
    unsafe,
    waiting_for_all,
)
from headrace.sdk.testing.streams.script import rows_of
from headrace.testing import TestPipeline, TestStream, capture
from headrace.testing.strategies import (
    Run,
    Step,
    Where,
    aligned,
    calendars,
    combine_fns,
    merging,
    pipelines,
    runs,
    scripts,
    streams,
    timestamps,
    triggers,
    window_fns,
    windowings,
)
from headrace.testing.test_stream import ElementEvent, ProcessingTimeEvent, WatermarkEvent
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    Trigger,
    WindowingStrategy,
)
from headrace.windowing import (
    MAX_TIMESTAMP,
    FixedWindows,
    Sessions,
    Timestamp,
    TimestampCombiner,
    WindowFn,
)
from headrace.windowing.time.units import SECOND
from tests.unit.sdk.testing.pair_elements import PAIRS

EASILY = settings(
    max_examples=2_000,
    phases=[Phase.generate, Phase.shrink],
    deadline=None,
    database=None,
    derandomize=True,  # shrinking can end in a local minimum
)


def smallest(strategy: st.SearchStrategy[Any], condition: Any) -> Any:
    return find(strategy, condition, settings=EASILY)


def is_drawn(strategy: st.SearchStrategy[Any], condition: Any) -> bool:
    """Whether something is drawn; it is not shrunk, which takes much longer for a pipeline."""
    find(strategy, condition, settings=settings(EASILY, phases=[Phase.generate]))
    return True  # else find raises NoSuchExample


# Streams


@given(streams(PAIRS, lateness=4), st.just(4))
def test_no_element_of_a_stream_is_later_than_is_said(stream: TestStream, lateness: int) -> None:
    watermark = None
    for event in stream.events:
        if isinstance(event, WatermarkEvent):
            watermark = event.new_watermark
        elif isinstance(event, ElementEvent) and watermark is not None:
            assert all(e.timestamp >= watermark - lateness for e in event.timestamped_values)
    assert watermark == MAX_TIMESTAMP


@pytest.mark.slow
def test_streams_hold_everything_that_may_happen() -> None:
    kinds = (ElementEvent, WatermarkEvent, ProcessingTimeEvent)
    for kind in kinds:
        assert smallest(
            streams(PAIRS), lambda s, k=kind: any(isinstance(e, k) for e in s.events[:-1])
        )
    late = smallest(streams(PAIRS, lateness=5), _has_late)
    assert len(late.events) <= 4
    twice = smallest(streams(PAIRS), _has_duplicates)
    assert repr(twice) == (
        "TestStream().add_elements([TimestampedValue(('a', 0), 0), TimestampedValue(('a', 0), 0)])"
        ".advance_watermark_to_infinity()"
    )
    assert smallest(st.tuples(streams(PAIRS), streams(PAIRS)), lambda s: s[0].events != s[1].events)


@pytest.mark.slow
def test_partitions_run_ahead_of_each_other() -> None:
    assert smallest(streams(PAIRS, partitions=2), _runs_ahead)


@given(streams(PAIRS))
def test_a_single_partition_does_not_run_ahead(stream: TestStream) -> None:
    assert not _runs_ahead(stream)


def test_a_stream_comes_from_one_partition_at_least() -> None:
    with pytest.raises(PipelineError, match="the number of partitions is 0"):
        streams(PAIRS, partitions=0)


def _runs_ahead(stream: TestStream) -> bool:
    """Whether an element lies further before the watermark than one partition lets it."""
    watermark = Timestamp(0)
    for event in (e for e in stream.events if not isinstance(e, ProcessingTimeEvent)):
        if isinstance(event, WatermarkEvent):
            watermark = event.new_watermark
        elif any(e.timestamp > watermark + 13 for e in event.timestamped_values):
            return True
    return False


def _has_late(stream: TestStream) -> bool:
    watermark = Timestamp(-10_000)
    for event in (e for e in stream.events if not isinstance(e, ProcessingTimeEvent)):
        if isinstance(event, WatermarkEvent):
            watermark = event.new_watermark
        elif any(e.timestamp < watermark for e in event.timestamped_values):
            return True
    return False


def _has_duplicates(stream: TestStream) -> bool:
    bursts = [e.timestamped_values for e in stream.events if isinstance(e, ElementEvent)]
    return any(len(set(burst)) < len(burst) for burst in bursts)


@given(streams(PAIRS, duplicates=False, unit=60, origin="2013-03-10T00:00:00Z"))
def test_streams_have_units_and_an_origin(stream: TestStream) -> None:
    start = Timestamp.of("2013-03-10T00:00:00Z")
    for event in stream.events:
        if isinstance(event, ElementEvent):
            assert all(-7_200 < e.timestamp - start < 7_200 for e in event.timestamped_values)


@given(timestamps(origin=100, unit=10, reach=2))
def test_timestamps_lie_on_units_or_a_microsecond_beside(instant: Timestamp) -> None:
    assert (instant.micros + 1) % 10_000_000 <= 2
    assert 79 < instant < 121


@given(scripts(retractions=True, to_infinity=False))
def test_scripts_go_forward(script: Any) -> None:
    for kind in ("watermark", "clock"):
        steps = [what for name, what in script if name == kind]
        assert steps == sorted(set(steps))


# Where, when and how


def test_window_functions_of_all_kinds_are_drawn() -> None:
    names = {"GlobalWindows", "FixedWindows", "SlidingWindows", "Sessions", "CalendarWindows"}
    for name in names | {"LinkedWindows", "ValidityWindows"}:
        assert smallest(window_fns(), lambda w, n=name: type(w).__name__ == n)


@given(window_fns(merging_ones=True), window_fns(merging_ones=False))
def test_window_functions_merge_or_not(one: WindowFn, other: WindowFn) -> None:
    assert one.is_merging()
    assert not other.is_merging()


@given(triggers(depth=3, lateness=3))
def test_triggers_are_safe_unless_asked(trigger: Trigger) -> None:
    assert not trigger.may_finish(WindowingStrategy(allowed_lateness=3_000_000))


def test_unsafe_triggers_are_drawn_if_asked() -> None:
    lossy = smallest(triggers(safe=False), lambda t: t.may_finish(WindowingStrategy()))
    assert repr(lossy) == "AfterCount(1)"


def _depth(trigger: Trigger) -> int:
    """How deep an expression is nested, as it is written."""
    steps = {"(": 1, ")": -1}
    return max(accumulate(steps.get(sign, 0) for sign in repr(trigger))) - 1


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_triggers_have_a_depth(depth: int) -> None:
    shallow = settings(max_examples=50, database=None)
    shallow(given(triggers(depth, safe=False))(lambda t: _at_most(_depth(t), depth)))()
    assert smallest(triggers(depth, safe=False), lambda t: _depth(t) == depth)


def _at_most(found: int, limit: int) -> None:
    assert found <= limit


@given(windowings(modes=[AccumulationMode.RETRACTING]), PAIRS)
def test_windowings_are_what_window_into_takes(windowing: WindowingStrategy, pair: Any) -> None:
    assert windowing.accumulation_mode is AccumulationMode.RETRACTING
    with TestPipeline() as p:
        _ = p | hr.Create([pair]) | hr.WindowInto(windowing) | hr.GroupByKey()


def test_the_default_is_the_simplest_windowing() -> None:
    assert smallest(windowings(), lambda w: True) == WindowingStrategy()


# CombineFns and pipelines


@given(combine_fns(), st.lists(st.integers(), min_size=1))
def test_combine_fns_combine_numbers(fn: hr.CombineFn, numbers: list[int]) -> None:
    with TestPipeline() as p:
        found = capture(p | hr.Create(numbers) | hr.CombineGlobally(fn))
    assert len(found.values) == 1


@pytest.mark.slow
def test_pipelines_of_all_kinds_are_drawn() -> None:
    for wanted in (
        lambda run: len(run.steps) == 3,
        lambda run: any(step.beside == "join" for step in run.steps),
        lambda run: any(step.beside == "flatten" for step in run.steps[1:]),
        lambda run: any(step.beside == "flatten" and step.branch for step in run.steps),
        lambda run: any(step.beside == "join" and len(step.branch) == 2 for step in run.steps),
        lambda run: any(step.beside == "side" for step in run.steps[1:]),
        lambda run: any(step.beside == "side" and step.branch for step in run.steps),
        lambda run: any(step.kind == "state" for step in run.steps[1:]),
        lambda run: any(step.only for step in run.steps),
        lambda run: any(step.one_key for step in run.steps),
        lambda run: any(step.pauses for step in run.steps[1:]),
        lambda run: any(step.pauses and step.beside for step in run.steps),
    ):
        assert is_drawn(pipelines(), wanted)


@pytest.mark.parametrize("late_by", [3, 7])
@pytest.mark.parametrize("micros", [-1, 0, 1])
def test_elements_lie_where_they_are_late_and_where_they_reach_no_further(
    late_by: int, micros: int
) -> None:
    """Sessions of four seconds, which live on for three, are kept for seven."""
    behind = offsets(edges=(3 * SECOND, 7 * SECOND))
    assert smallest(behind, lambda apart: apart == micros - late_by * SECOND)


@pytest.mark.slow
def test_a_run_has_scripts_that_reach_what_has_expired() -> None:
    where = st.just(Where(Sessions(4)))
    assert smallest(expiring() | runs(windows=where), _overlaps_what_has_expired)


def _overlaps_what_has_expired(run: Run) -> bool:
    """Whether an element in time overlaps the window of an element that has expired."""
    windowing = run.steps[0].windowing
    gap, lateness = windowing.reach, windowing.allowed_lateness
    ends: list[int] = []
    watermark = -(1 << 62)
    for kind, what in run.script:
        if kind == "watermark":
            watermark = what
        for row in what if kind == "elements" else ():
            start, end = row[2], row[2] + gap
            if end + lateness > watermark and any(
                start < e and e + lateness <= watermark for e in ends
            ):
                return True
            ends.append(end)
    return False


def test_triggers_that_close_windows_are_drawn() -> None:
    run = smallest(unsafe(), lambda run: run.steps[0].windowing.trigger == AfterCount(2))
    assert run.steps[0].windowing.window_fn.is_merging()


@pytest.mark.slow
def test_windows_that_merge_stand_behind_retractions() -> None:
    run = smallest(splitting(), lambda run: len(run.steps) == 3)
    assert run.steps[0].windowing.accumulation_mode is AccumulationMode.RETRACTING
    assert all(step.windowing.window_fn.is_merging() for step in run.steps[1:])


@pytest.mark.slow
def test_what_comes_into_a_step_from_a_branch_can_be_taken_back() -> None:
    """Steps behind allow as much lateness; the numbers of a branch's groupings follow those of the steps."""
    run = smallest(pipelines(), lambda run: len(run.steps) == 2 and run.steps[0].branch)
    (number, aside), *_ = run.branch(0)
    assert number == 2
    assert run.groupings[2] is aside
    assert not run.has_other
    assert run.up_to(1)[:2] == run.steps
    assert run.up_to(2) == (aside,)
    assert run.starts == {2}


@given(pipelines())
def test_every_pipeline_can_be_built(run: Run) -> None:
    assert can_be_built(run)


@given(pipelines())
def test_the_end_result_of_what_waits_for_all_depends_on_nothing_but_what_came(run: Run) -> None:
    waiting = waiting_for_all(run)
    assert order_free(waiting)
    assert can_be_built(waiting)


@pytest.mark.slow
def test_a_pipeline_shrinks_to_little() -> None:
    run: Run = smallest(pipelines(), lambda run: len(rows_of(run.script)) > 1)
    assert len(run.steps) == 1
    assert run.steps[0].windowing == WindowingStrategy()
    assert [kind for kind, _ in run.script] == ["elements", "watermark"]


@pytest.mark.parametrize("strategy", [aligned(), calendars(), merging()])
def test_each_window_function_has_a_scale_on_which_elements_meet(strategy: Any) -> None:
    assert smallest(strategy, lambda where: where.scale.unit > 0)


@pytest.mark.parametrize("mode", AccumulationMode)
def test_a_grouping_in_the_middle_retracts_where_order_means_nothing(
    mode: AccumulationMode,
) -> None:
    def step(mode: AccumulationMode) -> Step:
        return Step(WindowingStrategy(accumulation_mode=mode, allowed_lateness=UNLIMITED))

    retracting, script = AccumulationMode.RETRACTING, (("watermark", 7),)
    for steps, free in (
        ([mode], mode is retracting),
        ([retracting, mode], True),
        ([retracting, mode, retracting], mode is retracting),
    ):
        assert order_free(Run(script, tuple(map(step, steps)))) == free


def test_the_sum_of_a_stateful_dofn_means_the_same_in_any_mode() -> None:
    state = Step(WindowingStrategy(FixedWindows(5), allowed_lateness=UNLIMITED), "state")
    assert order_free(Run((), (state, state)))
    assert not order_free(Run((), (attrs.evolve(state, windowing=WindowingStrategy()),)))


def test_the_order_means_nothing_to_a_side_input_only_if_it_fires_once() -> None:
    state = Step(WindowingStrategy(FixedWindows(5), allowed_lateness=UNLIMITED), "state")
    beside = attrs.evolve(state, beside="side")
    late = (("watermark", 7 * SECOND), ("elements", (("a", 1, 0, 1),)))
    assert order_free(Run((), (beside,)))
    assert order_free(Run((), (beside,), late[::-1]))
    assert not order_free(Run((), (beside,), late))
    assert not order_free(Run((), (attrs.evolve(beside, branch=(state,)),)))


def test_an_element_that_can_be_retracted_needs_a_side_input_that_fires_once() -> None:
    retracting = Step(WindowingStrategy(accumulation_mode=AccumulationMode.RETRACTING))
    beside = attrs.evolve(retracting, beside="side")
    assert can_be_built(Run((), (retracting, beside)))
    assert can_be_built(Run((), (attrs.evolve(beside, branch=(retracting,)),)))
    assert not can_be_built(Run((), (retracting, attrs.evolve(beside, branch=(retracting,)))))


@given(pipelines(stateful=False, side_inputs=False, splittable=False))
def test_state_and_side_inputs_and_splittable_dofns_can_be_left_out(run: Run) -> None:
    assert all(step.kind != "state" and step.beside != "side" for step in run.groupings)
    assert not any(step.pauses for step in run.groupings)


def test_no_splittable_dofn_follows_what_can_be_retracted() -> None:
    pauses = Pauses()
    plain = Step(WindowingStrategy(FixedWindows(5)), pauses=pauses)
    retracting = attrs.evolve(
        plain,
        windowing=WindowingStrategy(accumulation_mode=AccumulationMode.RETRACTING),
    )
    behind = allowed_pauses((plain, retracting, plain))
    assert [step.pauses for step in behind] == [pauses, pauses, None]
    beside = attrs.evolve(plain, beside="flatten", branch=(retracting,))
    assert [step.pauses for step in allowed_pauses((beside, plain))] == [None, None]
    kept = attrs.evolve(plain, assigns=False)
    assert [step.pauses for step in allowed_pauses((plain, kept))] == [pauses, None]


@pytest.mark.parametrize("mode", AccumulationMode)
def test_windows_that_can_come_apart_retract_where_order_means_nothing(
    mode: AccumulationMode,
) -> None:
    """So do joins, and the groupings of branches."""
    retracting = AccumulationMode.RETRACTING
    sessions = WindowingStrategy(Sessions(5), accumulation_mode=mode, allowed_lateness=UNLIMITED)
    plain = WindowingStrategy(accumulation_mode=retracting, allowed_lateness=UNLIMITED)
    step = Step(plain)
    for steps in (
        (step, Step(sessions)),
        (step, Step(attrs.evolve(plain, accumulation_mode=mode), beside="join")),
        (Step(plain, beside="flatten", branch=(Step(sessions),)),),
    ):
        assert order_free(Run((), steps)) == (mode is retracting)


@pytest.mark.parametrize("combiner", TimestampCombiner)
def test_the_timestamps_of_panes_do_not_tell_of_the_order(combiner: TimestampCombiner) -> None:
    windowing = WindowingStrategy(
        accumulation_mode=AccumulationMode.RETRACTING,
        allowed_lateness=UNLIMITED,
        timestamp_combiner=combiner,
    )
    assert order_free(Run((), (Step(windowing), Step(windowing))))


# Smaller ones


def test_a_splittable_dofn_goes() -> None:
    run = Run((), (Step(WindowingStrategy(), pauses=Pauses(every=1)),))
    assert (Step(WindowingStrategy()),) in [candidate.steps for candidate in smaller(run)]


def test_a_branch_becomes_smaller() -> None:
    step, beside = Step(WindowingStrategy()), Step(WindowingStrategy(), "list")
    run = Run((), (Step(WindowingStrategy(), beside="join", branch=(step, beside)),))
    less = [candidate.steps for candidate in smaller(run)]
    assert (step,) in less
    assert (Step(WindowingStrategy(), beside="join", branch=(step,)),) in less
    assert not any(candidate.has_other for candidate in smaller(run))


def test_a_stateful_dofn_and_a_side_input_become_smaller() -> None:
    plain = Step(WindowingStrategy(FixedWindows(5)))
    state = attrs.evolve(plain, kind="state")
    less = [candidate.steps for candidate in smaller(Run((), (state,)))]
    assert less == [(plain,)]
    side = attrs.evolve(plain, beside="side", side_windows=FixedWindows(3))
    less = [candidate.steps for candidate in smaller(Run((), (side,)))]
    assert less == [(plain,), (attrs.evolve(side, side_windows=None),)]


def test_what_loses_data_stays_so_while_it_becomes_smaller() -> None:
    """And what loses none does not begin to."""
    lossy = WindowingStrategy(trigger=AfterCount(1), allowed_lateness=5)
    less = [candidate.steps[0].windowing for candidate in smaller(Run((), (Step(lossy),)))]
    assert WindowingStrategy(trigger=AfterCount(1)) in less
    safe = attrs.evolve(lossy, trigger=AfterWatermark(late=AfterCount(1)))
    for candidate in smaller(Run((), (Step(safe),))):
        windowing = candidate.steps[0].windowing
        assert not windowing.trigger.may_finish(windowing)
