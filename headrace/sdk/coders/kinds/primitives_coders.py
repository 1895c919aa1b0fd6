"""Coders of any value: the one of types that have no other, and its deterministic form for keys."""

from __future__ import annotations

import io
import pickle
from typing import Any

from headrace.errors import KeyEncodingError
from headrace.sdk.coders.base import Coder, PickleCoder
from headrace.sdk.coders.keys import encode_key


class FastPrimitivesCoder(PickleCoder):
    """Encodes any value.

    >>> FastPrimitivesCoder().is_deterministic()
    False
    """

    def as_deterministic_coder(self, step_label: str, error_message: str | None = None) -> Coder:
        return DeterministicFastPrimitivesCoder(self, step_label)


class DeterministicFastPrimitivesCoder(Coder):
    """Encodes values that can be keys; equal values have equal encodings.

    Args:
        coder: the coder in whose place it is; not used.
        step_label: label of the step whose keys it encodes, for errors.

    >>> coder = DeterministicFastPrimitivesCoder(None, "Count")
    >>> coder.decode(coder.encode(("a", 1)))
    ('a', 1)
    """

    def __init__(self, coder: Coder | None, step_label: str) -> None:
        self._step = step_label

    def encode(self, value: Any) -> bytes:
        try:
            encode_key(value)
        except KeyEncodingError as error:
            raise TypeError(f"{self._step}: {error}") from error
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, 5)
        pickler.fast = True  # without references to equal parts before
        pickler.dump(value)
        return stream.getvalue()

    def decode(self, encoded: bytes) -> Any:
        return pickle.loads(encoded)
