# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Implementations of coders, under Beam's module path."""

from headrace.sdk.coders.byte_streams import InputStream, OutputStream
from headrace.sdk.coders.impls import (
    BooleanCoderImpl,
    BytesCoderImpl,
    CallbackCoderImpl,
    CoderImpl,
    FloatCoderImpl,
    IntervalWindowCoderImpl,
    SimpleCoderImpl,
    StreamCoderImpl,
    TimestampCoderImpl,
    VarIntCoderImpl,
)

__all__ = [
    "BooleanCoderImpl",
    "BytesCoderImpl",
    "CallbackCoderImpl",
    "CoderImpl",
    "FloatCoderImpl",
    "InputStream",
    "IntervalWindowCoderImpl",
    "OutputStream",
    "SimpleCoderImpl",
    "StreamCoderImpl",
    "TimestampCoderImpl",
    "VarIntCoderImpl",
]
