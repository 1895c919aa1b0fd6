"""What a ParDo node does with each element: one of these few kinds.

The kinds exist apart from DoFns because whole bundles go through them with much less ado. They are the
values of :attr:`headrace.sdk.graph.ParDo.fn`; :mod:`headrace.runners.invoker` knows how to run each.
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
        args: further arguments.
        kwargs: further arguments by name.
        spread: whether the element is given as its items, each an argument of its own.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = attrs.field(factory=dict)
    spread: bool = False


@attrs.frozen(eq=False)
class MapEach:
    """One output for each element: what the function returns."""

    function: Function


@attrs.frozen(eq=False)
class KeyEach:
    """Each element in a pair, behind the key that the function returns."""

    function: Function


@attrs.frozen(eq=False)
class PairEach:
    """Each element in a pair, in front of a value that is the same for all."""

    value: Any


@attrs.frozen(eq=False)
class FlatMapEach:
    """Any number of outputs for each element: the items of what the function returns."""

    function: Function


@attrs.frozen(eq=False)
class FilterEach:
    """The elements for which the function returns something true."""

    function: Function


@attrs.frozen(eq=False)
class StampEach:
    """The elements, at the event time that the function returns."""

    function: Function


@attrs.frozen(eq=False)
class ProcessEach:
    """Any number of outputs for each element: what a DoFn's ``process`` gives out."""

    dofn: DoFn
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class DiffEach:
    """The elements and retractions as plain (diff, value) pairs."""


Uncaught: TypeAlias = (
    MapEach | KeyEach | PairEach | FlatMapEach | FilterEach | StampEach | ProcessEach | DiffEach
)


@attrs.frozen(eq=False)
class CatchEach:
    """What another kind does, and a dead letter for each element on which its function raises.

    Attributes:
        each: the other kind.
        tag: the output for dead letters.
        caught: the exceptions to catch; others stop the pipeline as ever.
        partial: whether outputs that came before the exception go out all the same.
        on_failure: is called with the exception and the element.
    """

    each: Uncaught
    tag: str
    caught: type[BaseException] | tuple[type[BaseException], ...] = Exception
    partial: bool = False
    on_failure: Callable[[Exception, Any], object] | None = None


Elementwise: TypeAlias = Uncaught | CatchEach
