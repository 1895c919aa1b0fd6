"""The published figures on every runner: values, order, pane details and firing moments."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

import headrace as hr
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.testing.assertions.capturing import Captured, capture
from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.sdk.testing.streams.pipelines import TestPipeline
from headrace.windowing.window import GLOBAL_WINDOW
from tests.model.figures import END, KEY, Case, Expected, cases

pytestmark = pytest.mark.mode("streaming")

WORDS = {
    "global": hr.window.GlobalWindows(),
    "fixed": hr.window.FixedWindows,
    "sessions": hr.window.Sessions,
    "validity": ValidityWindows(),
    "default": hr.trigger.DefaultTrigger(),
    "at_watermark": hr.trigger.AfterWatermark(),
    "after_watermark": hr.trigger.AfterWatermark,
    "after_count": hr.trigger.AfterCount,
    "after_processing_time": hr.trigger.AfterProcessingTime,
    "at_period": hr.trigger.AtPeriod,
    "repeatedly": hr.trigger.Repeatedly,
    "repeat_until": lambda t, until: hr.trigger.OrFinally(hr.trigger.Repeatedly(t), until),
    "sequence": hr.trigger.AfterEach,
}

SAMPLE = tuple(f"dataflow_model: {number}" for number in (*range(6, 12), 14))
"""The cases that `make test` runs on an older Spark too; all but the last have one clock: one query."""

LATE_NINE = "streaming_systems: 2-10 right"

at = partial(hr.Timestamp, 0)


def stream(case: Case) -> TestStream:
    script, now = TestStream(), 0
    for kind, what in case.script:
        if kind == "clock":
            script = script.advance_processing_time(hr.Duration(micros=what - now))
            now = what
        elif kind == "elements":
            script = script.add_elements(map(stamped, what))
        else:
            script = _advance(script, what)
    return script


def stamped(element: tuple[int, int]) -> hr.TimestampedValue:
    value, instant = element
    return hr.TimestampedValue((KEY, value), at(instant))


def _advance(script: TestStream, watermark: int | str) -> TestStream:
    if watermark == END:
        return script.advance_watermark_to_infinity()
    assert not isinstance(watermark, str)
    return script.advance_watermark_to(at(watermark))


def sample_marked(some: Iterable[Case]) -> list[Any]:
    """The cases as parameters of a test; those of the sample have its mark."""
    mark = pytest.mark.spark_versions
    return [pytest.param(case, marks=[mark] if str(case) in SAMPLE else []) for case in some]


def windowing(case: Case) -> hr.WindowInto:
    return hr.WindowInto(
        case.windows(WORDS),
        trigger=case.trigger(WORDS),
        accumulation_mode=hr.AccumulationMode[case.mode],
        allowed_lateness=hr.Duration(micros=case.lateness),
        on_time_behavior=hr.trigger.OnTimeBehavior[case.on_time],
    )


def panes(case: Case, runner: Any, combine: Any) -> tuple[list[Captured], Any]:
    """What comes out of a grouping in a case, and what the run counted of it."""
    with TestPipeline(runner=runner) as p:
        summed = p | stream(case) | windowing(case) | "sum" >> combine
        captured = capture(summed)
    assert p.result is not None
    return captured.elements, p.result.metrics().steps["sum"]


def said(case: Case, pane: Captured, expected: Expected) -> Expected:
    """A pane, as far as the text has something to say about it."""
    info = pane.pane
    known = {
        "timing": info.timing.name,
        "index": info.index,
        "non_speculative": info.nonspeculative_index,
        "first": info.is_first,
        "last": info.is_last,
    }
    moment = None if expected.moment is None else _moment(case, pane, expected)
    details = {name: known[name] for name in expected.details}
    return Expected(_window(pane), pane.value[1], pane.diff, moment, details)


def _moment(case: Case, pane: Captured, expected: Expected) -> int | str:
    """When the pane came; at the very end, the clock still stands at the last moment."""
    last = max(moment for moment, _ in case.events if isinstance(moment, int))
    ended = expected.moment == END and pane.now.micros == last
    return END if ended else pane.now.micros


def _window(pane: Captured) -> tuple[int, int | str] | str:
    if pane.window == GLOBAL_WINDOW:
        return "global"
    start, end = pane.window[:2]
    return start, "global" if end == GLOBAL_WINDOW[1] else end


def _start(expected: Expected) -> Any:
    return expected.window[0] if isinstance(expected.window, tuple) else 0


@pytest.mark.parametrize("case", sample_marked(cases()), ids=str)
def test_each_figure_comes_out_as_published(case: Case, runner: Any) -> None:
    found, _ = panes(case, runner, hr.CombinePerKey(sum))
    expected = list(case.panes)
    if not case.in_order:  # order within a window is binding, order across windows is not
        found = sorted(found, key=lambda pane: pane.window)
        expected = sorted(expected, key=_start)
    assert len(found) == len(expected)
    assert [said(case, *pair) for pair in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize("case", cases(), ids=str)
def test_grouping_says_the_same_as_combining(case: Case, runner: Any) -> None:
    summed, _ = panes(case, runner, hr.CombinePerKey(sum))
    grouped, _ = panes(case, runner, hr.GroupByKey())
    assert summed == [pane._replace(value=(KEY, sum(pane.value[1]))) for pane in grouped]


@pytest.mark.spark_versions
@pytest.mark.mode("batch")
@pytest.mark.parametrize("case", [c for c in cases() if c.name != LATE_NINE], ids=str)
def test_a_batch_says_of_each_window_what_was_said_last(case: Case, runner: Any) -> None:
    """Where windows merge, the last are those that are not merged any further."""
    elements = [element for kind, some in case.script if kind == "elements" for element in some]
    with TestPipeline(runner=runner) as p:
        summed = (
            p | hr.Create(list(map(stamped, elements))) | windowing(case) | hr.CombinePerKey(sum)
        )
        captured = capture(summed)
    found = {_window(pane): pane.value[1] for pane in captured.elements}
    assert sum(found.values()) == sum(value for value, _ in elements)
    assert found.items() <= last(case).items()


def last(case: Case) -> dict[Any, int]:
    """What the panes of a case come to, by window."""
    said: dict[Any, int] = {}
    for pane in case.panes:
        before = said.get(pane.window, 0) if case.mode == "DISCARDING" else 0
        if pane.diff > 0:
            said[pane.window] = before + pane.value
    return said


def test_only_the_late_nine_is_dropped_and_counted(runner: Any) -> None:
    dropped = {str(c): panes(c, runner, hr.CombinePerKey(sum))[1].late_dropped for c in cases()}
    assert {name: n for name, n in dropped.items() if n} == {LATE_NINE: 1}
