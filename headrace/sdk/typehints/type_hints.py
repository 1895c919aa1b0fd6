"""Decorators that declare types of elements, as in Beam, and the hint forms of Beam.

The forms are Python's: ``headrace.typehints.Tuple[str, int]`` is ``tuple[str, int]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from headrace.sdk.typehints.io_hints import IOTypeHints, declared_hints

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
    from typing import Deque, Dict, FrozenSet, List, Set, Tuple, Tuple as KV  # noqa: UP035
else:
    from collections import deque as Deque
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence

    Dict, FrozenSet, List, Set, Tuple = dict, frozenset, list, set, tuple
    KV = tuple

T = TypeVar("T")

__all__ = [
    "KV",
    "Collection",
    "Deque",
    "Dict",
    "FrozenSet",
    "Generator",
    "Iterable",
    "Iterator",
    "List",
    "Mapping",
    "Sequence",
    "Set",
    "Tuple",
    "get_type_hints",
    "with_input_types",
    "with_output_types",
]


def with_input_types(*types: object, **named: object) -> Callable[[T], T]:
    """Declare the input types of a function, DoFn or transform.

    Args:
        types: the type of the element, and the types of other arguments.
        named: types of other arguments by name; for a transform, types of its inputs by name.

    >>> @with_input_types(str)
    ... def length(word):
    ...     return len(word)
    >>> _ = Pipeline() | Create([1, 2]) | Map(length)
    Traceback (most recent call last):
    headrace.errors.TypeCheckError: Map(length) requires elements of type str...
    """
    return _declaring(lambda hints: hints.with_input_types(*types, **named))


def with_output_types(*types: object, **named: object) -> Callable[[T], T]:
    """Declare the result type of a function, or the output type of a DoFn or transform.

    Args:
        types: the type of the result or output.
        named: the types of other outputs of a DoFn, by tag.

    >>> @with_output_types(int)
    ... def length(word):
    ...     return len(word)
    >>> _ = Pipeline() | Create(["a"]) | Map(length) | GroupByKey()
    Traceback (most recent call last):
    headrace.errors.TypeCheckError: ... are of type int...
    """
    return _declaring(lambda hints: hints.with_output_types(*types, **named))


def _declaring(change: Callable[[IOTypeHints], IOTypeHints]) -> Callable[[T], T]:
    def declare(target: T) -> T:
        target._type_hints = change(declared_hints(target))  # type: ignore[attr-defined]
        return target

    return declare


def get_type_hints(target: object) -> IOTypeHints:
    """Return the hints that decorators have given to a function, class or object.

    >>> @with_output_types(int)
    ... def length(word):
    ...     return len(word)
    >>> get_type_hints(length).output_types
    ((<class 'int'>,), {})
    """
    return declared_hints(target)
