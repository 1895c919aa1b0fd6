"""The grouping of one key: what it costs, however much is alive, and that nothing is too deep for it."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from headrace.grouping.grouping import Grouping
from headrace.grouping.pane_output import Arrival, ArrivalColumns, Panes
from headrace.grouping.state.key_state import KeyState
from headrace.runners.contents.reductions import BagOf, reduction_of
from headrace.sdk.groups.combine_fn import combine_fn_of
from headrace.sdk.testing.strategies.windowing import aligned, windowings
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    DefaultTrigger,
    Never,
    Repeatedly,
    WindowingStrategy,
)
from headrace.triggers.trigger import NEVER, Arrived, Clock
from headrace.windowing import FixedWindows, GlobalWindows, Sessions
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.time.units import SECOND
from headrace.windowing.window import GLOBAL_WINDOW, interval
from tests.unit.triggers.counting import CountingBag, CountingTrigger, heap_pushes
from tests.unit.triggers.one_key import OneKey, arrival

EARLY_AND_LATE = AfterWatermark(early=AfterCount(2), late=AfterCount(1))
FIXED = FixedWindows(1)
MODES = list(AccumulationMode)


def lived(windows, trigger, alive, mode=AccumulationMode.DISCARDING):
    """A key with so many windows alive, an element in each."""
    strategy = WindowingStrategy(windows, CountingTrigger(trigger), mode)
    key = OneKey(strategy, CountingBag())
    key.arrive([(n, n * 2 * SECOND) for n in range(alive)])
    return key


def cost(key, happens):
    """How often the trigger is asked, values are touched and heaps pushed while something happens."""
    calls, touched = key.strategy.trigger.calls, key.reduction.touched
    calls.clear()
    touched.clear()
    with heap_pushes() as pushed:
        happens(key)
    return calls.total() + touched.total() + pushed.total()


WHERE = [FIXED, Sessions(1)]
WHEN = [DefaultTrigger(), EARLY_AND_LATE, Repeatedly(AfterCount(3)), Never()]


@pytest.mark.parametrize("windows", WHERE)
@pytest.mark.parametrize("trigger", WHEN)
def test_an_element_costs_the_same_however_many_windows_are_alive(windows, trigger):
    def one_more(key):
        key.arrive([(1, 2 * SECOND)])

    few, many = (cost(lived(windows, trigger, alive), one_more) for alive in (10, 1_000))
    assert few == many <= 15


@pytest.mark.parametrize("windows", WHERE)
@pytest.mark.parametrize("trigger", WHEN)
def test_a_new_window_costs_the_same_however_many_are_alive(windows, trigger):
    def elsewhere(key):
        key.arrive([(1, -100 * SECOND)])

    few, many = (cost(lived(windows, trigger, alive), elsewhere) for alive in (10, 1_000))
    assert few == many <= 15


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("trigger", [DefaultTrigger(), Never(), Repeatedly(AfterCount(10**6))])
def test_an_element_costs_the_same_however_many_are_buffered(trigger, mode):
    def one_more(key):
        key.arrive([(1, 0)])

    def with_buffered(number):
        key = lived(FIXED, trigger, alive=1, mode=mode)
        key.arrive([(n, 0) for n in range(number)])
        return key

    few, many = (cost(with_buffered(number), one_more) for number in (10, 10_000))
    assert few == many <= 15


@pytest.mark.parametrize("trigger", WHEN)
def test_time_costs_nothing_where_nothing_is_due(trigger):
    key = lived(FIXED, trigger, alive=1_000)
    assert cost(key, lambda key: key.watermark(-5 * SECOND)) == 0
    assert cost(key, lambda key: key.now(60 * SECOND)) == 0


@pytest.mark.parametrize("mode", MODES)
def test_time_costs_by_what_is_due(mode):
    def pass_one(key):
        key.watermark(SECOND)

    few, many = (cost(lived(FIXED, EARLY_AND_LATE, alive, mode), pass_one) for alive in (10, 1_000))
    assert few == many <= 15


def test_firing_costs_what_the_pane_holds():
    """A discarding pane does not hold what has been said."""
    key = lived(FIXED, Repeatedly(AfterCount(100)), alive=1)

    def fire(key):
        key.arrive([(n, 0) for n in range(100)])

    first = cost(key, fire)
    for _ in range(20):
        assert cost(key, fire) <= first


def test_a_jump_over_many_windows_asks_each_once():
    key = lived(FIXED, DefaultTrigger(), alive=1_000)
    calls = key.strategy.trigger.calls
    calls.clear()
    key.watermark(MAX_MICROS)
    assert calls["should_fire"] == 1_000
    assert len(key.said) == 1_000


MANY = 20_000


@pytest.mark.parametrize(("windows", "number"), [(FIXED, MANY), (Sessions(1), MANY // 5)])
def test_many_windows_of_a_key(windows, number):
    strategy = WindowingStrategy(windows)
    key = OneKey(strategy)
    bounds = [interval(n * 2 * SECOND, (n * 2 + 1) * SECOND) for n in range(number)]
    key.take([arrival(window, [n], BagOf()) for n, window in enumerate(bounds)])
    assert len(key.state.windows) == number
    key.watermark(MAX_MICROS)
    assert key.panes.values == [[n] for n in range(number)]


def test_many_elements_of_a_window():
    key = OneKey(WindowingStrategy(GlobalWindows()))
    for n in range(20_000):
        key.take([arrival(GLOBAL_WINDOW, [n], BagOf())])
    key.watermark(MAX_MICROS)
    assert key.panes.values == [list(range(20_000))]


@pytest.mark.slow
def test_many_sessions_become_one():
    """Every other session first, then all between them at once."""
    number = 20_000
    key = OneKey(WindowingStrategy(Sessions(10), Never()))
    apart = [interval(n * 20 * SECOND, (n * 20 + 15) * SECOND) for n in range(number)]
    between = [interval((n * 20 + 10) * SECOND, (n * 20 + 25) * SECOND) for n in range(number)]
    key.take([arrival(window, ["a"], BagOf()) for window in apart])
    key.take([arrival(window, ["b"], BagOf()) for window in between])
    ((window, state),) = key.state.windows.items()
    assert window == interval(0, (number * 20 + 5) * SECOND)
    assert len(state.content) == 2 * number


def test_many_parts_of_a_session_are_taken_back():
    number = 5_000
    strategy = WindowingStrategy(
        Sessions(10), Repeatedly(AfterCount(1)), AccumulationMode.RETRACTING
    )
    key = OneKey(strategy, reduction_of(combine_fn_of(sum, (), {}), changing=False))
    key.arrive([(1, n * 10 * SECOND) for n in range(number)])
    key.arrive([(1, n * 10 * SECOND + 5 * SECOND) for n in range(number)])
    taken_back = [said for said in key.said if said[0] < 0]
    assert len(taken_back) == number
    assert [said[3] for said in taken_back] == sorted(said[3] for said in taken_back)
    assert key.said[-1][:2] == (1, 2 * number)


START, END = Clock(MIN_MICROS, 0), Clock(MAX_MICROS, 0)


@settings(max_examples=50)
@given(
    aligned().flatmap(lambda where: windowings(where, safe=False)),
    st.lists(st.tuples(st.integers(0, 9), st.integers(-20, 20)), min_size=1),
)
def test_a_whole_life_in_one_call_says_what_its_events_say(strategy, rows):
    rows = [(value, time * SECOND) for value, time in rows]
    by_events = OneKey(strategy)
    by_events.play([("elements", rows), ("watermark", MAX_MICROS)])
    at_once = Panes()
    arrivals = list(OneKey(strategy)._arrivals(rows))
    Grouping(strategy, BagOf()).run_to_completion(arrivals, True, START, END, at_once)
    assert by_window(at_once) == by_window(by_events.panes)


@pytest.mark.parametrize("mode", AccumulationMode, ids=lambda mode: mode.name)
@pytest.mark.parametrize("diffs", [(1, 1), (1, -1), (-1, -1), (1, -1, -1), (1, 1, -1)], ids=str)
def test_a_whole_life_says_the_same_of_changes(mode, diffs):
    """Values that were taken back, and debts: with them a window can hold nothing, or less."""
    strategy = WindowingStrategy(FixedWindows(10), accumulation_mode=mode)
    reduction = reduction_of(None, changing=True)
    content = reduction.of(list("ab" * 2)[: len(diffs)], list(diffs))
    window = interval(0, 10 * SECOND)
    came = Arrival(window, content, Arrived(len(diffs)), window.last, window.last)
    by_events = OneKey(strategy, reduction)
    at_once = Panes()
    Grouping(strategy, reduction).run_to_completion([came], True, START, END, at_once)
    by_events.take([came])
    by_events.watermark(MAX_MICROS)
    assert by_window(at_once) == by_window(by_events.panes)


def test_the_columns_of_whole_lives_have_to_fit():
    grouping = Grouping(WindowingStrategy(FixedWindows(10)), BagOf())
    window = (interval(0, 10 * SECOND),)
    columns = ArrivalColumns(["k"], [window], [0], [["a"], ["b"]], 2)
    with pytest.raises(ValueError, match="longer"):
        grouping.emitter.final_panes(columns)


def by_window(panes):
    """What each window says, in order."""
    said: dict[Any, list[Any]] = {}
    columns = (panes.values, panes.timestamps, panes.panes, panes.diffs)
    for (window,), *row in zip(panes.windows, *columns, strict=True):
        said.setdefault(window, []).append(row)
    return said


def test_a_key_that_nothing_has_come_to_wants_nothing():
    key = KeyState()
    assert (key.event_timers.first, key.processing_timers.first, key.hold) == (NEVER, NEVER, NEVER)
