"""Types of elements, under Beam's name for the module."""

from typing import Any, Dict, Iterable, List, Optional, Set, Tuple, Union  # noqa: UP035
from typing import Tuple as KV  # noqa: UP035

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
