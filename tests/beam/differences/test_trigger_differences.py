"""Deliberate differences from Beam: triggers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import headrace as hr
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


@difference("Watermark triggers of merged sessions")
def test_a_merged_session_waits_for_its_own_end() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(12)
        for instant in (8, 9):
            stream = stream.add_elements([at(b, instant, instant)])
        trigger = b.trigger.AfterWatermark(late=b.trigger.AfterCount(1))
        how = discarding(b, trigger)
        sessions = b.WindowInto(b.window.Sessions(10), **how, allowed_lateness=99)
        return p | stream.advance_watermark_to_infinity() | sessions | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", [8]), ("k", [9])]
    assert values(in_headrace(program)) == [("k", ["a"]), ("k", [8, 9])]


@difference("Several watermark triggers")
def test_two_watermark_triggers_fire_once() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        both = b.trigger.AfterAll(b.trigger.DefaultTrigger(), b.trigger.DefaultTrigger())
        return p | stream | minutes(b, **discarding(b, both)) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", [])]
    assert values(in_headrace(program)) == [("k", ["a"])]


@difference("A watermark trigger in a sequence")
def test_a_watermark_trigger_in_a_sequence_needs_no_element() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        trigger = b.trigger.AfterEach(b.trigger.AfterCount(1), b.trigger.AfterWatermark())
        return p | stream | minutes(b, **discarding(b, trigger)) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"])]
    assert values(in_headrace(program)) == [("k", ["a"]), ("k", [])]


@difference("Timers of early firings")
def test_what_early_firings_waited_for_is_over_with_them() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(70)
        stream = stream.advance_processing_time(10).advance_watermark_to_infinity()
        early, late = b.trigger.AfterProcessingTime(10), b.trigger.AfterProcessingTime(5)
        trigger = b.trigger.AfterWatermark(early=early, late=late)
        how = discarding(b, trigger)
        return p | stream | minutes(b, **how, allowed_lateness=999) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", [])]
    assert values(in_headrace(program)) == [("k", ["a"])]


@difference("What did not fire in AfterAny")
def test_what_did_not_fire_in_any_of_several_starts_anew() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b)
        for instant in (1, 2, 3):
            stream = stream.add_elements([at(b, instant, instant)])
        either = b.trigger.AfterAny(b.trigger.Always(), b.trigger.AfterCount(2))
        then = b.trigger.Repeatedly(b.trigger.AfterWatermark())
        trigger = b.trigger.AfterEach(either, then)
        grouped = minutes(b, **discarding(b, trigger)) | b.GroupByKey()
        return p | stream.advance_watermark_to(59).advance_watermark_to_infinity() | grouped

    assert [pane.timing for pane in in_beam(program)] == ["EARLY", "EARLY", "ON_TIME"]
    assert [pane.timing for pane in in_headrace(program)][:3] == ["EARLY", "EARLY", "EARLY"]


@difference("The end of OrFinally")
def test_or_finally_goes_on_if_both_parts_fire_and_the_second_does_not_finish() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(70)
        stream = stream.add_elements([at(b, 2)]).advance_watermark_to_infinity()
        t = b.trigger
        until = t.OrFinally(t.AfterWatermark(), t.DefaultTrigger())
        trigger = t.AfterEach(until, t.Repeatedly(t.AfterCount(10)))
        how = discarding(b, trigger)
        return p | stream | minutes(b, **how, allowed_lateness=99) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"])]
    assert values(in_headrace(program)) == [("k", ["a"]), ("k", ["a"])]


@difference("AfterAny within a repetition")
def test_any_of_several_triggers_starts_anew_after_it_has_fired() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b)
        for instant in (1, 2, 3):
            stream = stream.add_elements([at(b, instant, instant)]).advance_processing_time(20)
        early = b.trigger.AfterAny(b.trigger.AfterCount(10), b.trigger.AfterProcessingTime(10))
        trigger = b.trigger.AfterWatermark(early=early)
        grouped = minutes(b, **discarding(b, trigger)) | b.GroupByKey()
        return p | stream.advance_watermark_to_infinity() | grouped

    assert values(in_beam(program)) == [("k", [1]), ("k", [2, 3])]
    assert values(in_headrace(program)) == [("k", [1]), ("k", [2]), ("k", [3]), ("k", [])]


@difference("Continuations")
def test_time_and_either_of_two_continue_otherwise() -> None:
    either = "OrFinally(AfterCount(2), AfterWatermark())"
    theirs, ours = (vars(module.trigger) for module in (beam, hr))
    synchronized = theirs["AfterProcessingTime"](60).get_continuation_trigger()
    assert type(synchronized).__name__ == "_AfterSynchronizedProcessingTime"
    assert ours["AfterProcessingTime"](60).get_continuation_trigger() == (
        ours["AfterProcessingTime"](0)
    )
    assert repr(eval(either, dict(theirs)).get_continuation_trigger()) == (
        "OrFinally(AfterCount(1), AfterWatermark())"
    )
    assert repr(eval(either, dict(ours)).get_continuation_trigger()) == (
        "Repeatedly(OrFinally(AfterCount(1), AfterWatermark()))"
    )


@difference("Further triggers")
@pytest.mark.parametrize("name", ["AtPeriod", "AfterElement", "AfterBytes", "Never"])
def test_further_triggers(name: str) -> None:
    assert not hasattr(beam.trigger, name)
    assert hasattr(hr.trigger, name)
