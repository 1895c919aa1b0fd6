"""WindowInto says where, when and how; what is not said has its default value."""

from datetime import timedelta

import pytest

import headrace as hr
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    ClosingBehavior,
    DefaultTrigger,
    OnTimeBehavior,
    Repeatedly,
    WindowingStrategy,
)
from headrace.windowing import FixedWindows, GlobalWindows, TimestampCombiner


def windowed(*args, **kwargs):
    return (hr.Pipeline() | hr.Create([1]) | hr.WindowInto(*args, **kwargs)).windowing


def test_a_new_collection_lies_in_the_global_window() -> None:
    assert (hr.Pipeline() | hr.Create([1])).windowing == WindowingStrategy()


def test_what_is_not_said_has_its_default_value() -> None:
    strategy = windowed(FixedWindows(60))
    assert strategy == WindowingStrategy(window_fn=FixedWindows(60))
    assert strategy.trigger == DefaultTrigger()
    assert strategy.accumulation_mode is AccumulationMode.DISCARDING


def test_everything_can_be_said() -> None:
    assert windowed(
        FixedWindows(60),
        trigger=Repeatedly(AfterCount(3)),
        accumulation_mode=AccumulationMode.RETRACTING,
        timestamp_combiner=TimestampCombiner.OUTPUT_AT_LATEST,
        allowed_lateness=timedelta(minutes=1),
        on_time_behavior=OnTimeBehavior.FIRE_IF_NON_EMPTY,
        closing_behavior=ClosingBehavior.FIRE_ALWAYS,
        late_output_tag="late",
    ) == WindowingStrategy(
        window_fn=FixedWindows(60),
        trigger=Repeatedly(AfterCount(3)),
        accumulation_mode=AccumulationMode.RETRACTING,
        timestamp_combiner=TimestampCombiner.OUTPUT_AT_LATEST,
        allowed_lateness=60_000_000,
        on_time=OnTimeBehavior.FIRE_IF_NON_EMPTY,
        closing=ClosingBehavior.FIRE_ALWAYS,
        late_tag="late",
    )


def test_nothing_is_taken_over_from_the_input() -> None:
    late = hr.Pipeline() | hr.Create([1]) | hr.WindowInto(FixedWindows(60), allowed_lateness=30)
    assert (late | "again" >> hr.WindowInto(FixedWindows(10))).windowing.allowed_lateness == 0


def test_parts_of_a_strategy_can_be_changed() -> None:
    strategy = windowed(FixedWindows(60), allowed_lateness=30)
    changed = windowed(
        strategy, trigger=Repeatedly(AfterCount(1)), accumulation_mode=AccumulationMode.ACCUMULATING
    )
    assert changed.window_fn == FixedWindows(60)
    assert changed.allowed_lateness == 30_000_000
    assert changed.trigger == Repeatedly(AfterCount(1))


def test_a_trigger_needs_an_accumulation_mode() -> None:
    with pytest.raises(hr.PipelineError, match="no accumulation mode"):
        hr.WindowInto(FixedWindows(60), trigger=AfterCount(3))
    hr.WindowInto(FixedWindows(60), trigger=DefaultTrigger())


def test_classes_and_numbers_are_no_window_functions() -> None:
    with pytest.raises(hr.PipelineError, match="needs a window function"):
        hr.WindowInto(60)  # type: ignore[arg-type]
    with pytest.raises(hr.PipelineError, match="needs a window function"):
        hr.WindowInto(FixedWindows)  # type: ignore[arg-type]


def test_a_trigger_is_a_trigger() -> None:
    with pytest.raises(hr.PipelineError, match="needs a trigger"):
        hr.WindowInto(
            FixedWindows(60),
            trigger=AfterWatermark,  # type: ignore[arg-type]
            accumulation_mode=AccumulationMode.DISCARDING,
        )
    with pytest.raises(hr.PipelineError, match="needs a trigger"):
        hr.WindowInto(WindowingStrategy(FixedWindows(60)), trigger=AfterWatermark)  # type: ignore[arg-type]


def test_lateness_is_not_negative() -> None:
    with pytest.raises(hr.PipelineError, match="is negative"):
        hr.WindowInto(FixedWindows(60), allowed_lateness=-1)


def test_the_late_output_is_not_the_main_one() -> None:
    with pytest.raises(hr.PipelineError, match="names the main output"):
        hr.WindowInto(FixedWindows(60), late_output_tag="main")


def test_transforms_of_elements_keep_the_windowing() -> None:
    windows = hr.Pipeline() | hr.Create([1]) | hr.WindowInto(FixedWindows(60))
    assert (windows | hr.Map(str) | hr.Reshuffle()).windowing == windows.windowing


def test_the_label_names_the_window_function() -> None:
    assert hr.WindowInto(GlobalWindows()).label == "WindowInto(GlobalWindows)"
