"""Element-wise transforms: a function or a DoFn on every element."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, TypeAlias, overload

import attrs

from headrace.errors import PipelineError, TypeCheckError, UnsupportedError, shorten
from headrace.sdk.elements.column_expressions import (
    check_expression,
    check_fields,
    is_expression,
)
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.type_variables import InT, Items, KeyT, OutT, Rest, T, ValueT
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.pardo.arity import check_arity, items_of
from headrace.sdk.pardo.binding import asks_for
from headrace.sdk.pardo.dofn import DoFn, Processing, Timing, require_dofn
from headrace.sdk.pardo.elementwise_transform import ElementwiseTransform
from headrace.sdk.pardo.splittable_dofn import Splittable, splittable, splittable_node
from headrace.sdk.pardo.stateful_dofn import Stateful, stateful
from headrace.sdk.pardo.stateful_node import stateful_node
from headrace.sdk.pipelines.elementwise import (
    DiffEach,
    Elementwise,
    FilterEach,
    FlatMapEach,
    Function,
    MapEach,
    ProcessEach,
    StampEach,
    WhereEach,
)
from headrace.sdk.pipelines.graph import Collection
from headrace.sdk.pipelines.pvalue import (
    Elements,
    PCollection,
    require_collection,
)
from headrace.sdk.pipelines.returned_tuples import warn_of_annotation
from headrace.sdk.typehints.batch_dofn import batches_of
from headrace.sdk.typehints.element_types import (
    item_of,
    item_type,
    output_type,
    pair_type,
    result_type,
)
from headrace.sdk.typehints.hints import is_union
from headrace.sdk.typehints.io_hints import IOTypeHints, hints_of
from headrace.sdk.typehints.labels import callable_label
from headrace.windowing.time.timestamps import TimestampTypes
from headrace.windowing.timestamped_value import TimestampedValue

if TYPE_CHECKING:  # narwhals is an extra
    from narwhals import Expr

DoFnOutput: TypeAlias = OutT | TaggedOutput | WindowedValue
"""An output of a DoFn: an element, or a value with an output tag or with windows."""

Timed: TypeAlias = TimestampedValue[OutT] | TaggedOutput
"""An output of a DoFn that sets timestamps."""


class ParDo(ElementwiseTransform[InT, OutT]):
    """Emits the outputs of a DoFn for each element.

    Args:
        fn: a :class:`DoFn`, or a function that returns an iterable of outputs.
        args: additional arguments of its ``process``.
        kwargs: additional arguments of its ``process``, by name.

    >>> class Words(DoFn):
    ...     def process(self, line):
    ...         yield from line.split()
    >>> with Pipeline() as p:
    ...     _ = p | Create(["to be", "or not"]) | ParDo(Words()) | Map(print)
    to
    be
    or
    not
    """

    @overload
    def __init__(self, fn: Timing[InT, OutT], *args: Any, **kwargs: Any) -> None: ...
    @overload
    def __init__(self, fn: Processing[InT, OutT], *args: Any, **kwargs: Any) -> None: ...
    @overload
    def __init__(self, fn: Callable[[InT], Iterable[Timed[OutT]] | None]) -> None: ...
    @overload
    def __init__(self, fn: Callable[[InT], Iterable[DoFnOutput[OutT]] | None]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[InT, Rest], Iterable[DoFnOutput[OutT]] | None],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        self._dofn = dofn = require_dofn(fn)
        method = "process_batch" if dofn._process_batch_defined else "process"
        name = "" if dofn.process is fn else f"{dofn.default_label()}.{method}"
        check_arity("ParDo", getattr(dofn, method), None, args, kwargs, name)
        self._stateful = stateful(dofn)
        self._splittable = _splittable(dofn, self._stateful)
        super().__init__(fn, ProcessEach(dofn, args, kwargs), self._emitted)

    def _emitted(self, element_type: object) -> Any:
        try:
            return self._dofn.infer_output_type(element_type)
        except TypeCheckError:
            return Any

    def default_type_hints(self) -> IOTypeHints:
        """Return the hints of the DoFn."""
        return self._dofn.get_type_hints()

    def caught(self, tag: str, **how: Any) -> ElementwiseTransform[InT, OutT]:
        if self._stateful is not None:
            raise PipelineError(
                f"{self._dofn.default_label()} is a stateful DoFn, for which exception handling is not "
                "supported",
                remedy="catch the exception in process, and emit a TaggedOutput",
            )
        if self._splittable is not None:
            raise UnsupportedError(
                f"{self._dofn.default_label()} is a splittable DoFn, for which exception handling is not "
                "supported",
                remedy="catch the exception in process, and emit a TaggedOutput",
            )
        if self._dofn._process_batch_defined:
            raise UnsupportedError(
                f"{self._dofn.default_label()} processes batches, for which exception handling is not "
                "supported",
                remedy="define process instead of process_batch, or catch the exception there",
            )
        return super().caught(tag, **how)

    def expand_tags(self, pcoll: PCollection[object], tags: tuple[str, ...]) -> PCollection[Any]:
        if not self._dofn._process_batch_defined:
            warn_of_annotation(self._dofn.process, pcoll.pipeline.scope)
        if self._stateful is None and self._splittable is None:
            return super().expand_tags(pcoll, tags)
        require_collection(pcoll)
        kind = self._kind
        assert isinstance(kind, ProcessEach)
        if self._splittable is not None:
            return splittable_node(pcoll, kind, self._splittable, self._type(pcoll), tags)
        assert self._stateful is not None
        return stateful_node(pcoll, kind, self._stateful, self._type(pcoll), tags)

    def kind_for(self, element_type: object) -> Elementwise:
        batches = batches_of(self._dofn, element_type)
        if batches is None or not isinstance(self._kind, ProcessEach):
            return self._kind
        return attrs.evolve(self._kind, batches=batches)

    def evolved(self, output: Collection) -> Collection:
        if output.changing:
            _check_finish_bundle(self._dofn)
        return output


class Map(ElementwiseTransform[InT, OutT]):
    """Emits the result of a function for each element.

    Args:
        fn: takes the element, then ``args`` and ``kwargs``; it can ask for metadata (see :class:`DoFn`).
        args: additional arguments.
        kwargs: additional arguments by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2]) | Map(lambda x, factor: factor * x, 10) | "Show" >> Map(print)
    10
    20
    """

    @overload
    def __init__(self, fn: Callable[[InT], TimestampedValue[OutT]]) -> None: ...
    @overload
    def __init__(self, fn: Callable[[InT], OutT]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[InT, Rest], OutT],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        function = _function(type(self), fn, args, kwargs)
        super().__init__(fn, MapEach(function), partial(_result, fn))


class FlatMap(ElementwiseTransform[InT, OutT]):
    """Emits every item of a function's result for each element.

    Args:
        fn: takes the element, then ``args`` and ``kwargs``, and returns an iterable; by default the
            element is the iterable.
        args: additional arguments.
        kwargs: additional arguments by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["to be", "or not"]) | FlatMap(str.split) | Map(print)
    to
    be
    or
    not
    """

    @overload
    def __init__(self: FlatMap[Iterable[T], T], fn: None = None) -> None: ...
    @overload
    def __init__(self, fn: Callable[[InT], Iterable[Timed[OutT]] | None]) -> None: ...
    @overload
    def __init__(self, fn: Callable[[InT], Iterable[DoFnOutput[OutT]] | None]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[InT, Rest], Iterable[DoFnOutput[OutT]] | None],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any = None, *args: Any, **kwargs: Any) -> None:
        chosen = _itself if fn is None else fn
        function = _function(type(self), chosen, args, kwargs)
        super().__init__(chosen, FlatMapEach(function), partial(_items, chosen))

    def default_type_hints(self) -> IOTypeHints:
        """Return the hints of the function, and of the items of its result."""
        try:
            return hints_of(self._fn).strip_iterable()
        except TypeCheckError as error:
            raise TypeCheckError(
                f"the result of {callable_label(self._fn)}: {error.problem}", remedy=error.remedy
            ) from None


class Filter(ElementwiseTransform[InT, Any]):
    """Emits the elements for which a function returns a true value, or an expression is true.

    An expression of narwhals over the fields of the elements is evaluated on columns. An element for which it
    is None is not emitted.

    Args:
        fn: takes the element, then ``args`` and ``kwargs``; or an expression, such as
            ``nw.col("delay") > 0``.
        args: additional arguments of a function.
        kwargs: additional arguments of a function, by name.

    Raises:
        PipelineError: the expression looks at other rows, or has arguments.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3]) | Filter(lambda x: x != 2) | Map(print)
    1
    3
    >>> import narwhals as nw
    >>> with Pipeline() as p:
    ...     delays = p | Create([hr.Row(delay=7), hr.Row(delay=-3)])
    ...     _ = delays | Filter(nw.col("delay") > 0) | Map(print)
    Row(delay=7)
    """

    @overload
    def __init__(self, fn: Expr) -> None: ...
    @overload
    def __init__(self, fn: Callable[[InT], object]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[InT, Rest], object],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(fn, _filter(type(self), fn, args, kwargs), self._kept)

    def _kept(self, kind: object) -> object:
        """Return the type of filtered elements: of a union, some members may be filtered out."""
        if is_expression(self._fn):
            check_fields(self._fn, kind)
        return Any if is_union(kind) else kind

    def default_label(self) -> str:
        return f"Filter({self._fn!r})" if is_expression(self._fn) else super().default_label()

    def display_data(self) -> dict[str, Any]:
        return {"fn": repr(self._fn)} if is_expression(self._fn) else super().display_data()

    def default_type_hints(self) -> IOTypeHints | None:
        """Return the hint of the function's element for the input and the output."""
        if is_expression(self._fn):
            return None
        hints = hints_of(self._fn)
        types = hints.input_types
        element = types[0][:1] if types is not None else ()
        return hints._replace(output_types=(element, {}) if element else None)

    if TYPE_CHECKING:

        def expand(self, pcoll: Elements[T, InT]) -> PCollection[T]: ...


class MapTuple(ElementwiseTransform[InT, OutT]):
    """Like :class:`Map` with a function that takes the items of the element as its arguments.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 2), ("b", 3)]) | MapTuple(lambda k, n: k * n) | Map(print)
    aa
    bbb
    """

    @overload
    def __init__(
        self: MapTuple[tuple[KeyT, ValueT], OutT], fn: Callable[[KeyT, ValueT], OutT]
    ) -> None: ...
    @overload
    def __init__(self: MapTuple[tuple[*Items], OutT], fn: Callable[[*Items], OutT]) -> None: ...
    @overload
    def __init__(
        self: MapTuple[tuple[KeyT, ValueT], OutT],
        fn: Callable[Concatenate[KeyT, ValueT, T, Rest], OutT],
        argument: T,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    @overload
    def __init__(
        self: MapTuple[tuple[KeyT, ValueT], OutT],
        fn: Callable[Concatenate[KeyT, ValueT, ...], OutT],
        **kwargs: Any,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        function = _function(type(self), fn, args, kwargs, spread=True)
        super().__init__(fn, MapEach(function), _of_items(type(self), function, result_type(fn)))


class FlatMapTuple(ElementwiseTransform[InT, OutT]):
    """Like :class:`FlatMap` with a function that takes the items of the element as its arguments.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 2)]) | FlatMapTuple(lambda k, n: [k] * n) | Map(print)
    a
    a
    """

    @overload
    def __init__(
        self: FlatMapTuple[tuple[KeyT, ValueT], OutT],
        fn: Callable[[KeyT, ValueT], Iterable[DoFnOutput[OutT]] | None],
    ) -> None: ...
    @overload
    def __init__(
        self: FlatMapTuple[tuple[*Items], OutT],
        fn: Callable[[*Items], Iterable[DoFnOutput[OutT]] | None],
    ) -> None: ...
    @overload
    def __init__(
        self: FlatMapTuple[tuple[KeyT, ValueT], OutT],
        fn: Callable[Concatenate[KeyT, ValueT, T, Rest], Iterable[DoFnOutput[OutT]] | None],
        argument: T,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    @overload
    def __init__(
        self: FlatMapTuple[tuple[KeyT, ValueT], OutT],
        fn: Callable[Concatenate[KeyT, ValueT, ...], Iterable[DoFnOutput[OutT]] | None],
        **kwargs: Any,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        function = _function(type(self), fn, args, kwargs, spread=True)
        super().__init__(fn, FlatMapEach(function), _of_items(type(self), function, item_type(fn)))


class WithTimestamps(ElementwiseTransform[InT, Any]):
    """Sets the timestamp of each element to the result of a function (the name is from Beam's Java).

    The elements are assigned to windows again, by their new timestamps, as are TimestampedValues that a
    function emits.

    Args:
        fn: takes the element, then ``args`` and ``kwargs``, and returns seconds, a datetime with a zone,
            an ISO 8601 string or a Timestamp.
        args: additional arguments.
        kwargs: additional arguments by name.

    >>> show = lambda x, time=DoFn.TimestampParam: print(x, float(time))
    >>> with Pipeline() as p:
    ...     _ = p | Create([3, 5]) | WithTimestamps(lambda x: x / 2) | Map(show)
    3 1.5
    5 2.5
    """

    @overload
    def __init__(self, fn: Callable[[InT], TimestampTypes]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[InT, Rest], TimestampTypes],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(fn, StampEach(_function(type(self), fn, args, kwargs)), _the_same)

    if TYPE_CHECKING:

        def expand(self, pcoll: Elements[T, InT]) -> PCollection[T]: ...


class ToChangelog(ElementwiseTransform[Any, tuple[int, Any]]):
    """Turns elements and retractions into (diff, value) pairs (not in Beam).

    A pair is (1, value) for a value and (-1, value) for the retraction of an earlier value. The pairs
    themselves are never retracted, so any transform can be applied to them.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["a"]) | ToChangelog() | Map(print)
    (1, 'a')
    """

    def __init__(self) -> None:
        super().__init__(None, DiffEach(), lambda kind: pair_type(int, kind))

    def default_label(self) -> str:
        return "ToChangelog"

    def expand(self, pcoll: PCollection[T]) -> PCollection[tuple[int, T]]:
        return super().expand(pcoll)

    def evolved(self, output: Collection) -> Collection:
        return attrs.evolve(output, changing=False, retraction_lateness=0)


def _splittable(dofn: DoFn, states: Stateful | None) -> Splittable | None:
    """Return the restrictions that a DoFn declares; None if it is not splittable."""
    declared = splittable(dofn)
    if declared is None:
        return None
    name = dofn.default_label()
    if states is not None:
        raise UnsupportedError(
            f"{name} is splittable and has states or timers, which is not supported",
            remedy="read in a splittable DoFn, and keep states in a second DoFn after it",
        )
    if dofn._process_batch_defined:
        raise UnsupportedError(
            f"{name} is splittable and processes batches, which is not supported",
            remedy="define process instead of process_batch",
        )
    return declared


def _check_finish_bundle(dofn: DoFn) -> None:
    """Refuse a DoFn that collects elements until the end of a bundle, but not whether they are retracted."""
    finishes = type(dofn).finish_bundle is not DoFn.finish_bundle
    if finishes and not asks_for(dofn.process, DoFn.DiffParam):
        raise PipelineError(
            f"the collection can contain retractions, but {dofn.default_label()} emits elements in "
            "finish_bundle and does not handle diffs",
            remedy="apply hr.ToChangelog() first, or add a parameter with DoFn.DiffParam to process",
        )


def _result(fn: Any, element_type: object) -> Any:
    """Return the type of a function's result, given the type of the element."""
    return output_type(hints_of(fn), element_type)


def _items(fn: Any, element_type: object) -> Any:
    """Return the type of the items of a function's result, given the type of the element."""
    if fn is _itself:
        return item_of(element_type)
    try:
        return output_type(hints_of(fn).strip_iterable(), element_type)
    except TypeCheckError:
        return Any


def _of_items(owner: type, function: Function, kind: object) -> Callable[[Any], object]:
    """Return the function that checks the number of items, if it is known, and returns a type."""

    def typed(element_type: object) -> object:
        items = items_of(element_type)
        if items is not None:
            check_arity(owner.__name__, function.fn, items, function.args, function.kwargs)
        return kind

    return typed


def _the_same(kind: object) -> object:
    return kind


def _filter(
    transform: type, fn: Any, args: tuple[object, ...], kwargs: dict[str, object]
) -> Elementwise:
    """Return the operation of a filter by a function or an expression."""
    if not is_expression(fn):
        return FilterEach(_function(transform, fn, args, kwargs))
    check_expression(fn)
    if args or kwargs:
        raise PipelineError(
            "an expression has no arguments",
            remedy="put the values into the expression: nw.col('delay') > least",
        )
    return WhereEach(fn)


def _itself(element: object) -> object:
    """Return the items of an element: the characters of a text, the keys of a dict."""
    return tuple(element) if isinstance(element, (str, bytes, dict)) else element


def _function(
    owner: type,
    fn: object,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    spread: bool = False,
) -> Function:
    if isinstance(fn, DoFn) or not callable(fn):
        raise TypeError(
            f"{owner.__name__} needs a function, not {shorten(fn)}"
            + (": use ParDo" if isinstance(fn, DoFn) else "")
        )
    if not spread:
        check_arity(owner.__name__, fn, None, args, kwargs)
    return Function(fn, args, kwargs, spread)
