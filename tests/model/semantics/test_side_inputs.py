"""Side inputs: when an element runs, and what it sees."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.testing import Captured, TestPipeline, TestStream, capture
from headrace.triggers import AfterWatermark
from headrace.windowing import FixedWindows, GlobalWindows, SlidingWindows
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    DISCARDING,
    EACH,
    FIXED,
    MICRO,
    RETRACTING,
    SLIDING,
    Event,
    arrive,
    into,
    watermark,
)
from tests.model.semantics.two_inputs import main, on, side, streams

pytestmark = pytest.mark.mode("streaming")

TWENTY = FixedWindows(20)
EVERYTHING = GlobalWindows()


def joined(letter: str, letters: list[str]) -> str:
    """What an element sees: "x:ab"."""
    return f"{letter}:{''.join(sorted(letters))}"


def look_up(
    runner: Any,
    *rounds: tuple[Event, Event],
    of: hr.WindowInto | None = None,
    into_: hr.WindowInto | None = None,
    then: Any = None,
) -> list[Captured]:
    """Play rounds to a main input with a side input; return what comes out, in order."""
    with TestPipeline(runner=runner) as p:
        elements, letters = streams(rounds)
        given = p | "side" >> letters | "side windows" >> (of or into(FIXED))
        out = p | "main" >> elements | "main windows" >> (into_ or into(FIXED))
        out |= "look up" >> hr.Map(joined, hr.AsList(given))
        captured = capture(out if then is None else out | then)
    return captured.elements


def seen(elements: list[Captured]) -> list[Any]:
    return [e.value for e in elements]


X = main(arrive(on(1, "x")))
Y = main(arrive(on(2, "y")))
A = side(arrive(on(3, "a")))
B = side(arrive(on(4, "b")))


# An element waits until its window of the side input is ready.


def test_an_element_waits_for_the_first_pane(runner):
    assert seen(look_up(runner, X, A)) == []
    assert seen(look_up(runner, X, A, side(watermark(9)))) == []
    assert seen(look_up(runner, X, A, side(watermark(10)))) == ["x:a"]


def test_after_the_first_pane_an_element_does_not_wait(runner):
    assert seen(look_up(runner, A, side(watermark(10)), X)) == ["x:a"]


def test_an_early_pane_is_enough(runner):
    early = into(FIXED, AfterWatermark(early=EACH.underlying))
    assert seen(look_up(runner, X, A, of=early)) == ["x:a"]


def test_an_empty_window_is_ready_when_it_expires(runner):
    assert seen(look_up(runner, X, side(watermark(10)))) == ["x:"]
    late = into(FIXED, lateness=5)
    assert seen(look_up(runner, X, side(watermark(14)), of=late)) == []
    assert seen(look_up(runner, X, side(watermark(15)), of=late)) == ["x:"]


def test_the_watermark_of_the_main_input_does_not_make_a_window_ready(runner):
    assert seen(look_up(runner, X, A, main(watermark(30)))) == []


def test_elements_of_several_windows_wait_for_their_own(runner):
    rounds = [X, main(arrive(on(11, "z"))), A, side(watermark(10))]
    assert seen(look_up(runner, *rounds)) == ["x:a"]
    assert seen(look_up(runner, *rounds, side(watermark(20)))) == ["x:a", "z:"]


@pytest.mark.parametrize("windows", [FIXED, EVERYTHING])
def test_an_element_in_no_window_is_dropped_but_not_late(runner, windows):
    gaps = hr.WindowInto(SlidingWindows(2, 10))
    nowhere = main(arrive(on(5, "y")))
    with TestPipeline(runner=runner) as p:
        elements, letters = streams([A, side(TestStream.advance_watermark_to_infinity), nowhere, X])
        given = p | "side" >> letters | "side windows" >> hr.WindowInto(windows)
        out = p | "main" >> elements | "main windows" >> gaps
        captured = capture(out | "look up" >> hr.Map(joined, hr.AsList(given)))
    assert captured.values == ["x:a"]
    assert p.result is not None
    assert p.result.metrics().steps["look up"].late_dropped == 0


# While it waits it holds the watermark, so it is not late afterwards.


def test_a_waiting_element_is_on_time_in_the_next_grouping(runner):
    rounds = [X, A, main(watermark(50)), side(watermark(10)), main(watermark(60))]
    (pane,) = look_up(runner, *rounds, then=Words())
    assert (pane.value, pane.pane.timing.name) == ("x:a", "ON_TIME")
    assert float(pane.timestamp) == 10 - MICRO


@hr.ptransform_fn
def Words(pcoll):
    keyed = pcoll | "key" >> hr.WithKeys(None)
    return (
        keyed
        | "group" >> hr.GroupByKey()
        | "words" >> hr.MapTuple(lambda key, words: " ".join(words))
    )


def test_a_side_input_holds_nothing_else_back(runner):
    rounds = [side(arrive(on(12, "b"))), A, side(watermark(10)), X, main(watermark(10))]
    assert seen(look_up(runner, *rounds, then=Words())) == ["x:a"]


# A later pane changes what comes after it, and only that.


def repeated(mode, lateness=0):
    return into(FIXED, EACH, mode, lateness)


@pytest.mark.parametrize("mode", [DISCARDING, ACCUMULATING, RETRACTING])
def test_panes_add_up_to_all_values(runner, mode):
    assert seen(look_up(runner, A, X, B, Y, of=repeated(mode))) == ["x:a", "y:ab"]


@hr.ptransform_fn
def Upper(pcoll):
    return pcoll | "upper" >> hr.Map(str.upper)


def test_a_retraction_of_the_side_input_takes_values_back(runner):
    with TestPipeline(runner=runner) as p:
        elements, numbers = streams([side(arrive(on(1, 2))), X, side(arrive(on(2, 3))), Y])
        total = p | "side" >> numbers | "side windows" >> repeated(RETRACTING)
        total |= hr.CombineGlobally(sum).without_defaults()
        out = p | "main" >> elements | "main windows" >> into(FIXED)
        captured = capture(out | hr.Map(lambda x, n: (x, n), hr.AsSingleton(total)))
    assert captured.values == [("x", 2), ("y", 5)]


def test_a_late_pane_is_seen_by_later_elements(runner):
    late = into(FIXED, AfterWatermark(late=EACH.underlying), ACCUMULATING, lateness=50)
    rounds = [A, side(watermark(20)), X, B, Y]
    assert seen(look_up(runner, *rounds, of=late)) == ["x:a", "y:ab"]


# Windows of the side input.


def test_the_side_window_is_around_the_end_of_the_main_window(runner):
    rounds = [A, side(arrive(on(15, "b"), on(25, "c"))), side(watermark(40)), X]
    assert seen(look_up(runner, *rounds, of=into(TWENTY))) == ["x:ab"]
    assert seen(look_up(runner, *rounds, into_=into(TWENTY))) == ["x:b"]


def test_an_element_is_processed_in_each_of_its_windows(runner):
    rounds = [A, side(arrive(on(15, "b"))), side(watermark(40)), main(arrive(on(12, "x")))]
    out = look_up(runner, *rounds, of=into(SLIDING), into_=into(SLIDING))
    assert sorted((float(e.window.start), e.value) for e in out) == [(0, "x:ab"), (10, "x:b")]


def test_a_global_side_input_belongs_to_all_windows(runner):
    everything = into(EVERYTHING, EACH)
    rounds = [A, X, side(arrive(on(50, "c"))), main(arrive(on(32, "y")))]
    out = look_up(runner, *rounds, of=everything, into_=into(SLIDING))
    assert [(e.value, len(e.windows)) for e in out] == [("x:a", 2), ("y:ac", 2)]


def test_an_element_that_is_late_is_dropped(runner):
    rounds = [A, side(watermark(10)), main(watermark(10)), X]
    assert seen(look_up(runner, *rounds)) == []
    assert seen(look_up(runner, *rounds, into_=into(FIXED, lateness=1))) == ["x:a"]


def test_an_element_that_waits_is_not_late(runner):
    rounds = [X, main(watermark(90)), A, side(watermark(10))]
    assert seen(look_up(runner, *rounds)) == ["x:a"]


# Slowly changing values: a periodic source, windows and a function that looks a value up.


def price(time: float) -> tuple[str, str]:
    """What a service has to say at a time."""
    return "oats", f"{int(time)} cents"


def priced(p, times):
    """Orders with the price of their window, looked up as a singleton and in a dict."""
    orders = [on(time, f"order {time}") for time in (3, 12, 14, 27)]
    main = p | "orders" >> hr.Create(orders) | "order windows" >> into(FIXED)
    prices = times | "prices" >> hr.Map(price)
    one = prices | "only price" >> hr.Values()
    look_up = hr.Map(
        lambda order, table, one: (order, table["oats"], one),
        hr.AsDict(prices),
        hr.AsSingleton(one),
    )
    return main | "look up" >> look_up


PRICED = [
    ("order 12", "10 cents", "10 cents"),
    ("order 14", "10 cents", "10 cents"),
    ("order 27", "20 cents", "20 cents"),
    ("order 3", "0 cents", "0 cents"),
]


def test_each_window_sees_the_value_of_its_time(runner):
    with TestPipeline(runner=runner) as p:
        times = p | "times" >> hr.PeriodicImpulse(0, 30, 10, apply_windowing=True)
        found = capture(priced(p, times))
    assert sorted(found.values) == PRICED


@pytest.mark.mode("batch")
def test_each_window_of_a_batch_too(runner):
    with TestPipeline(runner=runner) as p:
        times = p | "times" >> hr.Create([on(time, time) for time in (0, 10, 20)]) | into(FIXED)
        found = capture(priced(p, times))
    assert sorted(found.values) == PRICED
