"""Deliberate differences from Beam: lateness and expiry."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import headrace as hr
from headrace.windowing.time.timestamps import MAX_MICROS
from tests.beam.differences.both_runners import (
    at,
    beam,
    difference,
    discarding,
    in_beam,
    in_headrace,
    minutes,
    script,
    values,
)

pytestmark = pytest.mark.filterwarnings("ignore")


@difference("Sessions: after merging")
def test_the_lateness_of_sessions_is_judged_after_merging() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 8)]).advance_watermark_to(14)
        stream = stream.add_elements([at(b, 2, "late")]).advance_watermark_to_infinity()
        return p | stream | b.WindowInto(b.window.Sessions(10)) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"])]
    assert values(in_headrace(program)) == [("k", ["a", "late"])]


@difference("How far windows reach")
def test_windows_that_merge_say_how_far_they_reach() -> None:
    def merging(b: Any) -> Any:
        class Merging(b.window.WindowFn):
            def assign(self, context: Any) -> Any:
                return [b.window.IntervalWindow(context.timestamp, context.timestamp + 10)]

            def merge(self, merge_context: Any) -> None:
                pass

            def get_window_coder(self) -> Any:
                return beam.coders.coders.IntervalWindowCoder()

        return Merging()

    assert beam.WindowInto(merging(beam))
    assert hr.WindowInto(merging(hr)).windowing.reach == MAX_MICROS
    with pytest.raises(hr.PipelineError, match=r"does not define reach\(\)"):
        hr.WindowInto(merging(hr), accumulation_mode=hr.AccumulationMode.RETRACTING)


@difference("What a closed window drops")
def test_what_a_closed_window_drops_changes_nothing() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 0)]).add_elements([at(b, 5)])
        stream = stream.add_elements([at(b, 12, "b")]).advance_watermark_to_infinity()
        once = discarding(b, b.trigger.AfterCount(1))
        return p | stream | b.WindowInto(b.window.Sessions(10), **once) | b.GroupByKey()

    unsafe = ["--allow_unsafe_triggers"]
    assert values(in_beam(program, flags=unsafe)) == [("k", ["a"])]
    assert values(in_headrace(program, flags=unsafe)) == [("k", ["a"]), ("k", ["b"])]


@difference("The end of a window")
def test_a_window_is_over_when_the_watermark_is_at_its_end() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(60)
        stream = stream.add_elements([at(b, 5, "late")]).advance_watermark_to_infinity()
        return p | stream | minutes(b) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", ["late"])]
    assert values(in_headrace(program)) == [("k", ["a"])]


@difference("What never fired")
def test_what_never_fired_goes_out_when_the_window_expires() -> None:
    def program(b: Any, p: Any) -> Any:
        ten = b.trigger.Repeatedly(b.trigger.AfterCount(10))
        pairs = p | b.Create([("k", 1), ("k", 2)])
        return pairs | minutes(b, **discarding(b, ten)) | b.GroupByKey()

    assert values(in_beam(program, streaming=False)) == []
    assert values(in_headrace(program)) == [("k", [1, 2])]


@difference("Windows that have expired")
def test_an_expired_window_says_nothing_more() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(70)
        stream = stream.advance_processing_time(100).advance_watermark_to_infinity()
        often = discarding(b, b.trigger.Repeatedly(b.trigger.AfterProcessingTime(100)))
        return p | stream | minutes(b, **often) | b.GroupByKey()

    assert [(pane.timing, pane.is_last) for pane in in_beam(program)] == [("LATE", False)]
    assert [(pane.timing, pane.is_last) for pane in in_headrace(program)] == [("ON_TIME", True)]


@pytest.mark.parametrize(("reached", "joined"), [(12, True), (20, False)])
def test_a_session_that_has_expired_is_kept_for_one_gap(reached: int, joined: bool) -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 0)]).advance_watermark_to(reached)
        stream = stream.add_elements([at(b, 12, "b"), at(b, 9, "c")])
        mode = b.trigger.AccumulationMode.ACCUMULATING
        sessions = b.WindowInto(
            b.window.Sessions(10), trigger=b.trigger.DefaultTrigger(), accumulation_mode=mode
        )
        return p | stream.advance_watermark_to_infinity() | sessions | b.GroupByKey()

    both = [("k", ["a"]), ("k", ["a", "b", "c"])]
    assert values(in_beam(program)) == (both if joined else [("k", ["a"]), ("k", ["b"])])
    assert values(in_headrace(program)) == (both if joined else [("k", ["a"]), ("k", ["b"])])
