"""Keys are the same if and only if their encodings are."""

import dataclasses
import math
import pickle
import subprocess
import sys
from collections import namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from uuid import UUID

import attrs
import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.sdk.coders.keys import encode_key, encode_value, identities, identity
from headrace.windowing import Duration, GlobalWindow, IntervalWindow, Timestamp


class Stone(Enum):
    NORTH = 1
    SOUTH = 2


class Level(IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Wheel:
    size: int
    note: str = dataclasses.field(default="", compare=False)


@attrs.frozen
class Gear:
    teeth: int
    note: str = attrs.field(default="", eq=False)


@attrs.define
class Loose:
    size: int


@dataclasses.dataclass
class Open:
    size: int


ATOMS = [
    None,
    True,
    False,
    0,
    1,
    -1,
    127,
    128,
    255,
    256,
    2**64,
    -(2**64),
    0.0,
    1.0,
    math.inf,
    -math.inf,
    math.nan,
    1 + 0j,
    "",
    "1",
    "a",
    "ä",
    b"",
    b"1",
    b"a",
    Decimal(1),
    Decimal("1.5"),
    Decimal("-1"),
    Decimal(0),
    Decimal("NaN"),
    datetime(2020, 1, 1, tzinfo=UTC),
    datetime(2020, 1, 1),
    date(2020, 1, 1),
    time(1),
    time(1, tzinfo=UTC),
    timedelta(seconds=1),
    UUID(int=1),
    Timestamp(1),
    Duration(1),
    IntervalWindow(0, 1),
    GlobalWindow(),
    Stone.NORTH,
    Stone.SOUTH,
    Level.LOW,
    Name("a"),
    (),
    [],
    (1,),
    [1],
    (1, 2),
    ((1,), 2),
    (1, (2,)),
    (1, 2, None),
    ("a", "b"),
    ("ab",),
    ("a", "b", ""),
    Point(1, 2),
    Wheel(1),
    Wheel(2),
    Gear(1),
    hr.Row(a=1),
    hr.Row(b=1),
    hr.Row(a=1, b=1),
    frozenset(),
    frozenset({1}),
    frozenset({1, 2}),
    frozenset({"1", "2"}),
]


def test_different_keys_have_different_encodings() -> None:
    encodings = {encode_key(key): key for key in ATOMS}
    assert len(encodings) == len(ATOMS)


def test_different_keys_have_different_identities() -> None:
    assert len({identity(key) for key in ATOMS}) == len(ATOMS)


SAME = [
    (math.nan, -math.nan),
    (Decimal("1.0"), Decimal("1.000")),
    (Decimal("1E+2"), Decimal(100)),
    (Decimal(0), Decimal("-0.0")),
    (
        datetime(2020, 1, 1, 12, tzinfo=UTC),
        datetime(2020, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))),
    ),
    (Wheel(1, "one"), Wheel(1, "other")),
    (Gear(1, "one"), Gear(1, "other")),
    (frozenset("abcdefgh"), frozenset("hgfedcba")),
    (Timestamp(1.5), Timestamp(micros=1_500_000)),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_keys_of_a_type_have_one_encoding(one, other) -> None:
    assert encode_key(one) == encode_key(other)
    assert identity(one) == identity(other)
    assert identity((one, 1)) == identity((other, 1))


def test_zeros_of_two_signs_are_two_keys() -> None:
    assert encode_key(0.0) != encode_key(-0.0)


Keys = st.recursive(
    st.sampled_from(ATOMS) | st.integers() | st.text() | st.floats() | st.binary(),
    lambda keys: st.lists(keys) | st.lists(keys).map(tuple),
    max_leaves=8,
)


@given(Keys, Keys)
def test_encodings_are_equal_where_types_and_values_are(one, other) -> None:
    assert (encode_key(one) == encode_key(other)) == _alike(one, other)


@given(Keys, Keys)
def test_identities_are_equal_where_encodings_are(one, other) -> None:
    assert (identity(one) == identity(other)) == (encode_key(one) == encode_key(other))
    if identity(one) == identity(other):
        assert hash(identity(one)) == hash(identity(other))


def _alike(one, other):
    if type(one) is not type(other):
        return False
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if type(one) is float:
        return repr(one) == repr(other)
    if isinstance(one, Decimal) and one.is_nan():
        return other.is_nan()
    return one == other


@given(st.lists(Keys))
def test_identities_of_many_keys(keys) -> None:
    assert identities(keys) == [identity(key) for key in keys]


@pytest.mark.parametrize(
    "keys", [["a", "b"], [1, 2], [b"a"], [1, "a", None], [("a", 1), ("b", 2)], []], ids=repr
)
def test_simple_keys_are_their_own_identities(keys) -> None:
    assert identities(keys) is keys


@pytest.mark.parametrize("key", [{1}, {"a": 1}, bytearray(b"a"), object(), Loose(1), Open(1), len])
def test_some_things_cannot_be_keys(key) -> None:
    for wrapped in (key, (key,), [1, key]):
        with pytest.raises(hr.KeyEncodingError, match="cannot be a key") as refusal:
            encode_key(wrapped)
        assert refusal.value.remedy


@pytest.mark.parametrize(
    ("key", "remedy"),
    [({1}, "frozenset"), ({"a": 1}, "sorted"), (Loose(1), "frozen"), (Open(1), "frozen")],
)
def test_a_refusal_says_what_to_do(key, remedy) -> None:
    with pytest.raises(hr.KeyEncodingError) as refusal:
        encode_key(key)
    assert remedy in refusal.value.remedy


def test_encodings_do_not_depend_on_the_process() -> None:
    program = (
        "from headrace.sdk.coders.keys import encode_key; "
        "print(encode_key(frozenset('abcdefgh')).hex(), encode_key(('a', 1.5, None)).hex())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


Values = st.recursive(
    Keys,
    lambda values: st.lists(values) | st.dictionaries(st.text(), values) | st.sets(st.integers()),
    max_leaves=8,
)


@given(Values)
def test_a_value_that_travelled_is_found_again(value) -> None:
    assert encode_value(pickle.loads(pickle.dumps(value))) == encode_value(value)


def test_the_order_of_sets_and_dicts_means_nothing() -> None:
    assert encode_value({"a": {1, 2}, "b": 2}) == encode_value({"b": 2, "a": {2, 1}})
    assert encode_value([{"a": 1, "b": 2}]) == encode_value([{"b": 2, "a": 1}])


def test_values_of_different_types_are_different() -> None:
    values = [{1: 2}, {(1, 2)}, [(1, 2)], frozenset({(1, 2)}), Loose(1), Loose(2), Open(1)]
    assert len(set(map(encode_value, values))) == len(values)
