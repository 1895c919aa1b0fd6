"""A timer queue always knows what comes first, and does not keep what no longer counts."""

from hypothesis import given, strategies as st

from headrace.grouping.state.timer_queue import TimerQueue
from headrace.triggers.trigger import NEVER

moments = st.integers(0, 9)
steps = st.one_of(
    st.tuples(st.just("set"), st.sampled_from("abcd"), moments | st.just(NEVER)),
    st.tuples(st.just("pop"), moments),
)


def test_an_empty_agenda_has_no_first_moment():
    assert TimerQueue().first == NEVER
    assert TimerQueue().pop(until=NEVER - 1) == []


def test_the_first_moment_is_the_earliest():
    timers = TimerQueue({"late": 9, "early": 1})
    assert timers.first == 1
    timers.set("earlier", 0)
    assert timers.first == 0


def test_what_is_due_is_taken_off_the_earliest_first():
    timers = TimerQueue({"c": 30, "a": 10, "b": 20})
    assert timers.pop(until=20) == ["a", "b"]
    assert timers.moments == {"c": 30}


def test_a_new_moment_takes_the_place_of_the_old_one():
    timers = TimerQueue({"a": 10})
    timers.set("a", 20)
    assert (timers.get("a"), timers.pop(until=10), timers.pop(until=20)) == (20, [], ["a"])


def test_never_takes_an_item_off():
    timers = TimerQueue({"a": 10})
    timers.set("a", NEVER)
    timers.set("b", NEVER)
    assert (timers.first, timers.get("a"), timers.moments) == (NEVER, NEVER, {})


def test_an_item_comes_once_even_if_it_was_set_to_the_same_moment_twice():
    timers = TimerQueue({"a": 10})
    timers.set("a", NEVER)
    timers.set("a", 10)
    assert (timers.pop(until=10), timers.first) == (["a"], NEVER)


def test_ties_come_in_the_order_in_which_they_were_set():
    timers = TimerQueue({"a": 10, "b": 10})
    timers.set("a", NEVER)
    timers.set("a", 10)
    assert timers.pop(until=10) == ["b", "a"]


def test_items_need_no_order():
    timers = TimerQueue({None: 1, "a": 1, (1, "x"): 1})
    assert timers.pop(until=1) == [None, "a", (1, "x")]


def test_equal_agendas_hold_the_same_moments():
    assert TimerQueue({"a": 1, "b": 2}) == TimerQueue({"b": 2, "a": 1})
    assert TimerQueue({"a": 1}) != TimerQueue({"a": 2})
    assert TimerQueue() != {}


@given(st.lists(steps))
def test_it_is_a_dictionary_looked_at_from_its_smallest_value(steps):
    timers: TimerQueue[str] = TimerQueue()
    model: dict[str, int] = {}
    for kind, *arguments in steps:
        if kind == "set":
            item, moment = arguments
            timers.set(item, moment)
            if model.get(item, NEVER) != moment:
                model.pop(item, None)
                model.update({item: moment} if moment != NEVER else {})
        else:
            (until,) = arguments
            due = sorted((i for i, m in model.items() if m <= until), key=model.__getitem__)
            assert timers.pop(until) == due
            for item in due:
                del model[item]
        assert timers.first == min(model.values(), default=NEVER)
        assert timers.moments == model


@given(st.lists(steps))
def test_it_goes_on_alike_from_its_moments(steps):
    kept: TimerQueue[str] = TimerQueue()
    stored: TimerQueue[str] = TimerQueue()
    for kind, *arguments in steps:
        stored = TimerQueue(stored.moments)
        assert getattr(kept, kind)(*arguments) == getattr(stored, kind)(*arguments)
        assert kept.first == stored.first


def test_it_does_not_grow_while_moments_change():
    """The first item stays where it is, so that what is old behind it never comes to the top."""
    timers: TimerQueue[str | int] = TimerQueue({"stays": 0})
    for moment in range(1, 20_000):
        timers.set("moves", moment)
        timers.set(moment, moment)
        timers.set(moment, NEVER)
    assert len(timers._heap) < 100
