# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Types of elements, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.errors import TypeCheckError
from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.typehints.io_hints import WithTypeHints
from headrace.sdk.typehints.type_hints import with_input_types, with_output_types
from headrace.typehints import decorators, typehints
from headrace.typehints.typehints import (
    KV,
    Any,
    Collection,
    Deque,
    Dict,
    FrozenSet,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVariable,
    Union,
    is_consistent_with,
    normalize,
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
    "TypeCheckError",
    "TypeVariable",
    "Union",
    "WithTypeHints",
    "decorators",
    "is_consistent_with",
    "normalize",
    "typehints",
    "with_input_types",
    "with_output_types",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
