"""The kinds of operations of a ParDo node on each element.

These kinds are separate from DoFns because bundles are processed by them with less overhead. They are the
values of :attr:`headrace.sdk.pipelines.graph.ParDo.fn`; :mod:`headrace.runners.calls.invoker` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from headrace.sdk.elements.table_form import TableForm
from headrace.sdk.elements.taken_fields import (
    TakenValue,
    form_of_function,
    form_of_key,
    value_of_pair,
)
from headrace.sdk.elements.value_tables import PairsWithNone, Words

if TYPE_CHECKING:  # this is what a graph holds, and a graph imports nothing that makes its nodes
    from headrace.sdk.pardo.bundle_dofn import BundleDoFn
    from headrace.sdk.pardo.dofn import DoFn
    from headrace.sdk.typehints.batches import Batches


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
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = attrs.field(factory=dict)
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

    value: object


@attrs.frozen(eq=False)
class FlatMapEach:
    """Any number of outputs for each element: the items of the function's result."""

    function: Function


@attrs.frozen(eq=False)
class FilterEach:
    """The elements for which the function returns a true value."""

    function: Function


@attrs.frozen(eq=False)
class WhereEach:
    """The elements for which an expression of narwhals over their fields is true."""

    expression: Any


@attrs.frozen(eq=False)
class FieldsEach:
    """A row for each element: fields that are computed.

    Attributes:
        fields: the name of a field, or an expression of narwhals, by the name of the row's field.
        keep: whether the row has the other fields of the element, too.
    """

    fields: Mapping[str, Any]
    keep: bool = False


@attrs.frozen(eq=False)
class StampEach:
    """The elements, with the timestamp that the function returns."""

    function: Function


@attrs.frozen(eq=False)
class ProcessEach:
    """Any number of outputs for each element: the outputs of a DoFn's ``process``.

    With ``batches``, the outputs of its ``process_batch``, or batches of outputs.
    """

    dofn: DoFn
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = attrs.field(factory=dict)
    batches: Batches | None = None

    @property
    def method(self) -> Callable[..., Any]:
        """The method that is called."""
        return method_of(self.dofn, self.batches)


def method_of(dofn: DoFn, batches: Batches | None) -> Callable[..., Any]:
    """Return the method of a DoFn that is called for elements or batches."""
    method: Callable[..., object] = dofn.process
    return method if batches is None or batches.takes is None else dofn.process_batch


@attrs.frozen(eq=False)
class BundleEach:
    """The outputs of a DoFn that takes whole bundles, with the contents of side inputs."""

    dofn: BundleDoFn
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class DiffEach:
    """The elements and retractions as (diff, value) pairs."""


@attrs.frozen(eq=False)
class ChangeEach:
    """Values and retractions: each element is a :class:`headrace.sdk.pardo.changes.Change`."""


Uncaught: TypeAlias = (
    MapEach
    | KeyEach
    | PairEach
    | FlatMapEach
    | FilterEach
    | WhereEach
    | FieldsEach
    | StampEach
    | ProcessEach
    | BundleEach
    | DiffEach
    | ChangeEach
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
        timeout: the time limit of the function for an element, in seconds; None for no limit.
    """

    each: Uncaught
    tag: str
    caught: type[BaseException] | tuple[type[BaseException], ...] = Exception
    partial: bool = False
    on_failure: Callable[[Exception, Any], object] | None = None
    timeout: float | None = None


Elementwise: TypeAlias = Uncaught | CatchEach


def table_form_of(kind: Elementwise) -> TableForm | None:
    """Return what an operation makes of the fields of tables; None if it takes elements."""
    match kind:
        case MapEach(function=Function(fn=fn)) if fn is value_of_pair:
            return TakenValue()
        case MapEach(function=function):
            return form_of_function(_called_alone(function))
        case KeyEach(function=function):
            return form_of_key(_called_alone(function))
        case FlatMapEach(function=function):
            return Words() if _called_alone(function) is str.split else None
        case PairEach(value=None):
            return PairsWithNone()
    return None


def _called_alone(function: Function) -> Callable[..., Any] | None:
    """Return a function that is called with each element alone; None if it has other arguments."""
    alone = not (function.args or function.kwargs or function.spread)
    return function.fn if alone else None
