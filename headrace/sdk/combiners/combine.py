"""Combining transforms: per key, over a whole collection, and over lists of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Concatenate, Generic, Self, overload

from headrace.errors import PipelineError, shorten
from headrace.sdk.combiners.default_values import (
    NOTHING,
    AddNothing,
    check_defaults,
    ignoring_nothing,
)
from headrace.sdk.elements.type_variables import InT, KeyT, OutT, Rest, T
from headrace.sdk.groups.checks import check_grouping
from headrace.sdk.groups.combine_fn import (
    BoundCombineFn,
    Choosing,
    CombineFn,
    Combining,
    Same,
    Summing,
    Unknown,
    Untyped,
    combine_fn_of,
)
from headrace.sdk.groups.combine_types import of_pairs, result_of
from headrace.sdk.groups.group_by_key import GroupByKey, grouped
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.pardo_node import Each, each
from headrace.sdk.pardo.side_inputs import AsSideInput, AsSingleton, refuse_collections
from headrace.sdk.pipelines.elementwise import ProcessEach
from headrace.sdk.pipelines.graph import Collection, CombinePerKey as CombinePerKeyNode
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import pair_type, pair_types
from headrace.sdk.typehints.io_hints import IOTypeHints
from headrace.triggers.refinement import AccumulationMode

Combiner = CombineFn | Callable[..., Any]


class Combine(PTransform[PCollection[Any], PCollection[Any]], Generic[InT, OutT]):
    """A transform with a CombineFn.

    Its subclasses repeat the types of the constructor, because these are the types of each subclass.

    Args:
        fn: a :class:`CombineFn`, or a function on iterables of values such as ``sum``.
        args: additional arguments of its methods.
        kwargs: additional arguments of its methods, by name.
    """

    _scope: ClassVar[str]
    """What is combined, as in the names of the transforms."""

    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        refuse_collections([*args, *kwargs.values()])
        self._combine_fn = combine_fn_of(fn, args, kwargs)

    def default_label(self) -> str:
        return f"Combine{self._scope}({self._combine_fn.default_label()})"

    def display_data(self) -> dict[str, Any]:
        fn = self._combine_fn
        own = fn.parts[0] if isinstance(fn, BoundCombineFn) else fn
        return {"combine_fn": type(own), "of the combine_fn": own}


class CombinePerKey(Combine[InT, OutT]):
    """Turns (key, value) pairs into (key, combined value), for each key, window and pane.

    Args:
        fn: a :class:`CombineFn`, or a function on iterables of values such as ``sum``.
        args: additional arguments of its methods.
        kwargs: additional arguments of its methods, by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2), ("a", 3)]) | CombinePerKey(sum) | Map(print)
    ('a', 4)
    ('b', 2)
    """

    _scope = "PerKey"

    @overload
    def __init__(
        self: CombinePerKey[Same, Same], fn: Summing | Choosing, *args: Any, **kwargs: Any
    ) -> None: ...
    @overload
    def __init__(
        self: CombinePerKey[Unknown, Unknown],
        fn: Untyped,
        *args: Any,
        **kwargs: Any,
    ) -> None: ...
    @overload
    def __init__(self, fn: Combining[InT, OutT], *args: Any, **kwargs: Any) -> None: ...
    @overload
    def __init__(self, fn: Callable[[Iterable[InT]], OutT]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[Iterable[InT], Rest], OutT],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(fn, *args, **kwargs)

    def default_type_hints(self) -> IOTypeHints:
        """Return the hints of the CombineFn, for pairs."""
        return of_pairs(self._combine_fn.get_type_hints())

    def with_hot_key_fanout(self, fanout: int | Callable[[Any], int] | None) -> Self:
        """Accept a number of intermediate accumulators for each key, and return the transform unchanged.

        Each task combines the values of a key and window before the shuffle, also in streaming mode, so a hot
        key is a few accumulators from each task, whatever the fanout is. (It is the different values if
        the input can be retracted and the CombineFn has no ``subtract_input``.) Results do not depend on the
        fanout, in all windows and accumulation modes.

        Args:
            fanout: the number, or a function from keys to numbers.

        Raises:
            PipelineError: the fanout is neither, or the CombineFn has side inputs, so that the values of a
                key are combined in one place.

        >>> with Pipeline() as p:
        ...     sacks = p | Create([("rye", 1), ("rye", 2)])
        ...     _ = sacks | CombinePerKey(sum).with_hot_key_fanout(10) | Map(print)
        ('rye', 3)
        """
        _check_fanout("with_hot_key_fanout", self._combine_fn, fanout, callable(fanout))
        return self

    @overload
    def expand(
        self: CombinePerKey[Same, Same], pcoll: PCollection[tuple[KeyT, T]]
    ) -> PCollection[tuple[KeyT, T]]: ...
    @overload
    def expand(
        self: CombinePerKey[Unknown, Unknown], pcoll: PCollection[tuple[KeyT, Any]]
    ) -> PCollection[tuple[KeyT, Any]]: ...
    @overload
    def expand(self, pcoll: PCollection[tuple[KeyT, InT]]) -> PCollection[tuple[KeyT, OutT]]: ...
    def expand(self, pcoll: PCollection[Any]) -> PCollection[Any]:
        if _has_side_inputs(self._combine_fn):
            return pcoll | GroupByKey() | CombineValues(self._combine_fn)
        check_grouping(pcoll)
        _check_subtraction(pcoll.collection, self._combine_fn)
        key, _ = pair_types(pcoll.element_type)
        result = result_of(self._combine_fn.get_type_hints())
        outputs = grouped(pcoll, pair_type(key, result), combining=True)
        pipeline = pcoll.pipeline
        pipeline.add(
            # A copy of its own, because the CombineFn of several transforms is set up for each of them.
            CombinePerKeyNode(pipeline.scope, (pcoll.collection,), outputs, copy(self._combine_fn))
        )
        return PCollection(pipeline, outputs[0])


class CombineGlobally(Combine[InT, OutT]):
    """Combines a whole collection into one value, for each window and pane.

    In the global window, an empty collection gives the CombineFn's result without inputs; in other windows,
    use :meth:`without_defaults`.

    Args:
        fn: a :class:`CombineFn`, or a function on iterables of values such as ``sum``.
        args: additional arguments of its methods.
        kwargs: additional arguments of its methods, by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3]) | CombineGlobally(sum) | Map(print)
    6
    """

    _scope = "Globally"
    has_defaults = True

    @overload
    def __init__(
        self: CombineGlobally[Same, Same], fn: Summing | Choosing, *args: Any, **kwargs: Any
    ) -> None: ...
    @overload
    def __init__(
        self: CombineGlobally[Unknown, Unknown],
        fn: Untyped,
        *args: Any,
        **kwargs: Any,
    ) -> None: ...
    @overload
    def __init__(self, fn: Combining[InT, OutT], *args: Any, **kwargs: Any) -> None: ...
    @overload
    def __init__(self, fn: Callable[[Iterable[InT]], OutT]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[Iterable[InT], Rest], OutT],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(fn, *args, **kwargs)

    def default_type_hints(self) -> IOTypeHints:
        """Return the hints of the CombineFn."""
        return self._combine_fn.get_type_hints()

    @property
    def combine_fn(self) -> CombineFn:
        """How values are combined."""
        return self._combine_fn

    def with_fanout(self, fanout: int | None) -> Self:
        """Accept a number of intermediate accumulators, and return the transform unchanged.

        As with :meth:`CombinePerKey.with_hot_key_fanout`, results do not depend on it.

        Args:
            fanout: the number.

        Raises:
            PipelineError: the fanout is not a number, or the CombineFn has side inputs, so that all values
                are combined in one place.

        >>> with Pipeline() as p:
        ...     _ = p | Create([1, 2, 3]) | CombineGlobally(sum).with_fanout(10) | Map(print)
        6
        """
        _check_fanout("with_fanout", self._combine_fn, fanout)
        return self

    def with_defaults(self, has_defaults: bool = True) -> Self:
        """Set whether an empty collection gives a value."""
        clone = copy(self)
        clone.has_defaults = has_defaults
        return clone

    def without_defaults(self) -> Self:
        """Emit no value for an empty collection; required in windows other than the global window."""
        return self.with_defaults(False)

    def as_singleton_view(self) -> PTransform[PCollection[InT], OutT]:
        """Return the transform whose result is a side input: ``AsSingleton`` of the combined value.

        >>> with Pipeline() as p:
        ...     weights = p | Create([1, 3])
        ...     total = weights | CombineGlobally(sum).as_singleton_view()
        ...     _ = weights | Map(lambda w, total: w / total, total) | "Show" >> Map(print)
        0.25
        0.75
        """
        return _SingletonView(self)

    @overload
    def expand(self: CombineGlobally[Same, Same], pcoll: PCollection[T]) -> PCollection[T]: ...
    @overload
    def expand(
        self: CombineGlobally[Unknown, Unknown], pcoll: PCollection[Any]
    ) -> PCollection[Any]: ...
    @overload
    def expand(self, pcoll: PCollection[InT]) -> PCollection[OutT]: ...
    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        require_collection(pcoll)
        fn = self._combine_fn
        keyed = pcoll | "KeyWithVoid" >> each(_with_void)
        if self.has_defaults:
            check_defaults(pcoll.windowing)
            keyed = (keyed, pcoll.pipeline) | "Default" >> AddNothing()
            fn = fn if _has_side_inputs(fn) else ignoring_nothing(fn)
        combined = keyed | "CombinePerKey" >> CombinePerKey(fn)
        return combined | "UnKey" >> each(_value)


class _SingletonView(PTransform[PCollection[Any], Any]):
    """Combines a collection into a side input; its default is the value of an empty collection."""

    def __init__(self, combine: CombineGlobally[Any, Any]) -> None:
        super().__init__()
        self._combine = combine

    def default_label(self) -> str:
        return self._combine.label

    def expand(self, pcoll: PCollection[object]) -> Any:
        combined: PCollection[object] = self._combine.without_defaults().expand(pcoll)
        if not self._combine.has_defaults:
            return AsSingleton(combined)
        fn = self._combine.combine_fn
        return AsSingleton(combined, _result_of_nothing(fn))


def _result_of_nothing(fn: CombineFn) -> object:
    """Return the result without inputs, from a copy of the CombineFn, which is set up later."""
    own = copy(fn)
    own.setup()
    try:
        return own.extract_output(own.create_accumulator())
    finally:
        own.teardown()


class CombineValues(Combine[InT, OutT]):
    """Turns (key, iterable of values) pairs into (key, combined value).

    Args:
        fn: a :class:`CombineFn`, or a function on iterables of values such as ``sum``.
        args: additional arguments of its methods.
        kwargs: additional arguments of its methods, by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", [1, 3])]) | CombineValues(sum) | Map(print)
    ('a', 4)
    """

    _scope = "Values"

    @overload
    def __init__(
        self: CombineValues[Same, Same], fn: Summing | Choosing, *args: Any, **kwargs: Any
    ) -> None: ...
    @overload
    def __init__(
        self: CombineValues[Unknown, Unknown],
        fn: Untyped,
        *args: Any,
        **kwargs: Any,
    ) -> None: ...
    @overload
    def __init__(self, fn: Combining[InT, OutT], *args: Any, **kwargs: Any) -> None: ...
    @overload
    def __init__(self, fn: Callable[[Iterable[InT]], OutT]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[Iterable[InT], Rest], OutT],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(fn, *args, **kwargs)

    def default_type_hints(self) -> IOTypeHints:
        """Return the hints of the CombineFn, for pairs of a key and a list."""
        return of_pairs(self._combine_fn.get_type_hints(), grouped=True)

    @overload
    def expand(
        self: CombineValues[Same, Same], pcoll: PCollection[tuple[KeyT, Iterable[T]]]
    ) -> PCollection[tuple[KeyT, T]]: ...
    @overload
    def expand(
        self: CombineValues[Unknown, Unknown], pcoll: PCollection[tuple[KeyT, Iterable[Any]]]
    ) -> PCollection[tuple[KeyT, Any]]: ...
    @overload
    def expand(
        self, pcoll: PCollection[tuple[KeyT, Iterable[InT]]]
    ) -> PCollection[tuple[KeyT, OutT]]: ...
    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        return pcoll | "Combine" >> Each(_combining(self._combine_fn))


def _has_side_inputs(fn: CombineFn) -> bool:
    if not isinstance(fn, BoundCombineFn):
        return False
    _, args, kwargs = fn.parts
    return any(isinstance(argument, AsSideInput) for argument in (*args, *kwargs.values()))


def _combining(fn: CombineFn) -> ProcessEach:
    """Return the operation that combines the values of each pair; side inputs are its arguments."""
    if not _has_side_inputs(fn):
        return ProcessEach(_CombineDoFn(copy(fn)))
    assert isinstance(fn, BoundCombineFn)
    unbound, args, kwargs = fn.parts
    return ProcessEach(_CombineWithSideInputs(unbound), args, kwargs)


class _CombineDoFn(DoFn):
    """Combines the values of each pair."""

    def __init__(self, combine_fn: CombineFn) -> None:
        self._combine_fn = combine_fn

    def setup(self) -> None:
        self._combine_fn.setup()

    def process(self, element: Any) -> Any:
        key, values = element
        return ((key, self._combine_fn.apply(values)),)

    def teardown(self) -> None:
        self._combine_fn.teardown()


class _CombineWithSideInputs(_CombineDoFn):
    """Combines the values of each pair with a CombineFn whose methods take additional arguments."""

    def process(self, element: Any, *args: object, **kwargs: object) -> Any:
        key, values = element
        inputs = [value for value in values if value is not NOTHING]
        return ((key, BoundCombineFn(self._combine_fn, args, kwargs).apply(inputs)),)


def _with_void(value: object) -> tuple[None, Any]:
    return None, value


def _value(pair: tuple[object, object]) -> Any:
    return pair[1]


def _check_fanout(name: str, fn: CombineFn, fanout: object, is_function: bool = False) -> None:
    if fanout is None:
        return
    if not (is_function or isinstance(fanout, Integral)) or isinstance(fanout, bool):
        raise PipelineError(
            f"{name} needs a number of accumulators, not {shorten(fanout)}",
            remedy=f"use an int such as {name}(16)",
        )
    if _has_side_inputs(fn):
        raise PipelineError(
            f"{name} is not supported for {fn.default_label()}, which has side inputs: the values of a key "
            "are combined in one place",
            remedy=f"remove {name}, or the side inputs of the CombineFn",
        )


def _check_subtraction(source: Collection, fn: CombineFn) -> None:
    discarding = source.windowing.accumulation_mode is AccumulationMode.DISCARDING
    if source.changing and discarding and not fn.can_subtract:
        raise PipelineError(
            f"in DISCARDING mode, combining a collection with retractions needs subtract_input, which "
            f"{fn.default_label()} does not define",
            remedy="define subtract_input, or window the input with AccumulationMode.RETRACTING",
        )
