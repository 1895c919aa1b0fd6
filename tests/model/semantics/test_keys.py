"""Keys are compared by their encoding; a key without one is refused."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import NamedTuple

import attrs
import pytest

import headrace as hr
from headrace.triggers import AfterCount, Repeatedly
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    END,
    FIXED,
    RETRACTING,
    arrive,
    at,
    into,
    words,
)


class Colour(Enum):
    RED = 1
    BLUE = 2


class Shade(Enum):
    RED = 1


@attrs.frozen
class Mill:
    river: str
    wheels: int


@attrs.frozen
class Brewery:
    river: str
    wheels: int


@dataclass(frozen=True)
class Lock:
    river: str


class Place(NamedTuple):
    river: str
    kilometre: int


NAN = float("nan")


def groups(play, *keys):
    """How the letters a, b, c … are grouped that belong to these keys."""
    elements = [at(1, letter, key) for letter, key in zip("abcdefgh", keys, strict=False)]
    together = play([arrive(*elements), END], into(FIXED), words())
    apart = play([*map(arrive, elements), END], into(FIXED), words())
    assert sorted(together.values) == sorted(apart.values)
    return sorted(together.values)


@pytest.mark.parametrize(
    "keys",
    [
        (1, 1.0, True),
        (0, 0.0, False, None, "", b"", ()),
        ("1", b"1", 1),
        (0.0, -0.0),
        ((1, 2), (1.0, 2), (True, 2), [1, 2]),
        ((1, "ab"), (1, "a", "b"), "1ab"),
        (Colour.RED, Shade.RED, 1, "RED"),
        (Colour.RED, Colour.BLUE),
        (Mill("Ruhr", 1), Mill("Ruhr", True), Brewery("Ruhr", 1), ("Ruhr", 1)),
        (Lock("Ruhr"), ("Ruhr",), "Ruhr"),
        (Place("Ruhr", 3), ("Ruhr", 3)),
        (datetime(2013, 1, 1), datetime(2013, 1, 1, tzinfo=UTC)),
    ],
    ids=str,
)
def test_keys_of_different_encodings_are_different_keys(play, keys):
    assert groups(play, *keys) == list("abcdefgh"[: len(keys)])


@pytest.mark.parametrize(
    ("key", "equal"),
    [
        ("ab", "".join(["a", "b"])),
        (10**30, 10**29 * 10),
        (NAN, float("nan")),
        ((1, NAN), (1, -NAN)),
        (Mill("Ruhr", 1), Mill("Ruhr", 1)),
        (Lock("Ruhr"), Lock("Ruhr")),
        (Place("Ruhr", 3), Place("Ruhr", 3)),
        (frozenset([1, 2, 3]), frozenset([3, 2, 1])),
        ([1, [2]], [1, [2]]),
        (Decimal("1.0"), Decimal("1.00")),
        (
            datetime(2013, 1, 1, 12, tzinfo=UTC),
            datetime(2013, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        ),
    ],
    ids=str,
)
def test_keys_of_one_encoding_are_one_key(play, key, equal):
    assert groups(play, key, equal) == ["ab"]


def test_the_key_comes_out_as_it_came_in(play):
    played = play(
        [arrive(at(1, "a", Mill("Ruhr", 2)), at(1, "b", True)), END], into(FIXED), words()
    )
    keys = sorted((e.value[0] for e in played.elements), key=repr)
    assert keys == [Mill("Ruhr", 2), True]
    assert keys[1] is True


def test_keys_keep_their_identity_from_bundle_to_bundle(play):
    counted = into(FIXED, Repeatedly(AfterCount(1)), ACCUMULATING)
    events = [arrive(at(1, "a", 1), at(1, "b", True)), arrive(at(2, "c", True), at(2, "d", 1))]
    played = play(events, counted, words())
    assert sorted((type(e.value[0]).__name__, e.value[1]) for e in played.elements) == [
        ("bool", "b"),
        ("bool", "bc"),
        ("int", "a"),
        ("int", "ad"),
    ]


def test_a_retraction_finds_its_key_by_encoding(play):
    counted = into(FIXED, Repeatedly(AfterCount(1)), RETRACTING)
    events = [arrive(at(1, "a", 1), at(1, "b", 1.0)), arrive(at(2, "c", 1.0))]
    played = play(events, counted, words(), "again" >> words())
    assert [(repr(e.value[0]), e.value[1], e.diff) for e in played.elements][-2:] == [
        ("1.0", "b", -1),
        ("1.0", "bc", 1),
    ]


class Mutable:
    """Has no encoding that is the same everywhere."""


@attrs.define(hash=True)
class Thawed:
    river: str


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ({1, 2}, "use a frozenset"),
        ({"a": 1}, "use tuple(sorted(d.items()))"),
        (bytearray(b"a"), "bytes"),
        (("a", {1}), "use a frozenset"),
        (Thawed("Ruhr"), "make its class frozen"),
        (Mutable(), "use a string, a number, a tuple"),
    ],
    ids=lambda part: type(part).__name__,
)
@pytest.mark.mode("batch")
def test_a_key_without_an_encoding_is_refused(runner, key, remedy):
    p = hr.Pipeline(runner, argv=[])
    _ = p | hr.Create([(key, "a")]) | "group" >> hr.GroupByKey()
    with pytest.raises(hr.KeyEncodingError, match="cannot be a key") as refusal:
        p.run()
    assert remedy in refusal.value.remedy
    assert "group" in "".join([refusal.value.where, *refusal.value.__notes__])


@pytest.mark.parametrize("grouping", [hr.GroupByKey(), words()], ids=["group", "combine"])
def test_a_key_without_an_encoding_is_refused_in_a_stream(play, grouping):
    with pytest.raises(hr.KeyEncodingError, match="cannot be a key") as refusal:
        play([arrive(at(1, "a", {1, 2})), END], into(FIXED), "group" >> grouping)
    assert "group" in "".join([refusal.value.where, *refusal.value.__notes__])
