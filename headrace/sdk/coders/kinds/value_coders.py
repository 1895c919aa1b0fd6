"""Coders of more types: optional values, dicts, times, windows, decimals, protocol buffers."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from decimal import Decimal
from types import GenericAlias
from typing import Any, get_args

from headrace.sdk.coders.base import (
    Coder,
    ListCoder,
    PickleCoder,
    TupleCoder,
    VarIntCoder,
)
from headrace.triggers.pane import PaneInfo, PaneInfoTiming
from headrace.windowing.time.timestamps import Duration, Timestamp
from headrace.windowing.window import GLOBAL_WINDOW, GlobalWindow, IntervalWindow, interval


class Base64PickleCoder(PickleCoder):
    """Pickles any value, as text in base 64.

    >>> Base64PickleCoder().decode(Base64PickleCoder().encode({"a": 1}))
    {'a': 1}
    """

    def encode(self, value: Any) -> bytes:
        return base64.b64encode(super().encode(value))

    def decode(self, encoded: bytes) -> Any:
        return super().decode(base64.b64decode(encoded))


class SinglePrecisionFloatCoder(Coder):
    """Encodes a float as four bytes; it loses digits.

    >>> SinglePrecisionFloatCoder().decode(SinglePrecisionFloatCoder().encode(0.5))
    0.5
    """

    def encode(self, value: float) -> bytes:
        return struct.pack(">f", value)

    def decode(self, encoded: bytes) -> float:
        number: float = struct.unpack(">f", encoded)[0]
        return number

    def to_type_hint(self) -> Any:
        return float


class BigIntegerCoder(Coder):
    r"""Encodes an int of any size, in two's complement.

    >>> BigIntegerCoder().encode(-1), BigIntegerCoder().decode(b"\x01\x00")
    (b'\xff', 256)
    """

    def encode(self, value: int) -> bytes:
        return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)

    def decode(self, encoded: bytes) -> int:
        return int.from_bytes(encoded, "big", signed=True)

    def to_type_hint(self) -> Any:
        return int


class DecimalCoder(Coder):
    """Encodes a decimal by its digits and its exponent.

    >>> DecimalCoder().decode(DecimalCoder().encode(Decimal("1.50")))
    Decimal('1.50')
    """

    def encode(self, value: Decimal) -> bytes:
        return str(value).encode()

    def decode(self, encoded: bytes) -> Decimal:
        return Decimal(encoded.decode())

    def to_type_hint(self) -> Any:
        return Decimal


class TimestampCoder(Coder):
    """Encodes a timestamp as microseconds in eight bytes, in the order of time.

    >>> TimestampCoder().decode(TimestampCoder().encode(Timestamp(3)))
    Timestamp(3)
    """

    def encode(self, value: Timestamp) -> bytes:
        return struct.pack(">Q", value.micros + (1 << 63))

    def decode(self, encoded: bytes) -> Timestamp:
        return Timestamp(micros=struct.unpack(">Q", encoded)[0] - (1 << 63))

    def to_type_hint(self) -> Any:
        return Timestamp


class DurationCoder(Coder):
    """Encodes a duration as microseconds.

    >>> DurationCoder().decode(DurationCoder().encode(Duration(3)))
    Duration(3)
    """

    def encode(self, value: Duration) -> bytes:
        return VarIntCoder().encode(value.micros)

    def decode(self, encoded: bytes) -> Duration:
        return Duration(micros=VarIntCoder().decode(encoded))

    def to_type_hint(self) -> Any:
        return Duration


class GlobalWindowCoder(Coder):
    """Encodes the global window, as nothing.

    >>> GlobalWindowCoder().decode(b"")
    GlobalWindow
    """

    def encode(self, value: GlobalWindow) -> bytes:
        return b""

    def decode(self, encoded: bytes) -> GlobalWindow:
        return GLOBAL_WINDOW

    def to_type_hint(self) -> Any:
        return GlobalWindow


class IntervalWindowCoder(Coder):
    """Encodes an interval by its start and its end, in microseconds.

    >>> IntervalWindowCoder().decode(IntervalWindowCoder().encode(IntervalWindow(0, 60)))
    [0.0, 60.0)
    """

    def encode(self, value: IntervalWindow) -> bytes:
        return struct.pack(">qq", value[0], value[1])

    def decode(self, encoded: bytes) -> IntervalWindow:
        return interval(*struct.unpack(">qq", encoded))

    def to_type_hint(self) -> Any:
        return IntervalWindow


class PaneInfoCoder(Coder):
    """Encodes what is known of a pane.

    >>> info = PaneInfo(True, True, PaneInfoTiming.ON_TIME, 0, 0)
    >>> PaneInfoCoder().decode(PaneInfoCoder().encode(info)) == info
    True
    """

    def encode(self, value: PaneInfo) -> bytes:
        head = (value.is_first, value.is_last, value.timing)
        return struct.pack(">??bqq", *head, value.index, value.nonspeculative_index)

    def decode(self, encoded: bytes) -> PaneInfo:
        first, last, timing, *numbers = struct.unpack(">??bqq", encoded)
        return PaneInfo(first, last, PaneInfoTiming(timing), *numbers)

    def to_type_hint(self) -> Any:
        return PaneInfo


class NullableCoder(Coder):
    r"""Encodes None, or a value by its own coder.

    >>> NullableCoder(VarIntCoder()).encode(None), NullableCoder(VarIntCoder()).encode(7)
    (b'\x00', b'\x01\x07')
    """

    def __init__(self, value_coder: Coder) -> None:
        self._coder = value_coder

    def encode(self, value: Any) -> bytes:
        return b"\x00" if value is None else b"\x01" + self._coder.encode(value)

    def decode(self, encoded: bytes) -> Any:
        return self._coder.decode(encoded[1:]) if encoded[0] else None

    def is_deterministic(self) -> bool:
        return self._coder.is_deterministic()

    def as_deterministic_coder(self, step_label: str, error_message: str | None = None) -> Coder:
        return NullableCoder(self._coder.as_deterministic_coder(step_label, error_message))

    def to_type_hint(self) -> Any:
        return self._coder.to_type_hint() | None

    def __repr__(self) -> str:
        return f"NullableCoder[{self._coder!r}]"


class LengthPrefixCoder(Coder):
    r"""Encodes a value by its own coder, after the length of that.

    >>> LengthPrefixCoder(VarIntCoder()).encode(300)
    b'\x02\xac\x02'
    """

    def __init__(self, value_coder: Coder) -> None:
        self._list = ListCoder(value_coder)

    def encode(self, value: Any) -> bytes:
        return self._list.encode([value])

    def decode(self, encoded: bytes) -> Any:
        (value,) = self._list.decode(encoded)
        return value

    def value_coder(self) -> Coder:
        """Return the coder of the value."""
        return self._list.value_coder()

    def is_deterministic(self) -> bool:
        return self._list.is_deterministic()

    def as_deterministic_coder(self, step_label: str, error_message: str | None = None) -> Coder:
        own = self.value_coder().as_deterministic_coder(step_label, error_message)
        return LengthPrefixCoder(own)

    def to_type_hint(self) -> Any:
        return self.value_coder().to_type_hint()


class MapCoder(Coder):
    """Encodes a dict, with a coder of the keys and one of the values.

    >>> coder = MapCoder(VarIntCoder(), DecimalCoder())
    >>> coder.decode(coder.encode({1: Decimal("0.5")}))
    {1: Decimal('0.5')}
    """

    def __init__(self, key_coder: Coder, value_coder: Coder) -> None:
        self._items = ListCoder(TupleCoder((key_coder, value_coder)))

    @classmethod
    def from_type_hint(cls, typehint: object, registry: Any) -> Coder:
        return cls(*map(registry.get_coder, get_args(typehint)))

    def encode(self, value: Mapping[Any, Any]) -> bytes:
        return self._items.encode(value.items())

    def decode(self, encoded: bytes) -> dict[Any, Any]:
        return dict(self._items.decode(encoded))

    def is_deterministic(self) -> bool:
        return False

    def to_type_hint(self) -> Any:
        return GenericAlias(dict, get_args(get_args(self._items.to_type_hint())[0]))


class TupleSequenceCoder(ListCoder):
    """Encodes a tuple of any length, each item with the same coder.

    >>> coder = TupleSequenceCoder(VarIntCoder())
    >>> coder.decode(coder.encode((1, 2)))
    (1, 2)
    """

    def decode(self, encoded: bytes) -> Any:
        return tuple(super().decode(encoded))

    def to_type_hint(self) -> Any:
        return GenericAlias(tuple, (self.value_coder().to_type_hint(), ...))


class ProtoCoder(Coder):
    """Encodes messages of protocol buffers by their own format.

    Args:
        proto_message_type: the class of the messages.

    >>> from google.protobuf.wrappers_pb2 import Int64Value
    >>> ProtoCoder(Int64Value).decode(ProtoCoder(Int64Value).encode(Int64Value(value=7))).value
    7
    """

    def __init__(self, proto_message_type: Any) -> None:
        self._type = proto_message_type

    @classmethod
    def from_type_hint(cls, typehint: object, registry: object) -> Coder:
        return cls(typehint)

    def encode(self, value: Any) -> bytes:
        encoded: bytes = value.SerializePartialToString()
        return encoded

    def decode(self, encoded: bytes) -> Any:
        message = self._type()
        message.ParseFromString(encoded)
        return message

    def is_deterministic(self) -> bool:
        return False  # the order of the entries of a map

    def as_deterministic_coder(self, step_label: str, error_message: str | None = None) -> Coder:
        return DeterministicProtoCoder(self._type)

    def to_type_hint(self) -> Any:
        return self._type


class DeterministicProtoCoder(ProtoCoder):
    """Encodes messages of protocol buffers, with the entries of maps in order.

    >>> from google.protobuf.wrappers_pb2 import BoolValue
    >>> DeterministicProtoCoder(BoolValue).is_deterministic()
    True
    """

    def encode(self, value: Any) -> bytes:
        encoded: bytes = value.SerializePartialToString(deterministic=True)
        return encoded

    def is_deterministic(self) -> bool:
        return True


class ProtoPlusCoder(Coder):
    """Encodes messages of proto-plus, with the entries of maps in order.

    Args:
        proto_plus_message_type: the class of the messages.
    """

    def __init__(self, proto_plus_message_type: Any) -> None:
        self._type = proto_plus_message_type

    @classmethod
    def from_type_hint(cls, typehint: object, registry: object) -> Coder:
        return cls(typehint)

    def encode(self, value: Any) -> bytes:
        encoded: bytes = self._type.pb(value).SerializePartialToString(deterministic=True)
        return encoded

    def decode(self, encoded: bytes) -> Any:
        return self._type.deserialize(encoded)

    def to_type_hint(self) -> Any:
        return self._type
