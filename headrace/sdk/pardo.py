"""Element-wise transforms: a function or a DoFn on every element."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, TypeAlias, overload

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.binding import asks_for
from headrace.sdk.dofn import DoFn, Processing, Timing, require_dofn
from headrace.sdk.element_types import item_type, pair_type, result_type
from headrace.sdk.elementwise import (
    CatchEach,
    DiffEach,
    Elementwise,
    FilterEach,
    FlatMapEach,
    Function,
    MapEach,
    ProcessEach,
    StampEach,
)
from headrace.sdk.exception_handling import ExceptionHandling
from headrace.sdk.graph import MAIN, Collection
from headrace.sdk.pardo_node import output_like_input, pardo_node
from headrace.sdk.pvalue import (
    DoOutputsTuple,
    Elements,
    PCollection,
    PValue,
    TaggedOutput,
    require_collection,
)
from headrace.sdk.transform import PTransform, callable_label
from headrace.sdk.type_variables import InT, Items, KeyT, OutT, Rest, T, ValueT
from headrace.sdk.windowed_value import WindowedValue
from headrace.windowing.time import Timestamp, TimestampTypes
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.window_fn import WindowFn

Output: TypeAlias = OutT | TaggedOutput | WindowedValue
"""An output of a DoFn: an element, or a value with an output tag or with windows."""

Timed: TypeAlias = TimestampedValue[OutT] | TaggedOutput
"""An output of a DoFn that sets timestamps."""


class ElementwiseTransform(PTransform[PCollection[InT], PCollection[OutT]], Generic[InT, OutT]):
    """A transform that becomes a single ParDo node.

    Args:
        fn: the function, for the label.
        kind: the operation of the node on each element.
        typed: returns the known type of outputs, given that of inputs.
    """

    def __init__(
        self, fn: Any, kind: Elementwise, typed: Callable[[Any], Any] = lambda kind: Any
    ) -> None:
        super().__init__()
        _refuse_side_inputs(kind)
        self._fn = fn
        self._kind = kind
        self._typed = typed

    def default_label(self) -> str:
        return f"{type(self).__name__}({callable_label(self._fn)})"

    def with_outputs(
        self, *tags: str, main: str | None = None, allow_unknown_tags: bool | None = None
    ) -> WithOutputs[InT]:
        """Return the transform with several outputs.

        Args:
            tags: names of the outputs besides the main one; without any, every tag is allowed.
            main: a name for the main output.
            allow_unknown_tags: whether other tags are allowed; by default only if ``tags`` is empty.

        >>> ParDo(DoFn()).with_outputs("errors", main="good").label
        'ParDo(DoFn)'
        """
        dynamic = not tags if allow_unknown_tags is None else allow_unknown_tags
        return WithOutputs(self, tags, main, dynamic)

    def with_exception_handling(
        self,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        *,
        exc_class: type[BaseException] | tuple[type[BaseException], ...] = Exception,
        partial: bool = False,
        threshold: float = 1,
        threshold_windowing: WindowFn | None = None,
        on_failure_callback: Callable[[Exception, Any], object] | None = None,
        **beam_args: Any,
    ) -> ExceptionHandling[InT]:
        """Return the transform with a second output, for the elements on which its function raises.

        An element of this output is ``(element, (type of the exception, its repr, lines of its
        traceback))``. The arguments are those of
        :class:`~headrace.sdk.exception_handling.ExceptionHandling`.

        >>> with Pipeline() as p:
        ...     words = p | Create(["7", "seven"])
        ...     good, bad = words | Map(int).with_exception_handling()
        ...     _ = good | Map(print)
        ...     _ = bad | "Bad" >> MapTuple(lambda word, error: print(word, error[1]))
        7
        seven ValueError("invalid literal for int() with base 10: 'seven'")
        """
        return ExceptionHandling(
            self,
            main_tag,
            dead_letter_tag,
            exc_class=exc_class,
            partial=partial,
            threshold=threshold,
            threshold_windowing=threshold_windowing,
            on_failure_callback=on_failure_callback,
            **beam_args,
        )

    def caught(self, tag: str, **how: Any) -> ElementwiseTransform[InT, OutT]:
        """Return the transform with a dead letter for each failure (see :class:`CatchEach`)."""
        catching = copy(self)
        catching._kind = CatchEach(_with_checked_timestamps(self._kind), tag, **how)
        return catching

    def expand(self, pcoll: PCollection[InT]) -> PCollection[OutT]:
        return self.expand_tags(pcoll, ())

    def expand_tags(self, pcoll: PCollection[Any], tags: tuple[str, ...]) -> PCollection[Any]:
        """Add the node with additional outputs, and return the main one."""
        require_collection(pcoll)
        main = self.evolved(output_like_input(pcoll, self._type(pcoll)))
        return pardo_node(pcoll, self._kind, main, tags)

    def evolved(self, output: Collection) -> Collection:
        """Return the main output of the node, given the collection that it inherits from the input."""
        return output

    def _type(self, pcoll: PCollection[Any]) -> Any:
        if self.output_type is not None:
            return self.output_type
        return self._typed(pcoll.element_type)


class WithOutputs(PTransform[PCollection[InT], DoOutputsTuple], Generic[InT]):
    """An element-wise transform with several outputs (see :meth:`ElementwiseTransform.with_outputs`)."""

    def __init__(
        self,
        transform: ElementwiseTransform[InT, Any],
        tags: tuple[str, ...],
        main: str | None,
        dynamic: bool,
    ) -> None:
        super().__init__()
        self._transform = transform
        self._tags = tuple(map(str, tags))
        self._main = main
        self._dynamic = dynamic
        for tag in self._tags:
            if tag in (main, MAIN) or self._tags.count(tag) > 1:
                raise PipelineError(
                    f"the output tag {tag!r} is used twice",
                    remedy="use a different tag for each output",
                )

    def default_label(self) -> str:
        return self._transform.label

    def with_exception_handling(
        self, main_tag: str | None = None, dead_letter_tag: str = "bad", **how: Any
    ) -> ExceptionHandling[InT]:
        """Return the transform with an additional output, for the elements on which its function raises."""
        handling = self._transform.with_exception_handling(
            main_tag or self._main or "good", dead_letter_tag, **how
        )
        return handling.with_outputs(*self._tags)

    def expand(self, pcoll: PCollection[InT]) -> DoOutputsTuple:
        main = self._transform.expand_tags(pcoll, self._tags)
        return DoOutputsTuple(
            pcoll.pipeline, main.collection.node, self._tags, self._main, self._dynamic
        )


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
    def __init__(self, fn: Callable[[InT], Iterable[Output[OutT]] | None]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[InT, Rest], Iterable[Output[OutT]] | None],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        self._dofn = dofn = require_dofn(fn)
        declared = getattr(dofn, "output_type", None) or item_type(dofn.process)
        super().__init__(fn, ProcessEach(dofn, args, kwargs), _always(declared))

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
        super().__init__(fn, MapEach(function), _always(result_type(fn)))


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
    def __init__(self, fn: Callable[[InT], Iterable[Output[OutT]] | None]) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[InT, Rest], Iterable[Output[OutT]] | None],
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any = None, *args: Any, **kwargs: Any) -> None:
        chosen = _itself if fn is None else fn
        function = _function(type(self), chosen, args, kwargs)
        super().__init__(chosen, FlatMapEach(function), _always(item_type(chosen)))


class Filter(ElementwiseTransform[InT, Any]):
    """Emits the elements for which a function returns a true value.

    Args:
        fn: takes the element, then ``args`` and ``kwargs``.
        args: additional arguments.
        kwargs: additional arguments by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3]) | Filter(lambda x: x != 2) | Map(print)
    1
    3
    """

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
        super().__init__(fn, FilterEach(_function(type(self), fn, args, kwargs)), _the_same)

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
        super().__init__(fn, MapEach(function), _always(result_type(fn)))


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
        fn: Callable[[KeyT, ValueT], Iterable[Output[OutT]] | None],
    ) -> None: ...
    @overload
    def __init__(
        self: FlatMapTuple[tuple[*Items], OutT],
        fn: Callable[[*Items], Iterable[Output[OutT]] | None],
    ) -> None: ...
    @overload
    def __init__(
        self: FlatMapTuple[tuple[KeyT, ValueT], OutT],
        fn: Callable[Concatenate[KeyT, ValueT, T, Rest], Iterable[Output[OutT]] | None],
        argument: T,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    @overload
    def __init__(
        self: FlatMapTuple[tuple[KeyT, ValueT], OutT],
        fn: Callable[Concatenate[KeyT, ValueT, ...], Iterable[Output[OutT]] | None],
        **kwargs: Any,
    ) -> None: ...
    def __init__(self, fn: Any, *args: Any, **kwargs: Any) -> None:
        function = _function(type(self), fn, args, kwargs, spread=True)
        super().__init__(fn, FlatMapEach(function), _always(item_type(fn)))


class WithTimestamps(ElementwiseTransform[InT, Any]):
    """Sets the timestamp of each element to the result of a function (the name is from Beam's Java).

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


def _check_finish_bundle(dofn: DoFn) -> None:
    """Refuse a DoFn that collects elements until the end of a bundle, but not whether they are retracted."""
    finishes = type(dofn).finish_bundle is not DoFn.finish_bundle
    if finishes and not asks_for(dofn.process, DoFn.DiffParam):
        raise PipelineError(
            f"the collection can contain retractions, but {dofn.default_label()} emits elements in "
            "finish_bundle and does not handle diffs",
            remedy="apply hr.ToChangelog() first, or add a parameter with DoFn.DiffParam to process",
        )


def _with_checked_timestamps(kind: Any) -> Any:
    """Let a function that returns timestamps raise an error if its result is not a timestamp."""
    if not isinstance(kind, StampEach):
        return kind
    fn = kind.function.fn

    @wraps(fn)
    def stamp(*args: Any, **kwargs: Any) -> Timestamp:
        return Timestamp.of(fn(*args, **kwargs))

    return StampEach(attrs.evolve(kind.function, fn=stamp))


def _always(kind: Any) -> Callable[[Any], Any]:
    return lambda _: kind


def _the_same(kind: Any) -> Any:
    return kind


def _itself(element: Any) -> Any:
    return element


def _function(
    owner: type, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], spread: bool = False
) -> Function:
    if isinstance(fn, DoFn) or not callable(fn):
        raise TypeError(
            f"{owner.__name__} needs a function, not {shorten(fn)}"
            + (": use ParDo" if isinstance(fn, DoFn) else "")
        )
    return Function(fn, args, kwargs, spread)


def _arguments(kind: Elementwise) -> Iterator[Any]:
    function = getattr(kind, "function", kind)
    yield from getattr(function, "args", ())
    yield from getattr(function, "kwargs", {}).values()


def _refuse_side_inputs(kind: Elementwise) -> None:
    for argument in _arguments(kind):
        if isinstance(argument, PValue):
            raise PipelineError(
                f"{argument!r} is passed as an argument, but side inputs are not supported",
                remedy="combine the two collections by key, with CoGroupByKey or a join",
            )
