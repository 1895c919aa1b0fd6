"""What is divided by field for a shuffle is restored as it was: values, their types and their order."""

from __future__ import annotations

import pickle
from collections import namedtuple
from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.runners.spark.shuffle.records import Lists, Records, by_field, restored


class Point(NamedTuple):
    x: Any
    y: Any


class Labelled(Point):
    """A subclass: its instances have attributes of their own."""


class Reduced(namedtuple("Reduced", "x y")):
    def __reduce__(self) -> Any:
        return Reduced, (self.x, self.y)


LEAVES = st.integers() | st.text(max_size=3) | st.none() | st.booleans()


def records(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Point, of, of),
        st.builds(lambda a, b: hr.Row(a=a, b=b), of, of),
        st.builds(lambda b: hr.Row(b=b), of),
        st.tuples(of, of),
        st.tuples(of),
        st.lists(of, max_size=3),
    )


VALUES = st.lists(st.recursive(LEAVES, records, max_leaves=6), max_size=6)
ALIKE = records(LEAVES).flatmap(lambda first: st.lists(st.just(first), max_size=4))


def shape(value: Any) -> Any:
    """A value with the types of all its parts."""
    if isinstance(value, hr.Row):
        return hr.Row, [(name, shape(part)) for name, part in value.as_dict().items()]
    if isinstance(value, (tuple, list)):
        return type(value), [shape(part) for part in value]
    return type(value), value


@given(st.one_of(VALUES, ALIKE, st.lists(st.builds(Point, LEAVES, records(LEAVES)))))
def test_values_are_restored(values: list[Any]) -> None:
    after = restored(pickle.loads(pickle.dumps(by_field(values))))
    assert shape(after) == shape(values)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([Point(1, 2), Point(3, 4)], Records),
        ([("k", hr.Row(a=1)), ("l", hr.Row(a=2))], Records),
        ([[Point(1, 2)], [], [Point(3, 4), Point(5, 6)]], Lists),
        ([(1, 2), (3, 4)], list),
        ([hr.Row(a=1), hr.Row(b=1)], list),
        ([hr.Row(a=1, b=2), hr.Row(b=2, a=1)], list),
        ([hr.Row()], list),
        ([Point(1, 2), (1, 2)], list),
        ([Labelled(1, 2)], list),
        ([Reduced(1, 2)], list),
        ([(1,), (1, 2)], list),
        ([], list),
    ],
)
def test_what_is_divided(values: list[Any], kind: type) -> None:
    found = by_field(values)
    assert type(found) is kind
    assert kind is not list or found is values
    assert shape(restored(found)) == shape(values)
