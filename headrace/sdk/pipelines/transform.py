"""Transforms: primitive steps, or composites of other transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, Concatenate, Generic, Self, TypeAlias, cast, overload

from headrace.errors import PipelineError, TypeCheckError, shorten, warn
from headrace.sdk.elements.type_variables import InputT, OutputT, Rest, ResultT, TypeHint
from headrace.sdk.pipelines.composites import check_collections
from headrace.sdk.pipelines.expansion import expansion_hints
from headrace.sdk.pipelines.pvalue import Applicable, DoOutputsTuple, PipelineBuilder, PValue
from headrace.sdk.typehints.argument_checks import (
    checks_arguments,
    named_parameters,
    refuse_unknown,
)
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.sdk.typehints.element_types import output_type as output_type_of
from headrace.sdk.typehints.io_hints import IOTypeHints, WithTypeHints, declared_hints
from headrace.sdk.typehints.labels import callable_label
from headrace.sdk.typehints.signatures import Types

Several: TypeAlias = Sequence[PValue] | Mapping[Any, PValue] | DoOutputsTuple[Any]
"""Several collections, to which a transform is applied at once."""


PlainElements: TypeAlias = (
    list[Any] | tuple[Any, ...] | dict[Any, Any] | set[Any] | frozenset[Any] | range
)
"""Elements, to which a transform is applied at once."""


class PTransform(WithTypeHints, HasDisplayData, Generic[InputT, OutputT]):
    """A step of a pipeline; subclass it and define :meth:`expand` in terms of other transforms.

    Type checkers take the types of its input and output from the annotations of :meth:`expand`, or from
    ``PTransform[PCollection[str], PCollection[int]]``.

    >>> class Doubled(PTransform):
    ...     def expand(self, pcoll):
    ...         return pcoll | Map(lambda x: 2 * x)
    >>> Doubled().label
    'Doubled'
    """

    pipeline: PipelineBuilder | None = None
    takes_several: bool = False
    """Whether a list on its left is a list of collections, as a tuple is."""

    _label: str | None = None

    def __init__(self, label: str | None = None) -> None:
        self._label = label

    def __init_subclass__(cls, **options: Any) -> None:
        """Let constructors refuse unknown arguments with the name of the transform."""
        super().__init_subclass__(**options)
        checks_arguments(cls)

    def expand(self, pcoll: InputT, /) -> OutputT:
        """Apply other transforms to the input and return the result.

        Args:
            pcoll: a PCollection, a pipeline's beginning, or a tuple or dict of PCollections.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define expand")

    @property
    def label(self) -> str:
        """Name of the transform in its pipeline."""
        return self._label or self.default_label()

    @label.setter
    def label(self, label: str) -> None:
        self._label = label

    def default_label(self) -> str:
        """Return the name of the transform if it is not given one."""
        return type(self).__name__

    @property
    def output_type(self) -> TypeHint:
        """The type of the output elements that is declared for this transform; None if there is none."""
        own = self.__dict__.get("_type_hints") or declared_hints(type(self))
        return own.simple_output_type(self.label)

    @output_type.setter
    def output_type(self, output_type: TypeHint) -> None:
        self.with_output_types(output_type)

    def default_type_hints(self) -> IOTypeHints | None:
        """Return the hints if none are declared: those in the annotations of :meth:`expand`."""
        if type(self).__module__.partition(".")[0] == "headrace":
            return None
        return expansion_hints(self.expand)

    def infer_output_type(self, input_type: Any) -> TypeHint:
        """Return the type of the output elements, given the type of the input elements; Any if unknown.

        It is used if the steps of the transform do not tell. Subclasses can override it, as in Beam.
        """
        return output_type_of(self.get_type_hints(), input_type)

    def types_of_inputs(self) -> Types | None:
        """Return the declared types of the elements of the inputs, by place and by name."""
        return self.get_type_hints().input_types

    def type_check_inputs(self, pvalueish: Any) -> None:
        """Refuse inputs whose elements are not of the declared types.

        Raises:
            TypeCheckError: they are of another type.
        """
        check_collections(self.label, "input", self.types_of_inputs(), pvalueish)

    def type_check_outputs(self, pvalueish: Any) -> None:
        """Refuse outputs whose elements are not of the declared types.

        Raises:
            TypeCheckError: they are of another type.
        """
        check_collections(self.label, "output", self.get_type_hints().output_types, pvalueish)

    def with_resource_hints(self, **hints: Any) -> Self:
        """Return the transform; warn that hints about the machines for a step have no effect.

        Args:
            hints: ignored; accepted for compatibility with Beam.
        """
        if hints:
            warn(
                f"the resource hints {', '.join(hints)} have no effect",
                where=self.label,
                remedy="set the resources of the whole run with --spark-conf",
            )
        return self

    def __rrshift__(self, label: str) -> Self:
        """Name this application of the transform: ``"name" >> transform``.

        Raises:
            PipelineError: the left side is not a name.
        """
        given: object = label
        if not isinstance(given, str):
            raise PipelineError(
                f"`>>` names a transform, but {shorten(label)}, on its left, is not a name",
                where=self.label,
                remedy="apply transforms with `|`: pcoll | 'Name' >> First() | 'Other name' >> Second()",
            )
        # Typed like the transform, so that checkers know the result of `expand`.
        return cast("Self", NamedTransform(label, self))

    def __or__(self, right: Applicable[OutputT, ResultT]) -> PTransform[InputT, ResultT]:
        """Return the transform that applies this one and then another."""
        return ChainedTransform(self, right)

    @overload
    def __ror__(self: Applicable[Any, ResultT], left: Several) -> ResultT: ...
    @overload
    def __ror__(self, left: PlainElements) -> Any: ...
    def __ror__(self, left: Any) -> Any:
        """Apply to a tuple, list or dict of collections: ``(one, other) | transform``.

        A list of elements runs at once on the local runner: ``[1, 2] | transform`` returns a list. So does a
        tuple or dict of lists.
        """
        left = list(left) if isinstance(left, Iterator) else left
        if self.pipeline is None and _is_plain(left):
            # Imported by name: that module needs this one.
            return import_module("headrace.sdk.sources.immediate").run_on_values(self, left)
        return pipeline_of(left, self).apply(self, left)

    def __repr__(self) -> str:
        """Show class and label."""
        return f"<{type(self).__name__} {self.label!r}>"


class NamedTransform(PTransform[Any, Any]):
    """A transform with another name."""

    def __init__(self, label: str, transform: PTransform[Any, Any]) -> None:
        super().__init__(label)
        self.pipeline = transform.pipeline
        self.takes_several = transform.takes_several
        self.transform = transform

    def expand(self, pcoll: object) -> Any:
        return self.transform.expand(pcoll)


class ChainedTransform(PTransform[Any, Any]):
    """Two transforms, one after the other."""

    def __init__(self, first: PTransform[Any, Any], then: Any) -> None:
        super().__init__()
        self.pipeline = first.pipeline
        self.takes_several = first.takes_several
        self._first = first
        self._then = then

    def default_label(self) -> str:
        return f"{self._first.label}|{self._then.label}"

    def expand(self, pcoll: Any) -> Any:
        return pcoll | self._first | self._then


class FunctionTransform(PTransform[Any, Any]):
    """A transform whose expansion is a function of its input and additional arguments."""

    def __init__(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        super().__init__()
        self._fn = fn
        self._args = args
        self._kwargs = kwargs

    def default_label(self) -> str:
        name = callable_label(self._fn)
        return f"{name}({callable_label(self._args[0])})" if self._args else name

    def expand(self, pcoll: object) -> Any:
        return self._fn(pcoll, *self._args, **self._kwargs)


def ptransform_fn(
    fn: Callable[Concatenate[InputT, Rest], OutputT],
) -> Callable[Rest, PTransform[InputT, OutputT]]:
    """Create a transform from a function that applies other transforms.

    >>> @ptransform_fn
    ... def Multiplied(pcoll, factor):
    ...     return pcoll | Map(lambda x: factor * x)
    >>> Multiplied(2).label
    'Multiplied(2)'
    """
    known = named_parameters(fn)

    @wraps(fn)
    def make(*args: Rest.args, **kwargs: Rest.kwargs) -> PTransform[InputT, OutputT]:
        if known is not None:
            refuse_unknown(callable_label(fn), kwargs, known[1:])
        transform = FunctionTransform(fn, args, kwargs)
        transform._type_hints = declared_hints(make)
        return transform

    return make


def pvalues_in(pvalueish: object) -> Iterator[PValue]:
    """Iterate over the collections in a value: a collection, or nested tuples, lists and dicts."""
    if isinstance(pvalueish, PValue):
        yield pvalueish
    elif isinstance(pvalueish, dict):
        for value in pvalueish.values():
            yield from pvalues_in(value)
    elif isinstance(pvalueish, (tuple, list, DoOutputsTuple)):
        for value in pvalueish:
            yield from pvalues_in(value)


def _is_plain(left: object) -> bool:
    """Return whether a value contains elements, and no collection."""
    empty = isinstance(left, (tuple, dict)) and not left
    known = isinstance(left, (PValue, DoOutputsTuple)) or next(pvalues_in(left), None) is not None
    return isinstance(left, Iterable) and not known and not empty


def pipeline_of(pvalueish: object, transform: PTransform[Any, Any]) -> PipelineBuilder:
    """Return the pipeline in which a transform is applied to collections.

    Raises:
        PipelineError: there is no collection.
    """
    first = next(pvalues_in(pvalueish), None)
    if first is not None:
        return first.pipeline
    if transform.pipeline is not None:
        return transform.pipeline
    if pvalueish is None:
        raise TypeCheckError(
            f"{transform.label} is applied to the output of a step that has none",
            where=transform.label,
            remedy="return a collection from `expand` of the step before it, or apply it to the step's input",
        )
    raise PipelineError(
        f"{shorten(pvalueish)} contains no collection of a pipeline",
        where=transform.label,
        remedy="create a collection from values first: p | hr.Create(values)",
    )
