"""Decorators that declare types of elements, as in Beam.

Only the declared output type is used, to refuse elements that cannot be pairs before a grouping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def with_input_types(*types: Any, **named: Any) -> Callable[[T], T]:
    """Declare the input types of a function, DoFn or transform.

    >>> @with_input_types(str)
    ... def length(word):
    ...     return len(word)
    """

    def declare(target: T) -> T:
        return target

    return declare


def with_output_types(*types: Any, **named: Any) -> Callable[[T], T]:
    """Declare the result type of a function, or the output type of a DoFn or transform.

    >>> @with_output_types(int)
    ... def length(word):
    ...     return len(word)
    >>> _ = Pipeline() | Create(["a"]) | Map(length) | GroupByKey()
    Traceback (most recent call last):
    headrace.errors.PipelineError: ... are of type int...
    """

    def declare(target: T) -> T:
        target.output_type = types[0]  # type: ignore[attr-defined]
        return target

    return declare
