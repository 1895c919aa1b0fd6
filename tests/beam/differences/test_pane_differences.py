"""Deliberate differences from Beam: panes and accumulation modes."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import headrace as hr
from headrace import testing
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


# Refinement


@difference("Retracting mode")
def test_beam_has_no_retractions() -> None:
    assert not hasattr(beam.trigger.AccumulationMode, "RETRACTING")
    assert hr.trigger.AccumulationMode.RETRACTING


# Panes


@difference("assert_that sees the net content")
def test_assert_that_sees_what_is_left() -> None:
    with testing.TestPipeline() as p:
        stream = script(hr).add_elements([at(hr, 1)]).advance_watermark_to(60)
        stream = stream.add_elements([at(hr, 2)]).advance_watermark_to_infinity()
        trigger = hr.trigger.AfterWatermark(late=hr.trigger.AfterCount(1))
        mode = hr.trigger.AccumulationMode.RETRACTING
        how = minutes(hr, trigger=trigger, accumulation_mode=mode, allowed_lateness=99)
        counted = p | stream | how | hr.combiners.Count.PerKey()
        everything = testing.capture(counted)
        testing.assert_that(counted, testing.equal_to([("k", 2)]))
    assert [(e.value, e.diff) for e in everything.elements] == [
        (("k", 1), 1),
        (("k", 1), -1),
        (("k", 2), 1),
    ]


@difference("The last pane")
def test_the_pane_at_the_expiry_is_the_last() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        return p | stream | minutes(b) | b.GroupByKey()

    assert [pane.is_last for pane in in_beam(program)] == [False]
    assert [pane.is_last for pane in in_headrace(program)] == [True]


@difference("On time or late")
def test_the_first_pane_after_the_end_of_the_window_is_on_time() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).advance_watermark_to(70).add_elements([at(b, 10)])
        late = minutes(b, allowed_lateness=100)
        return p | stream.advance_watermark_to_infinity() | late | b.GroupByKey()

    assert [pane.timing for pane in in_beam(program)] == ["LATE"]
    assert [pane.timing for pane in in_headrace(program)] == ["ON_TIME"]


@difference("Timestamps behind the watermark")
@pytest.mark.parametrize("combiner", ["OUTPUT_AT_EARLIEST", "OUTPUT_AT_LATEST"])
def test_an_element_behind_the_watermark_counts_at_the_watermark(combiner: str) -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).advance_watermark_to(20).add_elements([at(b, 10)])
        stamped = minutes(b, timestamp_combiner=getattr(b.window.TimestampCombiner, combiner))
        return p | stream.advance_watermark_to_infinity() | stamped | b.GroupByKey()

    assert [pane.timestamp for pane in in_beam(program)] == [59.999999]
    assert [pane.timestamp for pane in in_headrace(program)] == [20]


@difference("Timestamps of panes after an early one")
@pytest.mark.parametrize(("combiner", "on_time"), [("EARLIEST", 1), ("LATEST", 5)])
def test_a_pane_is_stamped_by_its_new_elements(combiner: str, on_time: float) -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).add_elements([at(b, 5)])
        each = minutes(
            b,
            trigger=b.trigger.AfterWatermark(early=b.trigger.AfterCount(1)),
            accumulation_mode=b.trigger.AccumulationMode.DISCARDING,
            timestamp_combiner=getattr(b.window.TimestampCombiner, f"OUTPUT_AT_{combiner}"),
        )
        return p | stream.advance_watermark_to_infinity() | each | b.GroupByKey()

    assert [pane.timestamp for pane in in_beam(program)] == [1, on_time, on_time]
    assert [pane.timestamp for pane in in_headrace(program)] == [1, 5, 59.999999]


@difference("Timestamps of retracting panes")
@pytest.mark.parametrize(("combiner", "latest"), [("EARLIEST", 1), ("LATEST", 5)])
def test_a_retracting_pane_is_stamped_by_all_that_it_holds(combiner: str, latest: float) -> None:
    def program(b: Any, p: Any, mode: str) -> Any:
        stream = script(b).add_elements([at(b, 1)]).add_elements([at(b, 5)])
        each = minutes(
            b,
            trigger=b.trigger.AfterWatermark(early=b.trigger.AfterCount(1)),
            accumulation_mode=getattr(b.trigger.AccumulationMode, mode),
            timestamp_combiner=getattr(b.window.TimestampCombiner, f"OUTPUT_AT_{combiner}"),
        )
        return p | stream.advance_watermark_to_infinity() | each | b.GroupByKey()

    accumulating, retracting = (
        [pane.timestamp for pane in in_headrace(partial(program, mode=mode))]
        for mode in ("ACCUMULATING", "RETRACTING")
    )
    assert accumulating == [1, 5, 59.999999]
    assert retracting == [1, 1, latest, latest, latest]


@difference("On-time and closing behaviour")
def test_empty_panes_are_a_matter_of_the_windowing() -> None:
    with pytest.raises(TypeError):
        minutes(beam, on_time_behavior=None)
    assert minutes(hr, on_time_behavior=hr.trigger.OnTimeBehavior.FIRE_IF_NON_EMPTY)


@difference("Timing where the clock fires")
def test_the_moment_of_a_timer_is_not_the_watermark() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_processing_time(100)
        trigger = b.trigger.AfterWatermark(early=b.trigger.AfterProcessingTime(100))
        grouped = minutes(b, **discarding(b, trigger)) | b.GroupByKey()
        return p | stream.advance_watermark_to_infinity() | grouped

    assert [(pane.value, pane.timing) for pane in in_beam(program)] == [(("k", ["a"]), "LATE")]
    assert [(pane.value, pane.timing) for pane in in_headrace(program)] == [
        (("k", ["a"]), "EARLY"),
        (("k", []), "ON_TIME"),
    ]


@difference("Timing and the output watermark")
def test_what_is_early_goes_by_the_input_watermark() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(70)
        stream = stream.add_elements([at(b, 2)]).advance_watermark_to_infinity()
        pairs = b.trigger.Repeatedly(b.trigger.AfterCount(2))
        return p | stream | minutes(b, **discarding(b, pairs), allowed_lateness=99) | b.GroupByKey()

    assert [pane.timing for pane in in_beam(program)] == ["EARLY"]
    assert [pane.timing for pane in in_headrace(program)] == ["ON_TIME"]


@difference("Timing of merged sessions")
def test_a_merged_session_remembers_that_a_part_of_it_was_not_early() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).advance_watermark_to(12).add_elements([at(b, 1)])
        stream = stream.add_elements([at(b, 8)]).advance_watermark_to_infinity()
        each = discarding(b, b.trigger.Repeatedly(b.trigger.AfterCount(1)))
        sessions = b.WindowInto(b.window.Sessions(10), **each, allowed_lateness=99)
        return p | stream | sessions | b.GroupByKey()

    assert [pane.timing for pane in in_beam(program)] == ["LATE", "EARLY"]
    assert [pane.timing for pane in in_headrace(program)] == ["ON_TIME", "LATE"]


@difference("Reshuffle of late elements")
def test_a_reshuffle_drops_nothing() -> None:
    def program(b: Any, p: Any) -> Any:
        late = script(b).advance_watermark_to(70).add_elements([at(b, 5)])
        allowing = minutes(b, allowed_lateness=100)
        return p | late.advance_watermark_to_infinity() | allowing | b.Reshuffle()

    assert values(in_beam(program)) == []
    assert values(in_headrace(program)) == [("k", "a")]
