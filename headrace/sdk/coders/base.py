"""Coders: encode values of a type as bytes, with Beam's formats for the standard types."""

from __future__ import annotations

import pickle
import struct
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from types import GenericAlias
from typing import Any, ClassVar, get_args

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.impls import (
    BooleanCoderImpl,
    CallbackCoderImpl,
    CoderImpl,
    FloatCoderImpl,
    VarIntCoderImpl,
)


class Coder:
    """Encodes values of a type as bytes; subclass it and define :meth:`encode` and :meth:`decode`.

    >>> VarIntCoder().decode(VarIntCoder().encode(300))
    300
    """

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """Return the encoding of a value."""

    @abstractmethod
    def decode(self, encoded: bytes) -> Any:
        """Return the value of an encoding."""

    def is_deterministic(self) -> bool:
        """Return whether equal values have equal encodings."""
        return True

    def get_impl(self) -> CoderImpl:
        """Return the implementation over streams, which coders of larger values use."""
        return CallbackCoderImpl(self.encode, self.decode)

    def as_deterministic_coder(self, step_label: str, error_message: str | None = None) -> Coder:
        """Return a coder of the same values with equal encodings of equal values.

        Args:
            step_label: label of the step whose keys the coder encodes, for the error.
            error_message: the error, if there is no such coder.

        Raises:
            ValueError: there is no such coder.
        """
        if self.is_deterministic():
            return self
        raise ValueError(
            error_message
            or f"{self!r} cannot encode keys of {step_label!r}: it is not deterministic"
        )

    def estimate_size(self, value: Any) -> int:
        """Return the size of the encoding of a value, in bytes."""
        return len(self.encode(value))

    @classmethod
    def from_type_hint(cls, typehint: Any, registry: Any) -> Coder:
        """Return the coder of this class for a type; the registry has the coders of its parts."""
        return cls()

    def to_type_hint(self) -> Any:
        """Return the type of the values; Any if the coder does not say."""
        return Any

    def __eq__(self, other: object) -> bool:
        """Compare the classes and the coders of parts."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return type(self).__name__


class BytesCoder(Coder):
    """Encodes bytes as they are.

    >>> BytesCoder().encode(b"a")
    b'a'
    """

    def to_type_hint(self) -> Any:
        return bytes

    def encode(self, value: bytes) -> bytes:
        return bytes(value)

    def decode(self, encoded: bytes) -> bytes:
        return encoded


class ToBytesCoder(Coder):
    """Encodes ``str(value)``, or bytes as they are; it cannot decode.

    >>> ToBytesCoder().encode(7)
    b'7'
    """

    def encode(self, value: Any) -> bytes:
        return value if isinstance(value, bytes) else str(value).encode()

    def decode(self, encoded: bytes) -> Any:
        raise PipelineError(
            "ToBytesCoder cannot decode", remedy="use StrUtf8Coder or BytesCoder instead"
        )


class StrUtf8Coder(Coder):
    r"""Encodes text as UTF-8.

    >>> StrUtf8Coder().encode("é")
    b'\xc3\xa9'
    """

    def to_type_hint(self) -> Any:
        return str

    def encode(self, value: str) -> bytes:
        return value.encode()

    def decode(self, encoded: bytes) -> str:
        return encoded.decode()


class BooleanCoder(Coder):
    r"""Encodes True and False as one byte.

    >>> BooleanCoder().encode(True)
    b'\x01'
    """

    def to_type_hint(self) -> Any:
        return bool

    def get_impl(self) -> CoderImpl:
        return BooleanCoderImpl()

    def encode(self, value: bool) -> bytes:
        return b"\x01" if value else b"\x00"

    def decode(self, encoded: bytes) -> bool:
        return encoded == b"\x01"


class FloatCoder(Coder):
    """Encodes a float as eight bytes.

    >>> FloatCoder().decode(FloatCoder().encode(0.5))
    0.5
    """

    def to_type_hint(self) -> Any:
        return float

    def get_impl(self) -> CoderImpl:
        return FloatCoderImpl()

    def encode(self, value: float) -> bytes:
        return struct.pack(">d", value)

    def decode(self, encoded: bytes) -> float:
        number: float = struct.unpack(">d", encoded)[0]
        return number


class VarIntCoder(Coder):
    r"""Encodes an int of at most 64 bits with seven bits in each byte, the lowest first.

    >>> VarIntCoder().encode(300)
    b'\xac\x02'
    """

    def to_type_hint(self) -> Any:
        return int

    def get_impl(self) -> CoderImpl:
        return VarIntCoderImpl()

    def encode(self, value: int) -> bytes:
        if not -(1 << 63) <= value < 1 << 63:
            raise PipelineError(
                f"VarIntCoder cannot encode {shorten(value)}",
                remedy="use ints of at most 64 bits, or another coder",
            )
        return _varint(value & ((1 << 64) - 1))

    def decode(self, encoded: bytes) -> int:
        number, _ = _read_varint(encoded, 0)
        return number - (1 << 64) if number >= 1 << 63 else number


class PickleCoder(Coder):
    """Pickles any value.

    >>> PickleCoder().decode(PickleCoder().encode({"a": 1}))
    {'a': 1}
    """

    def encode(self, value: Any) -> bytes:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)

    def decode(self, encoded: bytes) -> Any:
        return pickle.loads(encoded)

    def is_deterministic(self) -> bool:
        return False


class TupleCoder(Coder):
    """Encodes a tuple, each item with its own coder.

    >>> coder = TupleCoder((StrUtf8Coder(), VarIntCoder()))
    >>> coder.decode(coder.encode(("a", 7)))
    ('a', 7)
    """

    def __init__(self, components: Iterable[Coder]) -> None:
        self._coders = tuple(components)

    @classmethod
    def from_type_hint(cls, typehint: object, registry: Any) -> Coder:
        return cls(map(registry.get_coder, get_args(typehint)))

    def to_type_hint(self) -> Any:
        return GenericAlias(tuple, tuple(coder.to_type_hint() for coder in self._coders))

    def coders(self) -> tuple[Coder, ...]:
        """Return the coders of the items."""
        return self._coders

    def as_deterministic_coder(self, step_label: str, error_message: str | None = None) -> Coder:
        return TupleCoder(c.as_deterministic_coder(step_label, error_message) for c in self._coders)

    def __repr__(self) -> str:
        return f"TupleCoder[{', '.join(map(repr, self._coders))}]"

    def encode(self, value: Sequence[Any]) -> bytes:
        return b"".join(
            _sized(coder.encode(item)) for coder, item in zip(self._coders, value, strict=True)
        )

    def decode(self, encoded: bytes) -> tuple[Any, ...]:
        parts = _parts(encoded)
        return tuple(coder.decode(part) for coder, part in zip(self._coders, parts, strict=True))

    def is_deterministic(self) -> bool:
        return all(coder.is_deterministic() for coder in self._coders)


class ListCoder(Coder):
    """Encodes a list, each item with the same coder.

    >>> coder = ListCoder(VarIntCoder())
    >>> coder.decode(coder.encode([1, 2]))
    [1, 2]
    """

    _type: ClassVar[type] = list

    def __init__(self, elem_coder: Coder) -> None:
        self._coder = elem_coder

    @classmethod
    def from_type_hint(cls, typehint: object, registry: Any) -> Coder:
        return cls(registry.get_coder(*(get_args(typehint) or (Any,))[:1]))

    def to_type_hint(self) -> Any:
        return GenericAlias(self._type, (self._coder.to_type_hint(),))

    def value_coder(self) -> Coder:
        """Return the coder of the items."""
        return self._coder

    def as_deterministic_coder(self, step_label: str, error_message: str | None = None) -> Coder:
        return type(self)(self._coder.as_deterministic_coder(step_label, error_message))

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self._coder!r}]"

    def encode(self, value: Iterable[Any]) -> bytes:
        return b"".join(_sized(self._coder.encode(item)) for item in value)

    def decode(self, encoded: bytes) -> Any:
        return list(map(self._coder.decode, _parts(encoded)))

    def is_deterministic(self) -> bool:
        return self._coder.is_deterministic()


class IterableCoder(ListCoder):
    """Encodes an iterable, each item with the same coder.

    >>> IterableCoder(VarIntCoder()).decode(b"")
    []
    """

    _type = Iterable


def _sized(part: bytes) -> bytes:
    return _varint(len(part)) + part


def _parts(encoded: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(encoded):
        size, at = _read_varint(encoded, at)
        parts.append(encoded[at : at + size])
        at += size
    return parts


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _read_varint(encoded: bytes, at: int) -> tuple[int, int]:
    """Return a number, and the place after it."""
    number = shift = 0
    while True:
        byte = encoded[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
