"""Assertions, captures and scripted sources."""

from typing import Any

import pytest

import headrace as hr
from headrace.testing import (
    AssertThat,
    TestPipeline,
    TestStream,
    TestWindowedValue,
    assert_that,
    capture,
    contains_in_any_order,
    equal_to,
    equal_to_approx,
    equal_to_per_window,
    is_empty,
    is_not_empty,
    matches_all,
)
from headrace.testing.test_stream import ElementEvent, ProcessingTimeEvent, WatermarkEvent
from headrace.testing.util import BeamAssertException
from headrace.triggers import AccumulationMode, AfterCount, AfterProcessingTime, Repeatedly
from headrace.utils.windowed_value import WindowedValue
from headrace.windowing import (
    FixedWindows,
    GlobalWindow,
    GlobalWindows,
    IntervalWindow,
    Timestamp,
    TimestampedValue,
)


def check(values, matcher, **options):
    with TestPipeline() as p:
        assert_that(p | hr.Create(values), matcher, **options)


HOLDS = [
    ([1, 2], equal_to([2, 1])),
    ([], equal_to([])),
    ([1, "a"], equal_to(["a", 1])),
    ([[1], [1]], equal_to([[1], [1]])),
    ([5], equal_to([6], equals_fn=lambda expected, actual: abs(expected - actual) < 2)),
    ([("a", [0.1 + 0.2])], equal_to_approx([("a", [0.3])])),
    ([], is_empty()),
    ([1], is_not_empty()),
    ([1, 7], matches_all([lambda x: x > 5, 1])),
    ([[1, 2]], equal_to([contains_in_any_order([2, 1])])),
]
FAILS = [
    ([1, 2], equal_to([2])),
    ([1], equal_to([1, 1])),
    ([1, 1], equal_to([1])),
    ([0.1], equal_to_approx([0.2])),
    ([0.1], equal_to_approx(["a"])),
    ([1], is_empty()),
    ([], is_not_empty()),
    ([1, 2], matches_all([lambda x: x > 5, 1])),
    ([[1, 2]], equal_to([contains_in_any_order([2])])),
]


@pytest.mark.parametrize(("values", "matcher"), HOLDS)
def test_assertions_that_hold(values, matcher) -> None:
    check(values, matcher)


@pytest.mark.parametrize(("values", "matcher"), FAILS)
def test_assertions_that_fail(values, matcher) -> None:
    with pytest.raises(BeamAssertException) as error:
        check(values, matcher)
    assert error.value.__notes__ == ["in assert_that"]


def test_a_failure_says_what_is_missing_and_unexpected() -> None:
    with pytest.raises(
        BeamAssertException, match=r"unexpected elements \[3\], missing elements \[1\]"
    ):
        check([2, 3], equal_to([1, 2]))


def test_any_function_can_assert() -> None:
    def short(actual):
        assert len(actual) < 2, "too long"

    check([1], short)
    with pytest.raises(AssertionError, match="too long"):
        check([1, 2], short)


def test_labels_of_assertions_are_numbered() -> None:
    with TestPipeline() as p:
        numbers = p | hr.Create([1])
        assert_that(numbers, equal_to([1]))
        assert_that(numbers, equal_to([1]))
        assert_that(numbers, equal_to([1]), label="mine")
    assert {n.label.split("/")[0] for n in p.graph} == {
        "Create",
        "assert_that",
        "assert_that_2",
        "mine",
    }


def test_assert_that_as_a_transform() -> None:
    with TestPipeline() as p:
        p | hr.Create([1]) | AssertThat(equal_to([1]))


def test_assert_that_is_about_collections() -> None:
    with pytest.raises(hr.PipelineError, match="is not a collection"):
        assert_that([1], equal_to([1]))  # type: ignore[arg-type]


def windows(p):
    stamped = p | hr.Create([1, 2, 61]) | hr.WithTimestamps(lambda x: x)
    return stamped | hr.WindowInto(FixedWindows(60))


def test_assertions_about_windows() -> None:
    first, second = IntervalWindow(0, 60), IntervalWindow(60, 120)
    with TestPipeline() as p:
        assert_that(windows(p), equal_to_per_window({first: [2, 1], second: [61]}))
    with pytest.raises(BeamAssertException), TestPipeline() as p:
        assert_that(windows(p), equal_to_per_window({first: [2, 1, 61]}))


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({}, r"\[0.0, 60.0\) with \[1\] is not found in any expected window"),
        (
            {IntervalWindow(0, 60): [2]},
            r"unexpected elements \[1\], not found in window \[0.0, 60.0\)",
        ),
        ({IntervalWindow(0, 60): [1, 2]}, r"unmatched elements \[2\] in window \[0.0, 60.0\)"),
        (
            {IntervalWindow(0, 60): [1], IntervalWindow(60, 120): [3]},
            r"unmatched elements \[3\] in window \[60.0, 120.0\)",
        ),
    ],
)
def test_a_mismatch_by_window_names_the_window(expected, message):
    element = WindowedValue(1, 1, [IntervalWindow(0, 60)])
    with pytest.raises(BeamAssertException, match=message):
        equal_to_per_window(expected)([element])


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        ([1], r"got \[1\]: missing elements \[2\]$"),
        ([1, 2, 3], r": unexpected elements \[3\]$"),
        ([1, 3], r": unexpected elements \[3\], missing elements \[2\]$"),
    ],
)
def test_a_mismatch_names_the_elements(actual, message):
    with pytest.raises(BeamAssertException, match=message):
        equal_to([1, 2])(actual)


def test_assertions_see_what_travels_with_values() -> None:
    seen: list[Any] = []
    with TestPipeline() as p:
        assert_that(windows(p), seen.extend, reify_windows=True)
    value = seen[0]
    assert isinstance(value, TestWindowedValue)
    assert (value.value, value.timestamp, value.windows) == (1, 1, [IntervalWindow(0, 60)])  # type: ignore[comparison-overlap]


def test_assertions_window_by_window() -> None:
    seen: list[Any] = []
    with TestPipeline() as p:
        assert_that(windows(p), seen.append, use_global_window=False)
    assert seen == [([1, 2], IntervalWindow(0, 60)), ([61], IntervalWindow(60, 120))]


def retracting(p):
    stream = (
        TestStream()
        .add_elements([TimestampedValue(("a", 1), 1)])
        .add_elements([TimestampedValue(("a", 2), 2)])
        .advance_watermark_to_infinity()
    )
    refined = hr.WindowInto(
        GlobalWindows(),
        trigger=Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    return p | stream | refined | hr.CombinePerKey(sum)


def test_what_was_retracted_is_not_asserted() -> None:
    with TestPipeline() as p:
        assert_that(retracting(p), equal_to([("a", 3)]))


def test_a_capture_holds_everything_in_order() -> None:
    with TestPipeline() as p:
        captured = capture(retracting(p))
    assert captured.changes == [(1, ("a", 1)), (-1, ("a", 1)), (1, ("a", 3))]
    assert [element.pane.index for element in captured.elements] == [0, 0, 1]
    assert captured.elements[0].window == GlobalWindow()


def test_a_capture_knows_what_stands() -> None:
    with TestPipeline() as p:
        captured = capture(retracting(p))
    assert captured.values == [("a", 1), ("a", 1), ("a", 3)]
    assert captured.net == [("a", 3)]


def test_a_capture_knows_the_processing_time() -> None:
    stream = (
        TestStream()
        .advance_processing_time(5)
        .add_elements([("a", 1)])
        .advance_processing_time_to(20)
        .advance_watermark_to_infinity()
    )
    delayed = hr.WindowInto(
        GlobalWindows(),
        trigger=Repeatedly(AfterProcessingTime(10)),
        accumulation_mode=AccumulationMode.DISCARDING,
    )
    with TestPipeline() as p:
        captured = capture(p | stream | delayed | hr.GroupByKey())
    assert captured.elements[0].now == Timestamp(20)


def test_the_events_of_a_stream() -> None:
    stream = TestStream()
    stream.add_elements(["a", TimestampedValue("b", 3)])
    stream.advance_watermark_to(10)
    stream.add_elements([WindowedValue("c", 4, [GlobalWindow()]), "d"])
    stream.add_elements(["e"], event_timestamp=7)
    stream.advance_processing_time(2.5)
    first, watermark, second, third, processing = stream.events
    assert isinstance(first, ElementEvent)
    assert isinstance(second, ElementEvent)
    assert [float(v.timestamp) for v in second.timestamped_values] == [4, 10]
    assert first.timestamped_values[0].timestamp == hr.window.MIN_TIMESTAMP
    assert watermark == WatermarkEvent(10)
    assert third == ElementEvent((TimestampedValue("e", 7),))
    assert processing == ProcessingTimeEvent(2.5)


def test_a_stream_can_be_made_of_events() -> None:
    events: list[ElementEvent | WatermarkEvent] = [
        ElementEvent((TimestampedValue("a", 1),)),
        WatermarkEvent(5),
    ]
    assert TestStream(events=events).events == tuple(events)


def test_a_stream_may_grow_after_it_was_applied() -> None:
    stream = TestStream().add_elements(["a"]).advance_watermark_to(5)
    with TestPipeline() as p:
        captured = capture(p | stream)
        stream.add_elements(["b"]).advance_watermark_to_infinity()
    assert captured.values == ["a"]


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.advance_watermark_to(10),
        lambda s: s.advance_watermark_to(3),
        lambda s: s.advance_processing_time(0),
        lambda s: s.advance_processing_time(-1),
        lambda s: s.advance_processing_time_to(1),
    ],
)
def test_time_only_goes_forward(step) -> None:
    stream = TestStream().advance_watermark_to(10).advance_processing_time(2)
    with pytest.raises(hr.PipelineError, match="cannot advance"):
        step(stream)


def test_no_element_comes_after_the_end() -> None:
    with pytest.raises(hr.PipelineError, match="end of time"):
        TestStream().advance_watermark_to_infinity().add_elements(["a"])


def test_streams_of_a_pipeline_go_on_together() -> None:
    one = TestStream().advance_processing_time(5).add_elements(["a"])
    other = TestStream().add_elements(["b"]).add_elements(["c"]).advance_watermark_to_infinity()
    with TestPipeline() as p:
        first = p | "One" >> one.advance_watermark_to_infinity()
        captured = capture((first, p | "Other" >> other) | hr.Flatten())
    assert sorted(captured.values[:1]) == ["b"]
    assert sorted(captured.values[1:]) == ["a", "c"]
