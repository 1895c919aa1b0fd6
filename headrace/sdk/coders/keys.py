"""The encoding of keys: bytes that are the same on every runner, and equal only for equal keys.

Keys are equal if they have the same type and are equal in Python; 1, 1.0 and True are three keys. There are
two exceptions: all NaNs of a type are one key, and 0.0 and -0.0 are two keys. A value whose encoding would
differ between processes (a set's order, a dict's, an object's address) cannot be a key.

An encoding is a letter for the type and a body. Parts of a compound value are preceded by their length, so
that encodings are unambiguous.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import Any, Final
from uuid import UUID

import attrs

from headrace.errors import KeyEncodingError, shorten
from headrace.sdk.coders.stored.names import name_of as _name
from headrace.sdk.coders.stored.registered import deterministic_coder
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.side_containers import GuardedDict, SideList, SideSet
from headrace.windowing.time.timestamps import Duration, Timestamp
from headrace.windowing.window import BoundedWindow

Encode = Callable[[Any], bytes]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)


def encode_key(key: object) -> bytes:
    r"""Return the encoding of a key.

    Raises:
        KeyEncodingError: the key, or a part of it, has no deterministic encoding.

    >>> encode_key(1), encode_key("1"), encode_key(True)
    (b'i\x01', b's1', b't')
    """
    encode = _KEYS.get(type(key))
    return encode(key) if encode else _encode_by_kind(key)


def encode_value(value: object) -> bytes:
    """Return the bytes by which a retraction identifies the value that it retracts.

    Values that can be keys are encoded like keys. Sets and dicts are encoded independently of their order.
    Other values are pickled.

    >>> encode_value({"a": 1, "b": 2}) == encode_value({"b": 2, "a": 1})
    True
    """
    encode = _KEYS.get(type(value))
    try:
        return encode(value) if encode else _encode_value_by_kind(value)
    except KeyEncodingError:
        return _encode_parts_as_values(value)


def identity(key: Any) -> Hashable:
    """Return a hashable value that is equal for equal keys within this process; fast.

    This is the key itself for strings, bytes, ints, None, and tuples of them. Other identities are tuples
    that begin with a class, which a key cannot.

    >>> identity("a"), identity(1) == identity(1.0)
    ('a', False)
    """
    kind = type(key)
    if kind in _SAFE:
        return key  # type: ignore[no-any-return]
    identify = _IDENTITIES.get(kind)
    if identify:
        return identify(key)
    if isinstance(key, tuple) and deterministic_coder(kind) is None:
        return BoundedWindow, _name(kind), *map(identity, key)
    return bytes, encode_key(key)


def identities(keys: list[Any]) -> list[Any]:
    """Return the identity of each key; the list itself if all keys are their own identities.

    >>> keys = ["a", "b"]
    >>> identities(keys) is keys
    True
    """
    kinds = set(map(type, keys))
    if kinds <= _SAFE:
        return keys
    if kinds == {tuple} and _SAFE.issuperset(map(type, chain.from_iterable(keys))):
        return keys
    if kinds == {float}:
        return list(map(_float_identity, keys))
    if _are_named_tuples(kinds, keys):
        name = _name(type(keys[0]))
        return [(BoundedWindow, name, *key) for key in keys]
    return list(map(identity, keys))


def _are_named_tuples(kinds: set[type], keys: list[Any]) -> bool:
    """Return whether keys are of one class of named tuples, and their items are their own identities."""
    if len(kinds) != 1:
        return False
    (kind,) = kinds
    if kind is tuple or not issubclass(kind, tuple) or deterministic_coder(kind) is not None:
        return False
    return _SAFE.issuperset(map(type, chain.from_iterable(keys)))


_SAFE: Final = frozenset({str, bytes, int, type(None)})
"""Types whose values are never equal to a value of another of these types."""


def _float_identity(number: float) -> Hashable:
    # NaN is not equal to itself, and 0.0 is equal to -0.0.
    return float, number if number and number == number else _float(number)


def _tuple_identity(items: tuple[object, ...]) -> Hashable:
    if _SAFE.issuperset(map(type, items)):
        return items
    return tuple, *map(identity, items)


_IDENTITIES: Final[dict[type, Callable[[Any], Hashable]]] = {
    bool: lambda value: (bool, value),
    float: _float_identity,
    tuple: _tuple_identity,
    list: lambda items: (list, *map(identity, items)),
    SideList: lambda items: (list, *map(identity, items)),
}


def _int(number: int) -> bytes:
    return b"i" + number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def _float(number: float) -> bytes:
    return b"f" + (struct.pack(">d", number) if number == number else b"nan")


def _complex(number: complex) -> bytes:
    return b"c" + _joined([_float(number.real), _float(number.imag)])


def _str(text: str) -> bytes:
    return b"s" + text.encode("utf-8", "surrogatepass")


def _decimal(number: Decimal) -> bytes:
    """Encode digits and exponent without trailing zeros, because 1.0 and 1.00 are equal."""
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return b"d" + str(number).encode()
    significant = "".join(map(str, digits)).lstrip("0")
    shortened = significant.rstrip("0")
    if not shortened:
        return b"d0"
    exponent += len(significant) - len(shortened)
    return b"d" + f"{'-' * sign}{shortened}e{exponent}".encode()


def _datetime(moment: datetime) -> bytes:
    if moment.utcoffset() is None:
        return b"n" + _int((moment.replace(tzinfo=None) - _NAIVE_EPOCH) // _MICROSECOND)
    return b"z" + _int((moment - _EPOCH) // _MICROSECOND)


def _time(clock: time) -> bytes:
    offset = clock.utcoffset()
    since_midnight = datetime.combine(date.min, clock.replace(tzinfo=None)) - datetime.min
    if offset is None:
        return b"k" + _int(since_midnight // _MICROSECOND)
    return b"K" + _int((since_midnight - offset) // _MICROSECOND)


def _joined(parts: Iterable[bytes]) -> bytes:
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)


def _tuple(items: Sequence[object], encode: Encode = encode_key) -> bytes:
    return b"(" + _joined(map(encode, items))


def _list(items: list[object], encode: Encode = encode_key) -> bytes:
    return b"[" + _joined(map(encode, items))


def _frozenset(items: Iterable[object], encode: Encode = encode_key) -> bytes:
    return b"{" + _joined(sorted(map(encode, items)))


_COMPOUNDS: Final[dict[type, Callable[[Any, Encode], bytes]]] = {
    tuple: _tuple,
    list: _list,
    SideList: _list,
    frozenset: _frozenset,
}

_KEYS: Final[dict[type, Encode]] = {
    type(None): lambda _: b"0",
    bool: lambda value: b"t" if value else b"b",
    int: _int,
    float: _float,
    complex: _complex,
    str: _str,
    bytes: b"y".__add__,
    Decimal: _decimal,
    datetime: _datetime,
    date: lambda day: b"D" + _int(day.toordinal()),
    time: _time,
    timedelta: lambda duration: b"l" + _int(duration // _MICROSECOND),
    UUID: lambda uuid: b"u" + uuid.bytes,
    Timestamp: lambda instant: b"T" + _int(instant.micros),
    Duration: lambda duration: b"L" + _int(duration.micros),
    tuple: _tuple,
    list: _list,
    SideList: _list,
    frozenset: _frozenset,
}


def _encode_by_kind(key: object) -> bytes:
    """Encode a value of another type: with a coder, enums, named tuples, rows, frozen records, subclasses."""
    coder = deterministic_coder(type(key))
    if coder is not None:
        return _typed(b"C", key, coder.encode(key))
    if isinstance(key, Enum):
        return _typed(b"e", key, encode_key(key.value))
    if isinstance(key, (BoundedWindow, tuple)):
        return _typed(b"N", key, _tuple(key))
    if isinstance(key, Row):
        return b"W" + _joined(map(encode_key, vars(key).items()))
    fields = _compared_fields(key)
    if fields is not None:
        return _typed(b"R", key, _tuple(fields))
    bases: tuple[Any, ...] = (int, float, str, bytes, frozenset)
    for base in bases:
        if isinstance(key, base):
            return _typed(b"S", key, _KEYS[base](base(key)))
    raise KeyEncodingError(
        f"{shorten(key)} of type {type(key).__qualname__} cannot be a key: it has no deterministic "
        "encoding",
        remedy=_remedy(key),
    )


def _typed(letter: bytes, key: object, body: bytes) -> bytes:
    return letter + _joined([_name(type(key)).encode(), body])


def _compared_fields(record: Any) -> list[object] | None:
    """Return the fields that a frozen dataclass or attrs class compares; None for other types."""
    kind = type(record)
    if "__dataclass_fields__" in vars(kind) and kind.__dataclass_params__.frozen:
        return [getattr(record, f.name) for f in kind.__dataclass_fields__.values() if f.compare]
    if "__attrs_attrs__" in vars(kind) and _is_frozen_attrs(kind):
        return [getattr(record, f.name) for f in attrs.fields(kind) if f.eq]
    return None


def _is_frozen_attrs(kind: type) -> bool:
    return kind.__setattr__.__name__ == "_frozen_setattrs"


def _remedy(key: object) -> str:
    if isinstance(key, dict):
        return "use tuple(sorted(d.items())) as the key"
    if isinstance(key, (set, bytearray)):
        return "use a frozenset or bytes as the key"
    if attrs.has(type(key)) or hasattr(key, "__dataclass_fields__"):
        return "make its class frozen: @attrs.frozen or @dataclass(frozen=True)"
    return (
        "use a string, a number, a tuple of those, or a frozen attrs class or dataclass as the key"
    )


def _encode_value_by_kind(value: object) -> bytes:
    if isinstance(value, (dict, set)):
        return _encode_parts_as_values(value)
    return _encode_by_kind(value)


def _encode_parts_as_values(value: object) -> bytes:
    kind = type(value)
    join = _COMPOUNDS.get(kind)
    if join:
        return join(value, encode_value)
    if isinstance(value, dict):
        plain: Any = {} if isinstance(value, GuardedDict) else value
        return _typed(b"m", plain, _frozenset(value.items(), encode_value))
    if isinstance(value, set):
        plain = set() if isinstance(value, SideSet) else value
        return _typed(b"q", plain, _frozenset(value, encode_value))
    return b"p" + pickle.dumps(value, protocol=5)
