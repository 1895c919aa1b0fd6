# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Coders, under Beam's path: how values of a class are written in the shuffle and in checkpoints."""

from headrace.sdk.coders.base import (
    BooleanCoder,
    BytesCoder,
    Coder,
    FloatCoder,
    IterableCoder,
    ListCoder,
    PickleCoder,
    StrUtf8Coder,
    ToBytesCoder,
    TupleCoder,
    VarIntCoder,
)
from headrace.sdk.coders.fast_coder import FastCoder
from headrace.sdk.coders.kinds.primitives_coders import (
    DeterministicFastPrimitivesCoder,
    FastPrimitivesCoder,
)
from headrace.sdk.coders.kinds.row_coder import RowCoder
from headrace.sdk.coders.kinds.value_coders import (
    Base64PickleCoder,
    BigIntegerCoder,
    DecimalCoder,
    DeterministicProtoCoder,
    DurationCoder,
    GlobalWindowCoder,
    IntervalWindowCoder,
    LengthPrefixCoder,
    MapCoder,
    NullableCoder,
    PaneInfoCoder,
    ProtoCoder,
    ProtoPlusCoder,
    SinglePrecisionFloatCoder,
    TimestampCoder,
    TupleSequenceCoder,
)
from headrace.sdk.coders.registry.coder_registry import CoderRegistry, registry
from headrace.sdk.io.formats.avro.avro_coder import AvroGenericCoder

__all__ = [
    "AvroGenericCoder",
    "Base64PickleCoder",
    "BigIntegerCoder",
    "BooleanCoder",
    "BytesCoder",
    "Coder",
    "CoderRegistry",
    "DecimalCoder",
    "DeterministicFastPrimitivesCoder",
    "DeterministicProtoCoder",
    "DurationCoder",
    "FastCoder",
    "FastPrimitivesCoder",
    "FloatCoder",
    "GlobalWindowCoder",
    "IntervalWindowCoder",
    "IterableCoder",
    "LengthPrefixCoder",
    "ListCoder",
    "MapCoder",
    "NullableCoder",
    "PaneInfoCoder",
    "PickleCoder",
    "ProtoCoder",
    "ProtoPlusCoder",
    "RowCoder",
    "SinglePrecisionFloatCoder",
    "StrUtf8Coder",
    "TimestampCoder",
    "ToBytesCoder",
    "TupleCoder",
    "TupleSequenceCoder",
    "VarIntCoder",
    "registry",
]
