"""Side inputs of stateful DoFns: when an element runs, what it sees, and what waits with it."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.testing import Captured, TestPipeline, TestStream, capture
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    TimerSpec,
    on_timer,
    on_window_expiration,
)
from headrace.triggers import AfterWatermark
from headrace.windowing import FixedWindows, GlobalWindows
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
    at,
    clock,
    into,
    watermark,
)
from tests.model.semantics.two_inputs import main, on, side, streams

pytestmark = pytest.mark.mode("streaming")

EVERYTHING = GlobalWindows()


class Noting(hr.DoFn):
    """What the elements of a key and window have seen so far, as "x:ab y:ab"."""

    SEEN = BagStateSpec("seen")

    def process(self, element, letters, seen=hr.DoFn.StateParam(SEEN)):
        key, letter = element
        seen.add(f"{letter}:{''.join(sorted(letters))}")
        yield key, " ".join(seen.read())


class Ending(Noting):
    """The same at the end of the window, too."""

    SEEN = Noting.SEEN

    @on_window_expiration
    def end(self, key=hr.DoFn.KeyParam, seen=hr.DoFn.StateParam(SEEN)):
        yield key, f"end {' '.join(seen.read())}"


class Timed(Noting):
    """The same when the watermark reaches 40, or processing time the next minute."""

    AT_40 = TimerSpec("at 40", TimeDomain.WATERMARK)
    IN_60 = TimerSpec("in 60", TimeDomain.REAL_TIME)
    SEEN = Noting.SEEN

    def process(
        self,
        element,
        letters,
        seen=hr.DoFn.StateParam(SEEN),
        at_40=hr.DoFn.TimerParam(AT_40),
        in_60=hr.DoFn.TimerParam(IN_60),
    ):
        at_40.set(40)
        in_60.set_relative(60)
        yield from super().process(element, letters, seen)

    @on_timer(AT_40)
    def fire(self, key=hr.DoFn.KeyParam, seen=hr.DoFn.StateParam(SEEN)):
        yield key, f"at 40 {' '.join(seen.read())}"

    @on_timer(IN_60)
    def tick(self, key=hr.DoFn.KeyParam, seen=hr.DoFn.StateParam(SEEN)):
        yield key, f"in 60 {' '.join(seen.read())}"


def note(
    runner: Any,
    *rounds: tuple[Event, Event],
    of: hr.WindowInto | None = None,
    into_: hr.WindowInto | None = None,
    dofn: hr.DoFn | None = None,
    then: Any = None,
) -> list[Captured]:
    """Play rounds to a stateful DoFn with a side input; return what comes out, in order."""
    with TestPipeline(runner=runner) as p:
        elements, letters = streams(rounds)
        given = p | "side" >> letters | "side windows" >> (of or into(FIXED))
        out = p | "main" >> elements | "main windows" >> (into_ or into(FIXED))
        out |= "note" >> hr.ParDo(dofn or Noting(), hr.AsList(given))
        captured = capture(out if then is None else out | then)
    return captured.elements


def seen(elements: list[Captured]) -> list[Any]:
    return [e.value[1] for e in elements]


X = main(arrive(at(1, "x")))
Y = main(arrive(at(2, "y")))
Z = main(arrive(at(12, "z")))
A = side(arrive(on(3, "a")))
B = side(arrive(on(4, "b")))
READY = side(watermark(10))


# Elements wait, in their order.


def test_elements_wait_for_the_first_pane_and_keep_their_order(runner):
    assert seen(note(runner, X, A, Y)) == []
    assert seen(note(runner, X, A, Y, READY)) == ["x:a", "x:a y:a"]


def test_an_element_in_a_ready_window_does_not_wait_for_another_window(runner):
    rounds = [Z, A, READY, X]
    assert seen(note(runner, *rounds)) == ["x:a"]
    assert seen(note(runner, *rounds, side(watermark(20)))) == ["x:a", "z:"]


def test_state_is_kept_from_one_release_to_the_next(runner):
    assert seen(note(runner, A, READY, X, Y)) == ["x:a", "x:a y:a"]


def test_an_empty_window_is_ready_when_it_expires(runner):
    assert seen(note(runner, X, READY)) == ["x:"]


# A key sees the watermark held at its elements that wait; other keys do not.


def late_by_50(fn: Any = FIXED) -> hr.WindowInto:
    return into(fn, lateness=50)


OTHER = main(arrive(at(2, "o", key="other")))


def test_timers_of_a_key_do_not_overtake_its_elements_that_wait(runner):
    rounds = [A, READY, X, OTHER, Z, main(watermark(45))]
    out = note(runner, *rounds, dofn=Timed(), into_=late_by_50())
    assert sorted(seen(out)) == ["at 40 o:a", "o:a", "x:a"]
    released = note(runner, *rounds, side(watermark(20)), dofn=Timed(), into_=late_by_50())
    # Each window of the key has its own timer.
    assert sorted(seen(released[:3])) == sorted(seen(out))
    assert seen(released[3:]) == ["z:", "at 40 x:a", "at 40 z:"]


def test_timers_up_to_the_element_that_waits_fire(runner):
    w = main(arrive(at(42, "w")))
    rounds = [A, READY, X, w, main(watermark(45))]
    assert seen(note(runner, *rounds, dofn=Timed(), into_=late_by_50())) == ["x:a", "at 40 x:a"]


def test_the_watermark_of_a_key_does_not_decrease(runner):
    """An element behind the watermark waits, and with it the timers that have not fired yet."""
    rounds = [A, READY, X, main(watermark(30)), Z, main(watermark(45))]
    assert seen(note(runner, *rounds, dofn=Timed(), into_=late_by_50())) == ["x:a"]
    rounds = [A, READY, X, main(watermark(41)), Z]
    played = note(runner, *rounds, dofn=Timed(), into_=late_by_50())
    assert seen(played) == ["x:a", "at 40 x:a"]


def test_a_window_does_not_expire_before_its_elements_that_wait(runner):
    rounds = [X, main(watermark(90)), A, READY]
    assert seen(note(runner, *rounds, dofn=Ending())) == ["x:a", "end x:a"]


def test_timers_of_processing_time_do_not_wait(runner):
    rounds = [A, READY, X, Z, main(watermark(9)), (clock(60), clock(60))]
    out = note(runner, *rounds, dofn=Timed(), into_=late_by_50())
    assert seen(out) == ["x:a", "in 60 x:a"]


def test_keys_are_held_by_their_encodings(runner):
    """1 waits; 1.0 and True are other keys."""
    rounds = [
        *[A, READY, main(arrive(*(at(1, "x", key=key) for key in (1, 1.0, True))))],
        *[main(arrive(at(12, "z", key=1))), main(watermark(45))],
    ]
    out = note(runner, *rounds, dofn=Timed(), into_=late_by_50())
    fired = [e.value for e in out if e.value[1].startswith("at")]
    assert sorted(map(repr, fired)) == ["(1.0, 'at 40 x:a')", "(True, 'at 40 x:a')"]


def test_an_element_that_waits_is_on_time_in_the_next_grouping(runner):
    rounds = [X, A, main(watermark(50)), READY, main(watermark(60))]
    (pane,) = note(runner, *rounds, then=hr.GroupByKey())
    assert (pane.value, pane.pane.timing.name) == (("k", ["x:a"]), "ON_TIME")
    assert float(pane.timestamp) == 10 - MICRO


# Late elements.


def test_an_element_that_is_late_is_dropped_and_counted(runner):
    with TestPipeline(runner=runner) as p:
        elements, letters = streams([A, READY, main(watermark(10)), X, Z, side(watermark(20))])
        given = p | "side" >> letters | "side windows" >> into(FIXED)
        out = p | "main" >> elements | "main windows" >> into(FIXED)
        captured = capture(out | "note" >> hr.ParDo(Noting(), hr.AsList(given)))
    assert captured.values == [("k", "z:")]
    assert p.result is not None
    assert p.result.metrics().steps["note"].late_dropped == 1


def test_an_element_that_is_late_in_one_of_its_windows_is_processed_in_the_other(runner):
    """Also if another element of the key holds back the watermark that the key sees."""
    rounds = [main(arrive(at(5, "v"))), main(watermark(21)), main(arrive(at(12, "z"))), A]
    end = side(lambda stream: stream.advance_watermark_to_infinity())
    out = note(runner, *rounds, end, into_=into(SLIDING), of=into(EVERYTHING), dofn=Noting())
    windows = [(e.value[1], float(e.window.start)) for e in out]
    assert sorted(windows) == [("v:a", -10.0), ("v:a", 0.0), ("z:a", 10.0)]


# A later pane changes what comes after it, and only that.


@pytest.mark.parametrize("mode", [DISCARDING, ACCUMULATING, RETRACTING])
def test_panes_add_up_to_all_values(runner, mode):
    out = note(runner, A, X, B, Y, of=into(FIXED, EACH, mode))
    assert seen(out) == ["x:a", "x:a y:ab"]


def test_a_late_pane_is_seen_by_later_elements(runner):
    late = into(FIXED, AfterWatermark(late=EACH.underlying), ACCUMULATING, lateness=50)
    rounds = [A, side(watermark(20)), X, B, Y]
    assert seen(note(runner, *rounds, of=late)) == ["x:a", "x:a y:ab"]


# Windows.


def test_the_side_window_is_around_the_end_of_the_main_window(runner):
    rounds = [A, side(arrive(on(15, "b"), on(25, "c"))), side(watermark(40)), X, Z]
    assert seen(note(runner, *rounds, of=into(FixedWindows(20)))) == ["x:ab", "z:ab"]
    out = note(runner, *rounds, into_=into(FixedWindows(20)))
    assert seen(out) == ["x:b", "x:b z:b"]


def test_an_element_is_processed_in_each_of_its_windows(runner):
    rounds = [A, side(arrive(on(15, "b"))), side(watermark(40)), Z]
    out = note(runner, *rounds, of=into(SLIDING), into_=into(SLIDING))
    assert sorted((float(e.window.start), e.value[1]) for e in out) == [(0, "z:ab"), (10, "z:b")]


# Views, and several side inputs.


class Seeing(hr.DoFn):
    """The number of the element of its key, and all that it sees."""

    COUNT = CombiningValueStateSpec("count", sum)

    def process(
        self,
        element,
        names,
        one,
        count=hr.DoFn.StateParam(COUNT),
        *,
        tags,
        letters,
        time=hr.DoFn.TimestampParam,
    ):
        key, letter = element
        count.add(1)
        views = names[letter], one, tags[letter], tags["none"], "".join(sorted(letters))
        yield key, (count.read(), float(time), *views)


def seeing(p: Any, elements: Any, windows: Any) -> Any:
    main_ = p | "main" >> elements | "main windows" >> windows
    made: dict[str, list[Any]] = {
        "names": [("x", "ex"), ("y", "why")],
        "one": [7],
        "tags": [("x", 1), ("x", 2)],
        "letters": ["b", "a"],
    }
    sides = {
        name: p
        | name >> hr.Create([on(5, value) for value in values])
        | f"{name} windows" >> windows
        for name, values in made.items()
    }
    return main_ | hr.ParDo(
        Seeing(),
        hr.AsDict(sides["names"]),
        hr.AsSingleton(sides["one"]),
        tags=hr.AsMultiMap(sides["tags"]),
        letters=hr.AsIter(sides["letters"]),
    )


VIEWS: list[Any] = [
    (1, 1.0, "ex", 7, [1, 2], [], "ab"),
    (2, 2.0, "why", 7, [], [], "ab"),
]


@pytest.mark.parametrize(
    "mode", ["streaming", pytest.param("batch", marks=pytest.mark.mode("batch"))]
)
def test_all_views_by_position_and_by_name(runner, mode):
    elements = [at(1, "x"), at(2, "y")]
    streams_ = mode == "streaming"
    source: Any = TestStream().add_elements(elements) if streams_ else hr.Create(elements)
    with TestPipeline(runner=runner) as p:
        captured = capture(seeing(p, source, into(FIXED)))
    assert seen(captured.elements) == VIEWS


@pytest.mark.mode("batch")
def test_a_batch_sees_all_values_of_each_window(runner):
    with TestPipeline(runner=runner) as p:
        given = p | "side" >> hr.Create([on(3, "a"), on(4, "b"), on(13, "c")])
        given |= "side windows" >> into(FIXED)
        out = p | "main" >> hr.Create(
            [at(1, "x"), at(2, "y"), at(12, "z"), at(22, "w"), at(1, "v", "o")]
        )
        out |= "main windows" >> into(FIXED)
        captured = capture(out | "note" >> hr.ParDo(Ending(), hr.AsList(given)))
    assert sorted(captured.values) == [
        ("k", "end w:"),
        ("k", "end x:ab y:ab"),
        ("k", "end z:c"),
        ("k", "w:"),
        ("k", "x:ab"),
        ("k", "x:ab y:ab"),
        ("k", "z:c"),
        ("o", "end v:ab"),
        ("o", "v:ab"),
    ]


# Slowly changing values.


def test_each_window_sees_the_value_of_its_time(runner):
    """The number of each order of a customer in a window, with the price of that window."""
    with TestPipeline(runner=runner) as p:
        times = p | "times" >> hr.PeriodicImpulse(0, 30, 10, apply_windowing=True)
        prices = times | "prices" >> hr.Map(lambda time: f"{int(time)} cents")
        orders = [
            at(time, f"order {time}", customer)
            for time, customer in [(3, "m"), (12, "m"), (14, "m"), (17, "n")]
        ]
        out = p | "orders" >> hr.Create(orders) | "order windows" >> into(FIXED)
        found = capture(out | hr.ParDo(Pricing(), hr.AsSingleton(prices)))
    assert sorted(found.values) == [
        ("m", ("order 12", 1, "10 cents")),
        ("m", ("order 14", 2, "10 cents")),
        ("m", ("order 3", 1, "0 cents")),
        ("n", ("order 17", 1, "10 cents")),
    ]


class Pricing(hr.DoFn):
    COUNT = CombiningValueStateSpec("count", sum)

    def process(self, element, price, count=hr.DoFn.StateParam(COUNT)):
        customer, order = element
        count.add(1)
        yield customer, (order, count.read(), price)


# Retractions.


class Net(hr.DoFn):
    """The sum of the values that stand, each times a factor."""

    SUM = CombiningValueStateSpec("sum", sum)

    def process(self, element, factor, diff=hr.DoFn.DiffParam, total=hr.DoFn.StateParam(SUM)):
        key, value = element
        total.add(diff * value * factor)
        yield key, total.read()


def test_a_main_input_with_retractions_sees_a_side_input_that_fires_once(runner):
    rounds = [side(arrive(on(3, 10))), READY, main(arrive(at(1, 1))), main(arrive(at(2, 2)))]
    with TestPipeline(runner=runner) as p:
        elements, factors = streams(rounds)
        factor = p | "side" >> factors | "side windows" >> into(FIXED)
        sums = p | "main" >> elements | "main windows" >> into(FIXED, EACH, RETRACTING)
        sums |= "sums" >> hr.CombinePerKey(sum)
        captured = capture(sums | "net" >> hr.ParDo(Net(), hr.AsSingleton(factor)))
    assert captured.values == [("k", 10), ("k", 0), ("k", 30)]


def test_a_side_input_with_retractions_replaces_its_value(runner):
    rounds = [
        side(arrive(on(1, 2))),
        main(arrive(at(1, 1))),
        side(arrive(on(2, 3))),
        main(arrive(at(2, 1))),
    ]
    with TestPipeline(runner=runner) as p:
        elements, numbers = streams(rounds)
        total = p | "side" >> numbers | "side windows" >> into(FIXED, EACH, RETRACTING)
        total |= hr.CombineGlobally(sum).without_defaults()
        out = p | "main" >> elements | "main windows" >> into(FIXED)
        captured = capture(out | hr.ParDo(Net(), hr.AsSingleton(total)))
    assert captured.values == [("k", 2), ("k", 7)]
