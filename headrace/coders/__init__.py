"""Coders, under Beam's path: how the types of values are declared for states.

A state accepts a coder, as in Beam, but values are pickled. A coder encodes and decodes for programs that
use it directly.
"""

from headrace.sdk.coder_registry import CoderRegistry, RowCoder, registry
from headrace.sdk.coders import (
    BooleanCoder,
    BytesCoder,
    Coder,
    FastPrimitivesCoder,
    FloatCoder,
    IterableCoder,
    ListCoder,
    PickleCoder,
    StrUtf8Coder,
    ToBytesCoder,
    TupleCoder,
    VarIntCoder,
)

__all__ = [
    "BooleanCoder",
    "BytesCoder",
    "Coder",
    "CoderRegistry",
    "FastPrimitivesCoder",
    "FloatCoder",
    "IterableCoder",
    "ListCoder",
    "PickleCoder",
    "RowCoder",
    "StrUtf8Coder",
    "ToBytesCoder",
    "TupleCoder",
    "VarIntCoder",
    "registry",
]
