"""Deliberate differences from Beam: state and timers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import apache_beam.transforms.timeutil as beam_times
import apache_beam.transforms.userstate as beam_states

import headrace as hr
from headrace.transforms import timeutil, userstate
from tests.beam.differences.both_runners import (
    at,
    beam,
    difference,
    in_beam,
    in_headrace,
    script,
    values,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def alarm(b: Any, domain: str, time: float) -> Any:
    """A DoFn whose timer is set to a time, and shows when it fires."""
    states, times = (beam_states, beam_times) if b is beam else (userstate, timeutil)
    spec = states.TimerSpec("timer", getattr(times.TimeDomain, domain))
    parameter = b.DoFn.TimerParam(spec)

    class Alarm(b.DoFn):
        def process(self, element: Any, timer: Any = parameter) -> None:
            timer.set(time)

        @states.on_timer(spec)
        def fire(self, key: Any = b.DoFn.KeyParam) -> Any:
            yield key

    return b.ParDo(Alarm())


def stream(b: Any, time: float, *marks: float) -> Any:
    """A test stream with an element at a time, after which the watermark advances."""
    played = script(b).add_elements([at(b, time)])
    for mark in marks:
        played = played.advance_watermark_to(mark)
    return played.advance_watermark_to_infinity()


def fixed(b: Any) -> Any:
    return b.WindowInto(b.window.FixedWindows(10))


def timestamps(seen: list[Any]) -> list[float]:
    return [round(element.timestamp, 3) for element in seen]


@difference("Timers later than their window")
def test_a_timer_later_than_its_window_fires_when_that_expires() -> None:
    def program(b: Any, p: Any) -> Any:
        return p | stream(b, 1, 15, 40) | fixed(b) | alarm(b, "WATERMARK", 30)

    assert timestamps(in_beam(program)) == [30]
    assert timestamps(in_headrace(program)) == [10]


@difference("Timers in the past")
def test_the_outputs_of_a_past_timer_have_the_timestamp_of_the_element() -> None:
    def program(b: Any, p: Any) -> Any:
        past = script(b).advance_watermark_to(20).add_elements([at(b, 25)])
        return p | past.advance_watermark_to_infinity() | alarm(b, "WATERMARK", 3)

    assert timestamps(in_beam(program)) == [3]
    assert timestamps(in_headrace(program)) == [25]


@difference("Timers of processing time")
def test_a_timer_of_processing_time_fires_when_its_window_expires() -> None:
    def streaming(b: Any, p: Any) -> Any:
        return p | stream(b, 1, 15) | fixed(b) | alarm(b, "REAL_TIME", 4e9)

    def batch(b: Any, p: Any) -> Any:
        elements = p | b.Create([1]) | b.Map(lambda time: at(b, time))
        return elements | fixed(b) | alarm(b, "REAL_TIME", 4e9)

    assert (timestamps(in_beam(streaming)), timestamps(in_headrace(streaming))) == ([], [1])
    assert timestamps(in_beam(batch, streaming=False)) == [4e9]
    assert timestamps(in_headrace(batch)) == [1]


def counting(b: Any) -> Any:
    """A DoFn that numbers the elements of its key and window."""
    states = beam_states if b is beam else userstate
    args = (beam.coders.PickleCoder(), sum) if b is beam else (sum,)
    parameter = b.DoFn.StateParam(states.CombiningValueStateSpec("count", *args))

    class Counting(b.DoFn):
        def process(self, element: Any, count: Any = parameter) -> Any:
            count.add(1)
            yield count.read()

    return b.ParDo(Counting())


@difference("Elements of expired windows")
def test_a_stateful_dofn_drops_an_element_of_an_expired_window() -> None:
    def program(b: Any, p: Any) -> Any:
        late = script(b).add_elements([at(b, 1)]).advance_watermark_to(30).add_elements([at(b, 2)])
        return p | late.advance_watermark_to_infinity() | fixed(b) | counting(b)

    assert values(in_beam(program)) == [1, 2]
    assert values(in_headrace(program)) == [1]


@difference("State in sessions")
def test_a_stateful_dofn_on_sessions_is_refused() -> None:
    def program(b: Any, p: Any) -> Any:
        elements = p | b.Create([1, 5]) | b.Map(lambda time: at(b, time))
        return elements | b.WindowInto(b.window.Sessions(10)) | counting(b)

    assert values(in_beam(program, streaming=False)) == [1, 1]  # two elements of one session
    with pytest.raises(hr.PipelineError, match="windows of a stateful DoFn cannot merge"):
        in_headrace(program)
