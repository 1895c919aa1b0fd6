"""What the strategies draw: what they promise, all of what they name, and shrunk to little."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

import headrace as hr
from headrace.errors import PipelineError
from headrace.sdk.testing.script import rows_of
from headrace.sdk.testing.strategies.pipelines import FOREVER, order_free
from headrace.testing import TestPipeline, TestStream, capture
from headrace.testing.strategies import (
    Run,
    Step,
    aligned,
    calendars,
    combine_fns,
    merging,
    pipelines,
    scripts,
    streams,
    timestamps,
    triggers,
    window_fns,
    windowings,
)
from headrace.testing.test_stream import ElementEvent, ProcessingTimeEvent, WatermarkEvent
from headrace.triggers import AccumulationMode, Trigger, WindowingStrategy
from headrace.windowing import MAX_TIMESTAMP, Timestamp, WindowFn
from tests.testing.elements import PAIRS

EASILY = settings(
    max_examples=2_000, phases=[Phase.generate, Phase.shrink], deadline=None, database=None
)


def smallest(strategy: st.SearchStrategy[Any], condition: Any) -> Any:
    return find(strategy, condition, settings=EASILY)


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


def test_partitions_run_ahead_of_each_other() -> None:
    assert smallest(streams(PAIRS, partitions=2), _runs_ahead)
    with pytest.raises(NoSuchExample):
        smallest(streams(PAIRS), _runs_ahead)


def test_a_stream_comes_from_one_partition_at_least() -> None:
    with pytest.raises(PipelineError, match="partitions, and 0 is no number of them"):
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
    for name in names | {"ValidityWindows"}:
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
        lambda run: any(step.only for step in run.steps),
        lambda run: any(step.one_key for step in run.steps),
    ):
        assert smallest(pipelines(), wanted)


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
        return Step(WindowingStrategy(accumulation_mode=mode, allowed_lateness=FOREVER))

    retracting, script = AccumulationMode.RETRACTING, (("watermark", 7),)
    for steps, free in (
        ([mode], mode is retracting),
        ([retracting, mode], True),
        ([retracting, mode, retracting], mode is retracting),
    ):
        assert order_free(Run(script, tuple(map(step, steps)))) == free
