"""Types of elements, under Beam's name for the module."""

from typing import (  # noqa: UP035
    Any,
    Dict,
    Iterable,
    List,
    Optional,
    Set,
    Tuple,
    Tuple as KV,
    Union,
)

from headrace.sdk.type_hints import with_input_types, with_output_types

__all__ = [
    "KV",
    "Any",
    "Dict",
    "Iterable",
    "List",
    "Optional",
    "Set",
    "Tuple",
    "Union",
    "with_input_types",
    "with_output_types",
]
