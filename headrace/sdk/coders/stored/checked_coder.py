"""A coder whose errors say what is wrong, and whose first values are decoded to compare them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.coders.base import Coder

CHECKED: Final = 100
"""Number of values, in each process, that are decoded to compare them."""


@attrs.define(eq=False)
class CheckedCoder:
    """A coder of some values.

    Attributes:
        coder: the coder.
        what: what it encodes, for errors.
    """

    coder: Coder
    what: str
    _unchecked: int = attrs.field(default=CHECKED, init=False)

    def encode(self, value: Any) -> bytes:
        """Return the encoding of a value.

        Raises:
            ElementError: the coder fails, or does not return the value when it decodes.
        """
        try:
            encoded = self.coder.encode(value)
            decoded = self.coder.decode(encoded) if self._unchecked else value
        except Exception as error:
            raise ElementError(
                f"{self.coder!r} of {self.what} fails on {shorten(value)}: "
                f"{type(error).__name__}: {error}",
                remedy="correct its encode and decode, or use another coder",
            ) from error
        if not isinstance(encoded, bytes):
            raise ElementError(
                f"{self.coder!r} of {self.what} encodes {shorten(value)} as {shorten(encoded)}",
                remedy="return bytes from encode",
            )
        if self._unchecked:
            self._unchecked -= 1
            self._check(value, decoded, encoded)
        return encoded

    def decode(self, encoded: bytes) -> Any:
        """Return the value of an encoding.

        Raises:
            PipelineError: the coder fails.
        """
        try:
            return self.coder.decode(encoded)
        except Exception as error:
            raise PipelineError(
                f"{self.coder!r} of {self.what} cannot decode {shorten(encoded)}: "
                f"{type(error).__name__}: {error}",
                remedy="let the coder read what its earlier versions have written",
            ) from error

    def _check(self, value: object, decoded: object, encoded: bytes) -> None:
        if type(decoded) is type(value) and self._same(value, decoded, encoded):
            return
        raise ElementError(
            f"{self.coder!r} of {self.what} does not return what it encodes: it makes "
            f"{shorten(decoded)} of {shorten(value)}",
            remedy="encode all that == compares; headrace.testing.laws.check_coder finds such values",
        )

    def _same(self, value: object, decoded: object, encoded: bytes) -> bool:
        own: Any = type(value)
        if own.__eq__ is not object.__eq__:
            with suppress(Exception):  # the user's ==; it may not answer with True or False
                return bool(value == decoded) or bool(value != value)
        return not self.coder.is_deterministic() or self.coder.encode(decoded) == encoded
