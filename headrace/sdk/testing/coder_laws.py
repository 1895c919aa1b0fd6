"""The law of a coder: what was encoded comes back, and equal values have equal encodings."""

from __future__ import annotations

import pickle
from typing import Any, Protocol

from headrace.sdk.encoding import encode_key
from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.law_runner import Drawn, drawn_from, try_each
from headrace.sdk.testing.property_testing import st


class Coder(Protocol):
    """Anything that encodes values as bytes and back, such as a coder of Beam's."""

    def encode(self, value: Any) -> bytes:
        """Return the encoding of a value."""

    def decode(self, encoded: bytes) -> Any:
        """Return the value of an encoding."""


class PickleCoder:
    """What values travel by in Headrace.

    >>> PickleCoder().decode(PickleCoder().encode([1, "a"]))
    [1, 'a']
    """

    def encode(self, value: Any) -> bytes:
        """Return the pickled value."""
        return pickle.dumps(value, protocol=5)

    def decode(self, encoded: bytes) -> Any:
        """Return the value."""
        return pickle.loads(encoded)


def check_coder(
    coder: Coder | None, values: Drawn, keys: bool | None = None, cases: int = 100
) -> None:
    """Check that values survive a coder, and that keys have one encoding each.

    Args:
        coder: has ``encode`` and ``decode``; None for what Headrace does itself: values are pickled, and
            keys have an encoding of their own.
        values: some values, or a Hypothesis strategy that draws one.
        keys: whether the values are to serve as keys, so that equal values must have equal encodings; by
            default, if the coder says that it ``is_deterministic()``.
        cases: how many cases are tried.

    Raises:
        LawBroken: a law does not hold; with the smallest value that was found.
        KeyEncodingError: the value has no encoding as a key.

    >>> check_coder(None, [1, "a", (2, None)], keys=True)
    """
    chosen = PickleCoder() if coder is None else coder
    says = getattr(chosen, "is_deterministic", lambda: False)
    wanted = says() if keys is None else keys
    drawn = drawn_from(values)

    def law(pair: tuple[Any, Any]) -> None:
        for value in pair:
            _comes_back(chosen, value)
        if wanted:
            encode = encode_key if coder is None else coder.encode
            _is_one(chosen, encode, *pair)

    try_each(st.tuples(drawn, drawn), law, cases)


def _comes_back(coder: Coder, value: Any) -> None:
    encoded = coder.encode(value)
    decoded = coder.decode(encoded)
    if decoded != value or type(decoded) is not type(value):
        raise LawBroken(
            "what was encoded comes back",
            f"{type(coder).__name__} and the value {value!r}",
            {"encoded": encoded, "came back": decoded, "expected": value},
            "encode all that == looks at, and give the class an __eq__ that compares by value",
        )


def _is_one(coder: Coder, encode: Any, one: Any, other: Any) -> None:
    """Hold keys to it that equal ones have equal encodings, also after a journey, and others others."""
    came = coder.decode(coder.encode(one))
    for second in (came, other):
        same_value = type(one) is type(second) and one == second
        if same_value != (encode(one) == encode(second)):
            raise LawBroken(
                "keys have equal encodings if, and only if, they are equal",
                f"{type(coder).__name__}, {one!r} and {second!r}",
                {
                    "equal": same_value,
                    "encoding of one": encode(one),
                    "of the other": encode(second),
                },
                "encode parts in an order that is always the same, and leave nothing out",
            )
