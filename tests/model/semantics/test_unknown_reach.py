"""Windows that merge though their function does not tell how far they reach: they are kept to the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture
from headrace.triggers import AccumulationMode
from headrace.windowing import BoundedWindow, IntervalWindow, WindowFn


class Overlapping(WindowFn):
    """Ten seconds from each element; windows that overlap merge."""

    def assign(self, context: WindowFn.AssignContext) -> list[BoundedWindow]:
        return [IntervalWindow(context.timestamp, context.timestamp + 10)]

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        for group in groups(sorted(merge_context.windows)):
            end = max(window.end for window in group)
            merge_context.merge(group, IntervalWindow(group[0].start, end))

    def __repr__(self) -> str:
        return "Overlapping()"


def groups(windows: Iterable[BoundedWindow]) -> list[list[BoundedWindow]]:
    found: list[list[BoundedWindow]] = []
    for window in windows:
        if found and window.start < max(other.end for other in found[-1]):
            found[-1].append(window)
        else:
            found.append([window])
    return found


def accumulated(mode: AccumulationMode = AccumulationMode.ACCUMULATING) -> hr.WindowInto:
    return hr.WindowInto(Overlapping(), accumulation_mode=mode)


def at(second: int, value: str) -> hr.TimestampedValue[Any]:
    return hr.TimestampedValue(("k", value), second)


@pytest.mark.mode("streaming")
@pytest.mark.filterwarnings("ignore:.*the windows of Overlapping")
def test_an_element_in_time_still_merges_with_a_window_that_has_expired(runner: Any) -> None:
    stream = TestStream().add_elements([at(0, "a")]).advance_watermark_to(12)
    stream = stream.add_elements([at(5, "b")]).advance_watermark_to(100)
    stream = stream.add_elements([at(1, "too late"), at(99, "c")])
    with TestPipeline(runner=runner) as p:
        found = capture(p | stream | accumulated() | hr.GroupByKey())
    panes = [
        (sorted(e.value[1]), float(e.window.start), float(e.window.end)) for e in found.elements
    ]
    assert panes == [(["a"], 0, 10), (["a", "b"], 0, 15), (["c"], 99, 109)]


class Far(Overlapping):
    """The same windows, with a reach that no stream below exceeds."""

    def reach(self) -> float:
        return 10_000


steps = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 15)), max_size=12)


@given(
    steps=steps, lateness=st.integers(0, 10), mode=st.sampled_from(["accumulating", "discarding"])
)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:.*the windows of Overlapping")
def test_results_are_those_of_a_reach_that_is_long_enough(
    steps: list[tuple[int, int]], lateness: int, mode: str
) -> None:
    def panes(window_fn: WindowFn) -> list[Any]:
        stream, watermark = TestStream(), 0
        for number, (time, advance) in enumerate(steps):
            watermark += advance
            stream = stream.add_elements([at(time, str(number))]).advance_watermark_to(watermark)
        into = hr.WindowInto(window_fn, accumulation_mode=mode, allowed_lateness=lateness)
        with TestPipeline() as p:
            found = capture(p | stream | into | hr.GroupByKey())
        return [(sorted(e.value[1]), e.window, e.pane.timing) for e in found.elements]

    assert panes(Overlapping()) == panes(Far())


def test_a_stream_warns_and_a_batch_does_not() -> None:
    with TestPipeline() as p:
        _ = p | "batch" >> hr.Create([at(0, "a")]) | "windows of a batch" >> accumulated()
        stream = p | TestStream().add_elements([at(0, "a")])
        with pytest.warns(
            UserWarning, match=r"Overlapping\(\) merge, and it does not define reach\(\)"
        ):
            _ = stream | "windows of a stream" >> accumulated()


def test_retractions_need_the_reach() -> None:
    with pytest.raises(hr.PipelineError, match=r"does not define reach\(\)"):
        accumulated(AccumulationMode.RETRACTING)
