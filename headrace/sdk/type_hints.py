"""Types of elements declared by decorators, as Beam's programs do.

Of what is declared only the output type is used, to refuse what is surely no pair before a grouping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def with_input_types(*types: Any, **named: Any) -> Callable[[T], T]:
    """Declare the types that a function, a DoFn or a transform takes.

    >>> @with_input_types(str)
    ... def length(word):
    ...     return len(word)
    """

    def declare(thing: T) -> T:
        return thing

    return declare


def with_output_types(*types: Any, **named: Any) -> Callable[[T], T]:
    """Declare the type that a function returns, or of which a DoFn or a transform gives out elements.

    >>> @with_output_types(int)
    ... def length(word):
    ...     return len(word)
    >>> _ = Pipeline() | Create(["a"]) | Map(length) | GroupByKey()
    Traceback (most recent call last):
    headrace.errors.PipelineError: ... are of type int...
    """

    def declare(thing: T) -> T:
        thing.output_type = types[0]  # type: ignore[attr-defined]
        return thing

    return declare
