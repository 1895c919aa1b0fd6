"""Values of classes are read after the class was renamed, moved, or has a field more."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.coders import Coder, RowCoder, registry
from headrace.errors import ElementError, KeyEncodingError, PipelineError
from headrace.sdk.coders.keys import encode_key, identity
from headrace.sdk.coders.stored.data import dumps, loads
from tests.unit.sdk.serialization import classes
from tests.unit.sdk.serialization.registry import clean_registry

NAME = "shop.Sale"


def stored(value: Any) -> bytes:
    """Store a value of a class that has a name."""
    registry.register_coder(type(value), RowCoder, name=NAME)
    return dumps([value, value])


EXTENDED = [
    (classes.Pair("tea", 3), classes.LaterPair("tea", "EUR", 3, None)),
    (classes.Plain("tea", 3), classes.LaterPlain("tea", 3, "EUR", [])),
    (classes.Slots("tea", 3), classes.LaterSlots("EUR", "tea", 3)),
    (classes.Attrs("tea", 3), classes.LaterAttrs("tea", 3, "EUR", 14)),
    (classes.Dict("tea", 3), classes.LaterDict("tea", 3, [])),
]


@pytest.mark.parametrize(("before", "after"), EXTENDED, ids=[type(b).__name__ for b, _ in EXTENDED])
def test_a_class_renamed_and_with_fields_more(before, after, monkeypatch) -> None:
    data = stored(before)
    clean_registry(monkeypatch)
    registry.register_coder(type(after), RowCoder, name=NAME)
    read = loads(data)
    assert read == [after, after]
    assert type(read[0]) is type(after)
    assert loads(dumps(read)) == read


@pytest.mark.parametrize(
    ("before", "_after"), EXTENDED, ids=[type(b).__name__ for b, _ in EXTENDED]
)
def test_a_class_that_stays(before, _after) -> None:
    assert loads(dumps([before])) == [before]
    assert loads(stored(before)) == [before, before]


@pytest.mark.parametrize(
    ("kind", "problem", "remedy"),
    [
        (
            classes.Required,
            "has the field 'currency' without a default",
            "give the field 'currency'",
        ),
        (classes.Fewer, "has no field 'price' any more", "add the field 'price' again"),
    ],
)
def test_other_changes_are_refused(kind, problem, remedy, monkeypatch) -> None:
    data = stored(classes.Attrs("tea", 3))
    clean_registry(monkeypatch)
    registry.register_coder(kind, RowCoder, name=NAME)
    with pytest.raises(PipelineError, match=problem) as raised:
        loads(data)
    assert remedy in str(raised.value)


def test_a_class_that_was_not_registered(monkeypatch) -> None:
    data = dumps(classes.Attrs("tea", 3))
    monkeypatch.delattr(classes, "Attrs")
    name = f"{classes.__name__}.Attrs"
    with pytest.raises(
        PipelineError, match=f"of the class {name}, which cannot be imported"
    ) as raised:
        loads(data)
    assert f"name='{name}'" in str(raised.value)
    registry.register_coder(classes.LaterAttrs, RowCoder, name=name)
    assert loads(data) == classes.LaterAttrs("tea", 3)


def test_enums_and_windows_by_name(monkeypatch) -> None:
    registry.register_coder(classes.Kind, hr.coders.PickleCoder, name="kind")
    assert loads(dumps([classes.Kind.CARD])) == [classes.Kind.CARD]


def test_a_coder_writes_the_values_of_its_class(monkeypatch) -> None:
    registry.register_coder(classes.Own, classes.OwnCoder, name="own")
    data = dumps({"a": [classes.Own("Tea")]})
    assert b"own Tea" in data
    assert loads(data) == {"a": [classes.Own("Tea")]}
    clean_registry(monkeypatch)
    registry.register_coder(classes.Later, classes.LaterCoder, name="own")
    assert loads(data) == {"a": [classes.Later("Tea")]}


def test_a_coder_that_is_gone(monkeypatch) -> None:
    registry.register_coder(classes.Own, classes.OwnCoder)
    data = dumps(classes.Own("tea"))
    clean_registry(monkeypatch)
    with pytest.raises(PipelineError, match="has none now"):
        loads(data)


@pytest.mark.parametrize(
    ("coder", "problem"),
    [
        (
            classes.Forgetful,
            r"does not return what it encodes: it makes Own\('tea'\) of Own\('Tea'\)",
        ),
        (classes.Failing, r"Failing of .*Own fails on Own\('Tea'\): ValueError: no ink"),
    ],
)
def test_coders_that_are_wrong(coder, problem) -> None:
    registry.register_coder(classes.Own, coder)
    with pytest.raises(ElementError, match=problem):
        dumps([classes.Own("Tea")])


def test_keys_of_a_class_with_a_coder() -> None:
    registry.register_coder(classes.Own, classes.OwnCoder, name="own")
    assert encode_key(classes.Own("tea")) == b"C3:own7:own tea"
    assert identity(classes.Own("tea")) == identity(classes.Own("tea"))
    assert identity(classes.Own("tea")) != identity(classes.Own("milk"))


def test_keys_need_a_deterministic_coder() -> None:
    class Random(classes.OwnCoder):
        def is_deterministic(self) -> bool:
            return False

    registry.register_coder(classes.Own, Random)
    with pytest.raises(KeyEncodingError, match="cannot be a key"):
        encode_key(classes.Own("tea"))


def test_a_key_keeps_its_encoding_when_its_class_is_renamed(monkeypatch) -> None:
    registry.register_coder(classes.Attrs, RowCoder, name=NAME)
    before = encode_key(classes.Attrs("tea", 3))
    clean_registry(monkeypatch)
    registry.register_coder(classes.Dict, RowCoder, name="other")
    registry.register_coder(classes.Slots, RowCoder, name=NAME)
    assert encode_key(classes.Slots("tea", 3)) == before


def test_a_name_belongs_to_one_class() -> None:
    registry.register_coder(classes.Attrs, RowCoder, name=NAME)
    with pytest.raises(PipelineError, match=r"the name .shop\.Sale. belongs to .*Attrs"):
        registry.register_coder(classes.Dict, RowCoder, name=NAME)
    registry.register_coder(classes.Attrs, RowCoder, name=NAME)


def test_row_coder_needs_fields() -> None:
    with pytest.raises(PipelineError, match="RowCoder cannot write values of Own"):
        registry.register_coder(classes.Own, RowCoder)


def test_what_is_not_a_coder() -> None:
    coder: Any = classes.OwnCoder()
    with pytest.raises(TypeError, match="Coder registration requires a coder class object"):
        registry.register_coder(classes.Own, coder)


class Array:
    """A class whose == gives no truth value, as that of numpy's arrays."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def __eq__(self, other: object) -> Any:
        raise ValueError("the truth value of an array is ambiguous")

    __hash__ = None  # type: ignore[assignment]  # like an array


class ArrayCoder(Coder):
    """Writes the numbers; one that forgets them is found out by the encodings."""

    forgets = False

    def encode(self, value: Any) -> bytes:
        return bytes(value.numbers)

    def decode(self, encoded: bytes) -> Any:
        return Array() if self.forgets else Array(*encoded)


class ForgetfulArrayCoder(ArrayCoder):
    forgets = True


def test_values_that_cannot_be_compared_are_compared_by_their_encodings() -> None:
    registry.register_coder(Array, ArrayCoder)
    assert loads(dumps(Array(1, 2))).numbers == (1, 2)
    registry.register_coder(Array, ForgetfulArrayCoder)
    with pytest.raises(ElementError, match="does not return what it encodes"):
        dumps(Array(1, 2))
