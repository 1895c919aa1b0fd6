"""Deliberate differences from Beam: side inputs."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import apache_beam.transforms.userstate as beam_states

from headrace.transforms import userstate
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


def each(b: Any) -> Any:
    """A pane for each element."""
    return b.trigger.Repeatedly(b.trigger.AfterCount(1))


def letter(pair: Any) -> Any:
    return pair[1]


def look_up(b: Any, view: Any) -> Any:
    return "look up" >> b.Map(lambda _, seen: "".join(sorted(seen)), view)


def at_one(b: Any, p: Any) -> Any:
    """One element of the first minute."""
    main = p | "main" >> b.Create([1]) | "times" >> b.Map(lambda x: b.window.TimestampedValue(x, 1))
    return main | "minutes" >> minutes(b)


@difference("The first pane of a side input")
def test_an_element_waits_for_the_first_pane_of_its_side_window() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 3, "a")]).add_elements([at(b, 4, "b")])
        side = p | stream.advance_watermark_to(70).advance_watermark_to_infinity()
        side = side | b.Map(letter) | minutes(b, **discarding(b, each(b)))
        return at_one(b, p) | look_up(b, b.pvalue.AsList(side))

    assert values(in_beam(program)) == ["ab"]
    assert values(in_headrace(program)) == ["a"]


@difference("Late elements and side inputs")
def test_a_late_element_is_dropped_before_side_inputs() -> None:
    def program(b: Any, p: Any) -> Any:
        late = script(b).advance_watermark_to(70).add_elements([at(b, 1, "late"), at(b, 71, "ok")])
        main = p | late.advance_watermark_to_infinity() | minutes(b) | b.Map(letter)
        side = p | b.Create([5])
        return main | "look up" >> b.Map(lambda x, seen: (x, seen), b.pvalue.AsSingleton(side))

    assert sorted(values(in_beam(program))) == [("late", 5), ("ok", 5)]
    assert values(in_headrace(program)) == [("ok", 5)]


@difference("Side inputs that change")
def test_retracting_panes_replace_the_value_of_a_side_input() -> None:
    def program(b: Any, p: Any, mode: str = "RETRACTING") -> Any:
        stream = script(b).add_elements([at(b, 3, 1)]).add_elements([at(b, 4, 2)])
        side = p | stream.advance_watermark_to(70).advance_watermark_to_infinity()
        mode = getattr(b.trigger.AccumulationMode, mode)
        side = side | b.Map(letter) | minutes(b, trigger=each(b), accumulation_mode=mode)
        total = side | b.CombineGlobally(sum).without_defaults()
        main = at_one(b, p) if b is beam else p | "main" >> after_two(b) | "minutes" >> minutes(b)
        return main | "look up" >> b.Map(lambda _, n: n, b.pvalue.AsSingleton(total))

    with pytest.raises(ValueError, match="more than one element accessed as a singleton"):
        in_beam(lambda b, p: program(b, p, "ACCUMULATING"))
    assert values(in_headrace(program)) == [3]


def after_two(b: Any) -> Any:
    """An element in the round after those of two panes."""
    nothing = script(b).add_elements([]).add_elements([])
    return nothing.add_elements([at(b, 5)]).advance_watermark_to_infinity()


def numbering(b: Any) -> Any:
    """A stateful DoFn that counts from a number in a side input."""
    states = beam_states if b is beam else userstate
    args = (beam.coders.PickleCoder(), sum) if b is beam else (sum,)
    parameter = b.DoFn.StateParam(states.CombiningValueStateSpec("count", *args))

    class Numbering(b.DoFn):
        def process(self, element: Any, base: Any, count: Any = parameter) -> Any:
            count.add(1)
            yield base["k"] + count.read()

    return Numbering()


def test_a_stateful_dofn_with_a_side_input_is_no_difference() -> None:
    def program(b: Any, p: Any) -> Any:
        side = b.pvalue.AsDict(p | "side" >> b.Create([("k", 10)]))
        return p | b.Create([("k", 1), ("k", 2)]) | b.ParDo(numbering(b), side)

    assert sorted(values(in_beam(program, streaming=False))) == [11, 12]
    assert values(in_headrace(program)) == [11, 12]


@difference("Side inputs that a function changes")
def test_a_side_input_that_is_changed() -> None:
    def program(b: Any, p: Any) -> Any:
        side = p | "side" >> b.Create([0])
        main = p | "main" >> b.Create([1, 1, 1])
        return main | b.Map(appended, b.pvalue.AsList(side))

    def appended(element: Any, seen: Any) -> int:
        seen.append(element)
        return len(seen)

    assert sorted(values(in_beam(program))) == [2, 3, 4]
    assert values(in_headrace(program)) == [2, 2, 2]
