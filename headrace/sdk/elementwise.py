"""The kinds of operations of a ParDo node on each element.

These kinds are separate from DoFns because bundles are processed by them with less overhead. They are the
values of :attr:`headrace.sdk.graph.ParDo.fn`; :mod:`headrace.runners.invoker` runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from headrace.sdk.dofn import DoFn


@attrs.frozen(eq=False)
class Function:
    """A function and the arguments that follow the element.

    Attributes:
        fn: the function.
        args: additional arguments.
        kwargs: additional arguments by name.
        spread: whether the items of the element are passed as separate arguments.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = attrs.field(factory=dict)
    spread: bool = False


@attrs.frozen(eq=False)
class MapEach:
    """One output for each element: the result of the function."""

    function: Function


@attrs.frozen(eq=False)
class KeyEach:
    """A pair for each element: the key that the function returns, and the element."""

    function: Function


@attrs.frozen(eq=False)
class PairEach:
    """A pair for each element: the element, and a constant value."""

    value: Any


@attrs.frozen(eq=False)
class FlatMapEach:
    """Any number of outputs for each element: the items of the function's result."""

    function: Function


@attrs.frozen(eq=False)
class FilterEach:
    """The elements for which the function returns a true value."""

    function: Function


@attrs.frozen(eq=False)
class StampEach:
    """The elements, with the timestamp that the function returns."""

    function: Function


@attrs.frozen(eq=False)
class ProcessEach:
    """Any number of outputs for each element: the outputs of a DoFn's ``process``."""

    dofn: DoFn
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class DiffEach:
    """The elements and retractions as (diff, value) pairs."""


Uncaught: TypeAlias = (
    MapEach | KeyEach | PairEach | FlatMapEach | FilterEach | StampEach | ProcessEach | DiffEach
)


@attrs.frozen(eq=False)
class CatchEach:
    """The outputs of another kind, and a dead letter for each element for which its function raises.

    Attributes:
        each: the other kind.
        tag: the output for dead letters.
        caught: the exceptions to catch; other exceptions stop the pipeline.
        partial: whether to keep the outputs of an element from before the exception.
        on_failure: called with the exception and the element.
    """

    each: Uncaught
    tag: str
    caught: type[BaseException] | tuple[type[BaseException], ...] = Exception
    partial: bool = False
    on_failure: Callable[[Exception, Any], object] | None = None


Elementwise: TypeAlias = Uncaught | CatchEach
