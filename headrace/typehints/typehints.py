# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The forms of type hints, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING, Any, Optional, TypeVar as TypeVariable, Union

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.typehints.consistency import is_consistent as is_consistent_with
from headrace.sdk.typehints.hints import normalized as normalize
from headrace.sdk.typehints.type_hints import (
    KV,
    Collection,
    Deque,
    Dict,
    FrozenSet,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    Sequence,
    Set,
    Tuple,
)

__all__ = [
    "KV",
    "Any",
    "Collection",
    "Deque",
    "Dict",
    "FrozenSet",
    "Generator",
    "Iterable",
    "Iterator",
    "List",
    "Mapping",
    "Optional",
    "Sequence",
    "Set",
    "Tuple",
    "TypeVariable",
    "Union",
    "is_consistent_with",
    "normalize",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
