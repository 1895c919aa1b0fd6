"""What is divided by field for a shuffle is restored as it was: values, their types and their order."""

from __future__ import annotations

import dataclasses
import pickle
from collections import namedtuple
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.coders import Coder, PickleCoder, registry
from headrace.runners.spark.shuffle.records import Lists, Records, by_field, restored
from headrace.runners.spark.shuffle.wire import dumps, loads
from tests.unit.sdk.serialization.registry import clean_registry


class Point(NamedTuple):
    x: Any
    y: Any


class Labelled(Point):
    """A subclass: its instances have attributes of their own."""


class Reduced(namedtuple("Reduced", "x y")):
    def __reduce__(self) -> Any:
        return Reduced, (self.x, self.y)


@dataclasses.dataclass
class Plain:
    """A dataclass; its values can have more attributes than fields."""

    a: Any
    b: Any


@dataclasses.dataclass(slots=True)
class Slots:
    a: Any
    b: Any


@attrs.frozen
class Frozen:
    a: Any
    b: Any


@attrs.frozen(cache_hash=True)
class Hashed:
    """Its values have a slot that is not a field."""

    a: int


@attrs.frozen
class Coded:
    a: Any
    b: Any


class CodedCoder(Coder):
    def encode(self, value: Any) -> bytes:
        return pickle.dumps((value.a, value.b))

    def decode(self, encoded: bytes) -> Any:
        return Coded(*pickle.loads(encoded))


@pytest.fixture(autouse=True)
def coder(monkeypatch: pytest.MonkeyPatch) -> None:
    clean_registry(monkeypatch)
    registry.register_coder(Coded, CodedCoder, name="coded")


LEAVES = st.integers() | st.text(max_size=3) | st.none() | st.booleans()


def records(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Point, of, of),
        st.builds(Plain, of, of),
        st.builds(Slots, of, of),
        st.builds(Frozen, of, of),
        st.builds(Coded, of, of),
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
    if isinstance(value, (Plain, Slots, Frozen, Coded)):
        return type(value), shape(value.a), shape(value.b)
    if isinstance(value, (tuple, list)):
        return type(value), [shape(part) for part in value]
    return type(value), value


@given(st.one_of(VALUES, ALIKE, st.lists(st.builds(Point, LEAVES, records(LEAVES)))))
def test_values_are_restored(values: list[Any]) -> None:
    after = restored(loads(dumps(by_field(values))))
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
        ([Plain(1, 2), Plain(3, 4)], Records),
        ([Slots(1, 2), Slots(3, 4)], Records),
        ([Frozen(1, 2), Frozen(3, 4)], Records),
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


def test_what_is_not_divided() -> None:
    more, unset = Plain(1, 2), Slots(1, 2)
    more.extra = 3  # type: ignore[attr-defined]
    del unset.a
    values: list[Any]
    for values in ([more], [unset], [Hashed(1)], [Coded(1, 2)]):
        assert by_field(values) is values
    assert isinstance(by_field([Point(1, 2)]), Records)
    registry.register_coder(Point, PickleCoder, name="point")
    values = [Point(1, 2)]
    assert by_field(values) is values
