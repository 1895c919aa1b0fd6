"""New timestamps: a TimestampedValue that a function emits is in the windows of its own timestamp."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, capture
from headrace.transforms.userstate import BagStateSpec, TimeDomain, TimerSpec, on_timer
from tests.model.semantics.scenarios import (
    END,
    FIXED,
    RETRACTING,
    SESSIONS,
    SLIDING,
    arrive,
    at,
    into,
    watermark,
    words,
)

LATER = 13


def later(pair: Any, timestamp: Any = hr.DoFn.TimestampParam) -> Any:
    return hr.TimestampedValue(pair, timestamp + LATER)


def and_later(pair: Any, timestamp: Any = hr.DoFn.TimestampParam) -> Any:
    """Emits a pair unchanged, and once more with another letter and timestamp."""
    return [pair, later((pair[0], pair[1].upper()), timestamp)]


class Batches(hr.DoFn):
    """A DoFn of batches, whose outputs have timestamps."""

    @hr.DoFn.yields_elements
    def process_batch(self, batch: list[Any], timestamp: Any = hr.DoFn.TimestampParam) -> Any:
        yield from (later(pair, timestamp) for pair in batch)


class Remembers(hr.DoFn):
    """A stateful DoFn: process emits elements later, a timer emits one later still."""

    SEEN = BagStateSpec("seen")
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(
        self,
        pair: Any,
        timestamp: Any = hr.DoFn.TimestampParam,
        seen: Any = hr.DoFn.StateParam(SEEN),
        timer: Any = hr.DoFn.TimerParam(TIMER),
    ) -> Any:
        seen.add(pair[1])
        timer.set(9)
        yield later(pair, timestamp)

    @on_timer(TIMER)
    def fires(self, key: Any = hr.DoFn.KeyParam, seen: Any = hr.DoFn.StateParam(SEEN)) -> Any:
        yield hr.TimestampedValue((key, "".join(sorted(seen.read())).upper()), 31)


EVENTS = [arrive(at(1, "a"), at(8, "b")), END]

CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "fixed": ([into(FIXED), hr.Map(later)], [("a", (10, 20)), ("b", (20, 30))]),
    "with timestamps": (
        [into(FIXED), hr.WithTimestamps(lambda pair: 35)],
        [("ab", (30, 40))],
    ),
    "sessions": ([into(SESSIONS), hr.Map(later)], [("ab", (14, 31))]),
    "apart": (
        [into(SESSIONS), hr.WithTimestamps(lambda pair: 40 if pair[1] == "a" else 60)],
        [("a", (40, 50)), ("b", (60, 70))],
    ),
    "some": (
        [into(FIXED), hr.FlatMap(and_later)],
        [("A", (10, 20)), ("B", (20, 30)), ("ab", (0, 10))],
    ),
    "batches": ([into(FIXED), hr.ParDo(Batches())], [("a", (10, 20)), ("b", (20, 30))]),
    "state": (
        [into(FIXED), hr.ParDo(Remembers())],
        [("AB", (30, 40)), ("a", (10, 20)), ("b", (20, 30))],
    ),
    # An element in two windows is an element in each of them, and so gets two windows twice.
    "sliding": (
        [into(SLIDING), hr.WithTimestamps(lambda pair: 35)],
        [("aabb", (20, 40)), ("aabb", (30, 50))],
    ),
    # Behind a grouping the window function is still there: a session becomes a session of one element.
    "grouped": (
        [into(SESSIONS), "First" >> words(), hr.WithTimestamps(lambda pair: 40)],
        [("ab", (40, 50))],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_element_is_in_the_windows_of_its_new_timestamp(play: Any, case: str) -> None:
    transforms, expected = CASES[case]
    assert sorted(play(EVENTS, *transforms, "Last" >> words()).windows) == sorted(expected)


def test_a_window_that_a_function_asks_for(play: Any) -> None:
    def at_the_end(pair: Any, window: Any = hr.DoFn.WindowParam) -> Any:
        return hr.TimestampedValue(pair, window.end)

    played = play([arrive(at(1, "a")), END], into(SLIDING), hr.Map(at_the_end), words())
    expected = [("a", (-0.0, 20)), ("aa", (10, 30)), ("a", (20, 40))]
    assert sorted(played.windows) == sorted(expected)


def test_an_output_with_windows_keeps_them(play: Any) -> None:
    placed = hr.Map(lambda x: hr.WindowedValue(x, 33, [hr.window.IntervalWindow(0, 10)]))
    assert play(EVENTS, into(FIXED), placed, words()).windows == [("ab", (0, 10))]


def test_a_retraction_is_in_the_windows_of_its_value(play: Any) -> None:
    events = [arrive(at(1, "a")), watermark(12), arrive(at(2, "b")), END]
    first = into(FIXED, mode=RETRACTING, lateness=60)
    played = play(events, first, words(), hr.WithTimestamps(lambda pair: 25))
    assert played.windows == [("a", (20, 30)), ("-a", (20, 30)), ("ab", (20, 30))]


def test_an_element_behind_the_watermark_of_its_new_window_is_dropped(play: Any) -> None:
    events = [watermark(30), arrive(at(31, "a")), END]
    played = play(events, into(FIXED), hr.WithTimestamps(lambda pair: 5), words())
    assert (played.values, played.dropped) == ([], 1)


@pytest.mark.mode("batch")
def test_with_a_side_input_a_tag_or_a_handler(runner: Any) -> None:
    def tagged(pair: Any, times: list[int]) -> Any:
        yield hr.TaggedOutput("late", hr.TimestampedValue(pair, times[0]))

    with TestPipeline(runner=runner) as p:
        pairs = p | hr.Create([at(1, "a")]) | into(FIXED)
        times = p | "Times" >> hr.Create([33])
        side = hr.pvalue.AsList(times)
        outputs = pairs | hr.FlatMap(tagged, side).with_outputs("late")
        good, _ = pairs | hr.Map(later).with_exception_handling()
        found = [capture(outputs["late"], "tagged"), capture(good, "caught")]
    windows = [(float(e.timestamp), float(e.window.start)) for c in found for e in c.elements]
    assert windows == [(33, 30), (14, 10)]
