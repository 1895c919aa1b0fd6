"""Facts of arrivals are the same after a shuffle; elements are unpickled only if they are needed."""

from __future__ import annotations

import pickle
from itertools import chain
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

from headrace.grouping.bundle import Bundle, Element
from headrace.grouping.pane_output import Arrival, merge_arrivals
from headrace.runners.spark.shuffle import arrival_facts
from headrace.runners.spark.shuffle.arrival_facts import arrivals_of, facts_of
from headrace.triggers.trigger import Arrived
from headrace.windowing.window import interval

PREDICATES = (bool, callable, len)
WINDOW = interval(0, 10)
ELEMENTS = st.lists(st.builds(Element, st.integers(), st.integers(0, 9), st.just((WINDOW,))))


def arrivals(elements: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Arrival]]:
    marks = st.frozensets(st.sampled_from(PREDICATES))
    counts = st.integers(0, 9)
    return st.lists(
        st.builds(
            Arrival,
            window=st.just(WINDOW),
            content=st.integers(),
            arrived=st.builds(Arrived, counts, counts, marks),
            earliest=counts,
            latest=counts,
            elements=elements,
            times=st.dictionaries(counts, counts, max_size=2),
        ),
        max_size=4,
    )


def shuffled(before: list[Arrival]) -> list[Arrival]:
    found = pickle.loads(pickle.dumps(facts_of(before, PREDICATES)))
    windows, contents = [a.window for a in before], [a.content for a in before]
    return list(arrivals_of(found, windows, contents, PREDICATES))


def read(arrival: Arrival) -> Arrival:
    """An arrival whose elements are in one list."""
    return attrs.evolve(arrival, elements=[list(chain.from_iterable(arrival.elements))])


@given(arrivals(st.just(()) | st.tuples(ELEMENTS) | st.tuples(ELEMENTS, ELEMENTS)))
def test_arrivals_are_the_same_after_a_shuffle(before: list[Arrival]) -> None:
    assert list(map(read, shuffled(before))) == list(map(read, before))


def test_elements_are_unpickled_only_if_one_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = []

    def unpack(data: Any) -> Bundle:
        unpacked.append(data)
        return Bundle([1, 2])

    monkeypatch.setattr(arrival_facts, "unpack", unpack)
    one = Arrival(WINDOW, 0, Arrived(1), 0, 0, ([Element(1, 0, (WINDOW,))],))
    found = shuffled([one, one])
    whole = merge_arrivals(WINDOW, found, int.__add__)
    assert not unpacked
    assert [element.value for element in chain.from_iterable(whole.elements)] == [1, 2]
    assert len(unpacked) == 1
