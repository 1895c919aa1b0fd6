"""check_coder passes what is sound, and says of the rest which law it breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from headrace.errors import KeyEncodingError
from headrace.testing.laws import LawBroken, check_coder


class Json:
    """Json, which knows no tuples."""

    def encode(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def decode(self, encoded: bytes) -> Any:
        return json.loads(encoded)


class Hexadecimal(Json):
    """One that says that it may encode keys."""

    def encode(self, value: Any) -> bytes:
        return value.encode().hex().encode()

    def decode(self, encoded: bytes) -> Any:
        return bytes.fromhex(encoded.decode()).decode()

    def is_deterministic(self) -> bool:
        return True


class Wordy(Hexadecimal):
    """The same value is encoded otherwise each time."""

    times = 0

    def encode(self, value: Any) -> bytes:
        self.times += 1
        return f"{self.times:04}".encode() + super().encode(value)

    def decode(self, encoded: bytes) -> Any:
        return super().decode(encoded[4:])


def test_what_is_sound_passes() -> None:
    check_coder(Json(), st.lists(st.integers()))
    check_coder(Hexadecimal(), st.text())
    check_coder(None, st.tuples(st.text(), st.integers()), keys=True)
    check_coder(None, [{1, 2}, {"a": 1}])


def test_what_does_not_come_back_is_shown() -> None:
    with pytest.raises(LawBroken, match="decoding returns the encoded value") as raised:
        check_coder(Json(), st.tuples(st.integers(), st.integers()))
    assert raised.value.given == "Json and the value (0, 0)"
    assert raised.value.sides["decoded"] == [0, 0]


def test_a_key_has_one_encoding() -> None:
    with pytest.raises(LawBroken, match="equal encodings if and only if they are equal") as raised:
        check_coder(Wordy(), ["a"])
    assert raised.value.sides["equal"] is True
    check_coder(Wordy(), ["a"], keys=False)


def test_what_cannot_be_a_key_is_refused() -> None:
    with pytest.raises(KeyEncodingError):
        check_coder(None, [{1, 2}], keys=True)
