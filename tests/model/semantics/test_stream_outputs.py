"""Test streams with several outputs: one script, several collections with watermarks of their own."""

from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture
from headrace.testing.test_stream import ElementEvent, WindowedValueHolder
from headrace.triggers import AccumulationMode, AfterCount, AfterProcessingTime, AfterWatermark
from headrace.utils.windowed_value import PaneInfo, PaneInfoTiming, WindowedValue
from headrace.windowing import MAX_TIMESTAMP, FixedWindows, IntervalWindow, Timestamp

pytestmark = pytest.mark.mode("streaming")

EARLY = AfterWatermark(early=AfterCount(1))


def window(trigger=EARLY):
    return hr.WindowInto(
        FixedWindows(10), trigger=trigger, accumulation_mode=AccumulationMode.DISCARDING
    )


def panes(pcoll, name, trigger=EARLY):
    """Capture the panes of a collection of pairs: their values and timing."""
    grouped = pcoll | f"{name} windows" >> window(trigger) | f"{name} panes" >> hr.GroupByKey()
    return capture(grouped, label=f"{name} seen")


def shown(captured):
    return [("".join(e.value[1]), e.pane.timing.name, e.window.start) for e in captured.elements]


def two_outputs():
    return (
        TestStream()
        .add_elements([hr.TimestampedValue(("k", "a"), 1)], tag="letters")
        .advance_watermark_to(10, tag="letters")
        .add_elements([hr.TimestampedValue(("k", "1"), 2)], tag="numbers")
        .advance_watermark_to(12, tag="numbers")
    )


def test_each_output_has_its_own_elements_and_watermark(runner):
    with TestPipeline(runner=runner) as p:
        outputs = p | two_outputs()
        letters, numbers = (panes(outputs[tag], tag) for tag in ("letters", "numbers"))
    assert shown(letters) == [("a", "EARLY", 0), ("", "ON_TIME", 0)]
    assert shown(numbers) == [("1", "EARLY", 0), ("", "ON_TIME", 0)]


def test_the_watermark_after_several_outputs_is_their_minimum(runner):
    stream = (
        TestStream(stays_open=True)
        .add_elements([hr.TimestampedValue(("k", "a"), 1)], tag="letters")
        .advance_watermark_to(15, tag="letters")
        .add_elements([hr.TimestampedValue(("k", "1"), 2)], tag="numbers")
        .advance_watermark_to(9, tag="numbers")
    )
    with TestPipeline(runner=runner) as p:
        outputs: Any = p | stream  # a dict, because the stream has tags
        at_end = AfterWatermark()
        alone = panes(outputs["letters"], "letters", at_end)
        both = panes(tuple(outputs.values()) | hr.Flatten(), "both", at_end)
    assert shown(alone) == [("a", "ON_TIME", 0)]
    assert shown(both) == []


@pytest.mark.alone  # it has a clock and two sources
def test_the_outputs_share_the_processing_time(runner):
    delayed = AfterWatermark(early=AfterProcessingTime(6))
    stream = (
        TestStream()
        .add_elements([hr.TimestampedValue(("k", "a"), 1)], tag="letters")
        .add_elements([hr.TimestampedValue(("k", "1"), 2)], tag="numbers")
        .advance_processing_time(4)
        .add_elements([hr.TimestampedValue(("k", "b"), 1)], tag="letters")
        .advance_processing_time(2)
    )
    with TestPipeline(runner=runner) as p:
        outputs = p | stream
        found = [panes(outputs[tag], tag, delayed) for tag in ("letters", "numbers")]
    assert [shown(each) for each in found] == [
        [("ab", "EARLY", 0), ("", "ON_TIME", 0)],
        [("1", "EARLY", 0), ("", "ON_TIME", 0)],
    ]
    # Each step counts once: a delay of 8 seconds is longer than the script.
    longer = AfterWatermark(early=AfterProcessingTime(8))
    with TestPipeline(runner=runner) as p:
        outputs = p | stream
        found = [panes(outputs[tag], tag, longer) for tag in ("letters", "numbers")]
    assert [shown(each) for each in found] == [[("ab", "ON_TIME", 0)], [("1", "ON_TIME", 0)]]


def test_an_element_can_wait_for_the_watermark_of_another_output(runner):
    stream = (
        TestStream()
        .add_elements([hr.TimestampedValue("question", 1)], tag="main")
        .advance_watermark_to(20, tag="main")
        .add_elements([hr.TimestampedValue("answer", 2)], tag="side")
        .advance_watermark_to(10, tag="side")
    )
    with TestPipeline(runner=runner) as p:
        outputs = p | stream
        windowed = {tag: outputs[tag] | tag >> hr.WindowInto(FixedWindows(10)) for tag in outputs}
        asked = windowed["main"] | hr.Map(lambda x, side: (x, side), hr.AsList(windowed["side"]))
        found = capture(asked)
    assert [e.value for e in found.elements] == [("question", ["answer"])]


def test_a_stream_that_ends_with_the_run_is_a_side_input_without_windows(runner):
    stream = (
        TestStream()
        .add_elements(["question"], tag="main")
        .add_elements([1], tag="side")
        .add_elements([2], tag="side")
    )
    with TestPipeline(runner=runner) as p:
        outputs = p | stream
        asked = outputs["main"] | hr.Map(
            lambda x, side: (x, sorted(side)), hr.AsList(outputs["side"])
        )
        found = capture(asked)
    assert [e.value for e in found.elements] == [("question", [1, 2])]


def test_an_element_keeps_the_windows_that_are_given(runner):
    pane = PaneInfo(True, True, PaneInfoTiming.ON_TIME, 0, 0)
    value = WindowedValue("a", 5, [IntervalWindow(5, 9)], pane)
    with TestPipeline(runner=runner) as p:
        found = capture(p | TestStream().add_elements([WindowedValueHolder(value)]))
    (element,) = found.elements
    assert (element.value, element.window, element.timestamp) == (
        "a",
        IntervalWindow(5, 9),
        Timestamp(5),
    )


def test_an_output_that_is_declared_or_has_only_a_watermark_exists():
    p = hr.Pipeline()
    stream = TestStream(output_tags=["silent"]).advance_watermark_to(5, tag="quiet")
    assert list(p | stream.add_elements(["a"])) == ["silent", "quiet", None]


def test_plain_values_have_the_watermark_of_their_output():
    stream = (
        TestStream()
        .advance_watermark_to(5, tag="a")
        .advance_watermark_to(7, tag="b")
        .add_elements(["x"], tag="a")
    )
    assert stream.events[-1] == ElementEvent((hr.TimestampedValue("x", 5),), tag="a")


def test_a_stream_is_bounded_if_all_its_outputs_are():
    stream = two_outputs().advance_watermark_to_infinity(tag="letters")
    assert not stream.bounded
    assert stream.advance_watermark_to_infinity(tag="numbers").bounded


def test_the_calls_show_the_tags():
    assert two_outputs().calls[:2] == (
        ".add_elements([TimestampedValue(('k', 'a'), 1)], tag='letters')",
        ".advance_watermark_to(10, tag='letters')",
    )
    end = TestStream().advance_watermark_to_infinity(tag="a")
    assert end.calls == (".advance_watermark_to_infinity(tag='a')",)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (lambda s: s.advance_watermark_to(4, tag="a"), "cannot advance the watermark to"),
        (lambda s: s.advance_processing_time(0), "cannot advance processing time"),
        (
            lambda s: s.add_elements([hr.TimestampedValue("x", MAX_TIMESTAMP)]),
            "is at the end of time",
        ),
    ],
)
def test_impossible_events_are_refused(event, problem):
    stream = TestStream().advance_watermark_to(5, tag="a").advance_watermark_to(3, tag="b")
    with pytest.raises(hr.PipelineError, match=problem):
        event(stream)
    with pytest.raises(AssertionError):
        event(stream)
