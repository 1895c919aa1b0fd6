"""Signatures: what a windowing strategy or a function is made of, as text that stays the same.

Two runs of a program give the same signature. It is made of the names of classes and the values of their
fields, not of ``repr``, which a class may define as it likes.
"""

from __future__ import annotations

from enum import Enum

import attrs

from headrace.windowing.time.timestamps import Duration, Timestamp


def signature(value: object) -> str:
    """Return the signature of a value.

    A function is known by its qualified name, so two lambdas of one scope have the same signature.

    >>> from headrace.windowing import FixedWindows
    >>> signature(FixedWindows(10)), signature(len)
    ('FixedWindows(size=10000000us, offset=0us)', 'len')
    """
    if isinstance(value, (Duration, Timestamp)):
        return f"{value.micros}us"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(signature, value))})"
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else _of_object(value)


def _of_object(value: object) -> str:
    kind = type(value)
    if attrs.has(kind):
        fields = {f.name: getattr(value, f.name) for f in attrs.fields(kind) if f.init}
    else:
        fields = getattr(value, "__dict__", {})
    inside = ", ".join(f"{name}={signature(field)}" for name, field in fields.items())
    return f"{kind.__qualname__}({inside})"
