"""The laws of a coder: decoding returns the encoded value, and equal keys have equal encodings."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.sdk.coders.keys import encode_key
from headrace.sdk.coders.stored.data import dumps, loads
from headrace.sdk.testing.laws.law import LawBroken
from headrace.sdk.testing.laws.law_runner import Drawn, check_law, drawn_from
from headrace.sdk.testing.property_testing import st


class AnyCoder(Protocol):
    """Anything that encodes values as bytes and decodes them, such as a Beam coder."""

    def encode(self, value: Any) -> bytes:
        """Return the encoding of a value."""

    def decode(self, encoded: bytes) -> Any:
        """Return the value of an encoding."""


class StoredData:
    """The format of values in the shuffle and in checkpoints.

    >>> StoredData().decode(StoredData().encode([1, "a"]))
    [1, 'a']
    """

    def encode(self, value: object) -> bytes:
        """Return the value as it is stored."""
        return dumps(value)

    def decode(self, encoded: bytes) -> Any:
        """Return the value."""
        return loads(encoded)


def check_coder(
    coder: AnyCoder | None, values: Drawn, keys: bool | None = None, cases: int = 100
) -> None:
    """Check that a coder preserves values, and that each key has one encoding.

    Args:
        coder: an object with ``encode`` and ``decode``; None for Headrace's own: the format of stored
            data for values, and the encoding of keys.
        values: some values, or a Hypothesis strategy.
        keys: whether the values are used as keys, so that equal values must have equal encodings; by
            default the result of the coder's ``is_deterministic()``.
        cases: number of cases.

    Raises:
        LawBroken: a law does not hold; reports the smallest value that was found.
        KeyEncodingError: the value cannot be encoded as a key.

    >>> check_coder(None, [1, "a", (2, None)], keys=True)
    """
    chosen = StoredData() if coder is None else coder
    is_deterministic = getattr(chosen, "is_deterministic", lambda: False)
    as_keys = is_deterministic() if keys is None else keys
    drawn = drawn_from(values)

    def law(pair: tuple[object, object]) -> None:
        for value in pair:
            _check_round_trip(chosen, value)
        if as_keys:
            encode = encode_key if coder is None else coder.encode
            _check_keys(chosen, encode, *pair)

    check_law(st.tuples(drawn, drawn), law, cases)


def _check_round_trip(coder: AnyCoder, value: object) -> None:
    encoded = coder.encode(value)
    decoded = coder.decode(encoded)
    if decoded != value or type(decoded) is not type(value):
        raise LawBroken(
            "decoding returns the encoded value",
            f"{type(coder).__name__} and the value {value!r}",
            {"encoded": encoded, "decoded": decoded, "expected": value},
            "encode everything that == compares, and give the class an __eq__ that compares by value",
        )


def _check_keys(coder: AnyCoder, encode: Any, one: object, other: object) -> None:
    """Check that keys have equal encodings exactly if they are equal, also after a round trip."""
    decoded = coder.decode(coder.encode(one))
    for second in (decoded, other):
        same_value = type(one) is type(second) and one == second
        if same_value != (encode(one) == encode(second)):
            raise LawBroken(
                "keys have equal encodings if and only if they are equal",
                f"{type(coder).__name__}, {one!r} and {second!r}",
                {
                    "equal": same_value,
                    "first encoding": encode(one),
                    "second encoding": encode(second),
                },
                "encode all parts, always in the same order",
            )
