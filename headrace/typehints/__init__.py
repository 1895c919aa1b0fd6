"""Types of elements, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING, Any, Optional, TypeVar as TypeVariable, Union

from headrace.errors import TypeCheckError
from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.type_hints import (
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
    with_input_types,
    with_output_types,
)
from headrace.sdk.typechecks.io_hints import WithTypeHints
from headrace.typehints import decorators, typehints

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
    "TypeCheckError",
    "TypeVariable",
    "Union",
    "WithTypeHints",
    "decorators",
    "typehints",
    "with_input_types",
    "with_output_types",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
