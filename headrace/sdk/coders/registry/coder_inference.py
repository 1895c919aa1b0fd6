"""The coder that fits a type."""

from __future__ import annotations

import collections.abc
import types
import typing
from decimal import Decimal
from importlib.util import find_spec
from typing import Any, Final, get_args, get_origin

from headrace.sdk.coders.base import (
    BooleanCoder,
    BytesCoder,
    Coder,
    FloatCoder,
    IterableCoder,
    ListCoder,
    StrUtf8Coder,
    TupleCoder,
    VarIntCoder,
)
from headrace.sdk.coders.kinds.primitives_coders import FastPrimitivesCoder
from headrace.sdk.coders.kinds.row_coder import RowCoder
from headrace.sdk.coders.kinds.value_coders import (
    DecimalCoder,
    DurationCoder,
    GlobalWindowCoder,
    IntervalWindowCoder,
    MapCoder,
    NullableCoder,
    PaneInfoCoder,
    ProtoCoder,
    ProtoPlusCoder,
    TimestampCoder,
    TupleSequenceCoder,
)
from headrace.sdk.elements.schemas import schema_of
from headrace.triggers.pane import PaneInfo
from headrace.windowing.time.timestamps import Duration, Timestamp
from headrace.windowing.window import GlobalWindow, IntervalWindow

_SIMPLE: Final[dict[Any, type[Coder]]] = {
    bool: BooleanCoder,
    bytes: BytesCoder,
    Decimal: DecimalCoder,
    Duration: DurationCoder,
    float: FloatCoder,
    GlobalWindow: GlobalWindowCoder,
    int: VarIntCoder,
    IntervalWindow: IntervalWindowCoder,
    PaneInfo: PaneInfoCoder,
    str: StrUtf8Coder,
    Timestamp: TimestampCoder,
}

_OF_PARTS: Final[dict[Any, type[Coder]]] = {
    collections.abc.Iterable: IterableCoder,
    collections.abc.Sequence: IterableCoder,
    dict: MapCoder,
    list: ListCoder,
    tuple: TupleCoder,
}


def coder_for(typehint: object, registry: Any, fallback: Coder | None = None) -> Coder:
    """Return the coder that fits a type.

    Args:
        typehint: the type.
        registry: has the coders of the parts of a type, by ``get_coder``.
        fallback: the coder of types that are not known; by default one that encodes any value.
    """
    simple = _SIMPLE.get(typehint)
    if simple is not None:
        return simple()
    if get_origin(typehint) in (typing.Union, types.UnionType):
        return _of_union(typehint, registry, fallback)
    arguments = get_args(typehint)
    if arguments:
        kind = get_origin(typehint)
        if kind is tuple and Ellipsis in arguments:
            return TupleSequenceCoder(registry.get_coder(arguments[0]))
        if kind in _OF_PARTS:
            return _OF_PARTS[kind].from_type_hint(typehint, registry)
    if isinstance(typehint, type):
        found = _of_class(typehint)
        if found is not None:
            return found
    return fallback or FastPrimitivesCoder()


def _of_union(typehint: object, registry: Any, fallback: Coder | None) -> Coder:
    others = [kind for kind in get_args(typehint) if kind is not types.NoneType]
    if len(others) == 1:
        return NullableCoder(registry.get_coder(others[0]))
    return fallback or FastPrimitivesCoder()


def _of_class(kind: type) -> Coder | None:
    """Return the coder of messages of protocol buffers, or of records."""
    if (
        hasattr(kind, "SerializePartialToString")
        and hasattr(kind, "DESCRIPTOR")
        and kind.DESCRIPTOR
    ):
        return ProtoCoder(kind)
    if find_spec("proto") is not None and any(
        b.__module__ == "proto.message" for b in kind.__mro__[1:]
    ):
        return ProtoPlusCoder(kind)
    return RowCoder(kind) if schema_of(kind) is not None else None
