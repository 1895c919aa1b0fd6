"""An agenda always knows what comes first, and does not keep what no longer counts."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.triggers.agenda import Agenda
from headrace.triggers.trigger import NEVER

moments = st.integers(0, 9)
steps = st.one_of(
    st.tuples(st.just("set"), st.sampled_from("abcd"), moments | st.just(NEVER)),
    st.tuples(st.just("pop"), moments),
)


def test_an_empty_agenda_has_no_first_moment():
    assert Agenda().first == NEVER
    assert Agenda().pop(until=NEVER - 1) == []


def test_the_first_moment_is_the_earliest():
    agenda = Agenda({"late": 9, "early": 1})
    assert agenda.first == 1
    agenda.set("earlier", 0)
    assert agenda.first == 0


def test_what_is_due_is_taken_off_the_earliest_first():
    agenda = Agenda({"c": 30, "a": 10, "b": 20})
    assert agenda.pop(until=20) == ["a", "b"]
    assert agenda.moments == {"c": 30}


def test_a_new_moment_takes_the_place_of_the_old_one():
    agenda = Agenda({"a": 10})
    agenda.set("a", 20)
    assert (agenda.get("a"), agenda.pop(until=10), agenda.pop(until=20)) == (20, [], ["a"])


def test_never_takes_an_item_off():
    agenda = Agenda({"a": 10})
    agenda.set("a", NEVER)
    agenda.set("b", NEVER)
    assert (agenda.first, agenda.get("a"), agenda.moments) == (NEVER, NEVER, {})


def test_an_item_comes_once_even_if_it_was_set_to_the_same_moment_twice():
    agenda = Agenda({"a": 10})
    agenda.set("a", NEVER)
    agenda.set("a", 10)
    assert (agenda.pop(until=10), agenda.first) == (["a"], NEVER)


def test_ties_come_in_the_order_in_which_they_were_set():
    agenda = Agenda({"a": 10, "b": 10})
    agenda.set("a", NEVER)
    agenda.set("a", 10)
    assert agenda.pop(until=10) == ["b", "a"]


def test_items_need_no_order():
    agenda = Agenda({None: 1, "a": 1, (1, "x"): 1})
    assert agenda.pop(until=1) == [None, "a", (1, "x")]


def test_equal_agendas_hold_the_same_moments():
    assert Agenda({"a": 1, "b": 2}) == Agenda({"b": 2, "a": 1})
    assert Agenda({"a": 1}) != Agenda({"a": 2})
    assert Agenda() != {}


@given(st.lists(steps))
def test_it_is_a_dictionary_looked_at_from_its_smallest_value(steps):
    agenda, model = Agenda(), {}
    for kind, *arguments in steps:
        if kind == "set":
            item, moment = arguments
            agenda.set(item, moment)
            if model.get(item, NEVER) != moment:
                model.pop(item, None)
                model.update({item: moment} if moment != NEVER else {})
        else:
            (until,) = arguments
            due = sorted((i for i, m in model.items() if m <= until), key=model.get)
            assert agenda.pop(until) == due
            for item in due:
                del model[item]
        assert agenda.first == min(model.values(), default=NEVER)
        assert agenda.moments == model


@given(st.lists(steps))
def test_it_goes_on_alike_from_its_moments(steps):
    kept, stored = Agenda(), Agenda()
    for kind, *arguments in steps:
        stored = Agenda(stored.moments)
        assert getattr(kept, kind)(*arguments) == getattr(stored, kind)(*arguments)
        assert kept.first == stored.first


def test_it_does_not_grow_while_moments_change():
    """The first item stays where it is, so that what is old behind it never comes to the top."""
    agenda = Agenda({"stays": 0})
    for moment in range(1, 20_000):
        agenda.set("moves", moment)
        agenda.set(moment, moment)
        agenda.set(moment, NEVER)
    assert len(agenda._heap) < 100
