"""Element-wise transforms: a function or a DoFn on every element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Any

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.binding import asks_for
from headrace.sdk.dofn import DoFn, require_dofn
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
from headrace.sdk.graph import MAIN
from headrace.sdk.graph import ParDo as ParDoNode
from headrace.sdk.pvalue import DoOutputsTuple, PCollection, PValue
from headrace.sdk.transform import PTransform, callable_label
from headrace.windowing.time import Timestamp

if TYPE_CHECKING:
    from headrace.sdk.exception_handling import ExceptionHandling
    from headrace.windowing.window_fn import WindowFn


class ElementwiseTransform(PTransform[Any, Any]):
    """A transform that becomes a single ParDo node.

    Args:
        fn: what the label says is called on each element.
        kind: what the node does with each element.
        typed: returns what is known of the type of its outputs, given that of its inputs.
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
    ) -> PTransform[Any, Any]:
        """Return the transform with several outputs.

        Args:
            tags: names of the outputs besides the main one; without any, every tag that is asked for
                exists.
            main: a name for the main output.
            allow_unknown_tags: whether tags exist that are not named here; by default only if none is.

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
        **beams: Any,
    ) -> ExceptionHandling:
        """Return the transform with a second output, for the elements on which its function raises.

        They are there as ``(element, (type of the exception, its repr, lines of its traceback))``; the
        arguments are those of :class:`~headrace.sdk.exception_handling.ExceptionHandling`.

        >>> with Pipeline() as p:
        ...     words = p | Create(["7", "seven"])
        ...     good, bad = words | Map(int).with_exception_handling()
        ...     _ = good | Map(print)
        ...     _ = bad | "Bad" >> MapTuple(lambda word, error: print(word, error[1]))
        7
        seven ValueError("invalid literal for int() with base 10: 'seven'")
        """
        # Counting failures against a threshold takes windows and combining, which are made of this.
        from headrace.sdk.exception_handling import ExceptionHandling

        return ExceptionHandling(
            self,
            main_tag,
            dead_letter_tag,
            exc_class=exc_class,
            partial=partial,
            threshold=threshold,
            threshold_windowing=threshold_windowing,
            on_failure_callback=on_failure_callback,
            **beams,
        )

    def caught(self, tag: str, **how: Any) -> ElementwiseTransform:
        """Return the transform with a dead letter for each failure, as :class:`CatchEach` says."""
        catching = copy(self)
        catching._kind = CatchEach(_stamped_surely(self._kind), tag, **how)
        return catching

    def expand(self, pcoll: Any) -> PCollection[Any]:
        return self.expand_tags(pcoll, ())

    def expand_tags(self, pcoll: Any, tags: tuple[str, ...]) -> PCollection[Any]:
        """Add the node with further outputs, and return the main one."""
        require_collection(pcoll)
        pipeline = pcoll.pipeline
        source = pcoll.collection
        main = self.evolved(
            attrs.evolve(source, node=pipeline.scope, tag=MAIN, element_type=self._type(pcoll))
        )
        others = [attrs.evolve(main, tag=tag, element_type=Any) for tag in tags]
        pipeline.add(ParDoNode(pipeline.scope, (source,), (main, *others), self._kind))
        return PCollection(pipeline, main)

    def evolved(self, output: Any) -> Any:
        """Return the main output of the node, given one that is like the input."""
        return output

    def _type(self, pcoll: PCollection[Any]) -> Any:
        if self.output_type is not None:
            return self.output_type
        return self._typed(pcoll.element_type)


class WithOutputs(PTransform[Any, Any]):
    """An element-wise transform with several outputs (see :meth:`ElementwiseTransform.with_outputs`)."""

    def __init__(
        self,
        transform: ElementwiseTransform,
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
                    f"the output tag {tag!r} is taken", remedy="give each output a tag of its own"
                )

    def default_label(self) -> str:
        return self._transform.label

    def with_exception_handling(
        self, main_tag: str | None = None, dead_letter_tag: str = "bad", **how: Any
    ) -> ExceptionHandling:
        """Return the transform with one more output, for the elements on which its function raises."""
        handling = self._transform.with_exception_handling(
            main_tag or self._main or "good", dead_letter_tag, **how
        )
        return handling.with_outputs(*self._tags)

    def expand(self, pcoll: Any) -> DoOutputsTuple:
        main = self._transform.expand_tags(pcoll, self._tags)
        return DoOutputsTuple(
            pcoll.pipeline, main.collection.node, self._tags, self._main, self._dynamic
        )


class ParDo(ElementwiseTransform):
    """Gives out what a DoFn gives out for each element.

    Args:
        fn: a :class:`DoFn`, or a function that returns an iterable of outputs.
        args: further arguments of its ``process``.
        kwargs: further arguments of its ``process``, by name.

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

    def __init__(self, fn: DoFn | Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._dofn = dofn = require_dofn(fn)
        declared = getattr(dofn, "output_type", None) or item_type(dofn.process)
        super().__init__(fn, ProcessEach(dofn, args, kwargs), _always(declared))

    def evolved(self, output: Any) -> Any:
        if output.changing:
            _check_memory(self._dofn)
        return output


class Map(ElementwiseTransform):
    """Gives out what a function returns for each element.

    Args:
        fn: takes the element, then ``args`` and ``kwargs``; see :class:`DoFn` for what else it may ask for.
        args: further arguments.
        kwargs: further arguments by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2]) | Map(lambda x, factor: factor * x, 10) | "Show" >> Map(print)
    10
    20
    """

    def __init__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        function = _function(type(self), fn, args, kwargs)
        super().__init__(fn, MapEach(function), _always(result_type(fn)))


class FlatMap(ElementwiseTransform):
    """Gives out every item of what a function returns for each element.

    Args:
        fn: takes the element, then ``args`` and ``kwargs``, and returns an iterable; by default the
            element is the iterable.
        args: further arguments.
        kwargs: further arguments by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["to be", "or not"]) | FlatMap(str.split) | Map(print)
    to
    be
    or
    not
    """

    def __init__(self, fn: Callable[..., Any] | None = None, *args: Any, **kwargs: Any) -> None:
        chosen = _itself if fn is None else fn
        function = _function(type(self), chosen, args, kwargs)
        super().__init__(chosen, FlatMapEach(function), _always(item_type(chosen)))


class Filter(ElementwiseTransform):
    """Keeps the elements for which a function returns something true.

    Args:
        fn: takes the element, then ``args`` and ``kwargs``.
        args: further arguments.
        kwargs: further arguments by name.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3]) | Filter(lambda x: x != 2) | Map(print)
    1
    3
    """

    def __init__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(fn, FilterEach(_function(type(self), fn, args, kwargs)), _the_same)


class MapTuple(ElementwiseTransform):
    """Like :class:`Map` with a function that takes the items of the element as its arguments.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 2), ("b", 3)]) | MapTuple(lambda k, n: k * n) | Map(print)
    aa
    bbb
    """

    def __init__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        function = _function(type(self), fn, args, kwargs, spread=True)
        super().__init__(fn, MapEach(function), _always(result_type(fn)))


class FlatMapTuple(ElementwiseTransform):
    """Like :class:`FlatMap` with a function that takes the items of the element as its arguments.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 2)]) | FlatMapTuple(lambda k, n: [k] * n) | Map(print)
    a
    a
    """

    def __init__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        function = _function(type(self), fn, args, kwargs, spread=True)
        super().__init__(fn, FlatMapEach(function), _always(item_type(fn)))


class WithTimestamps(ElementwiseTransform):
    """Gives each element the event time that a function returns (the name is from Beam's Java).

    Args:
        fn: takes the element, then ``args`` and ``kwargs``, and returns seconds, a datetime with a
            zone, an ISO 8601 string or a Timestamp.
        args: further arguments.
        kwargs: further arguments by name.

    >>> show = lambda x, time=DoFn.TimestampParam: print(x, float(time))
    >>> with Pipeline() as p:
    ...     _ = p | Create([3, 5]) | WithTimestamps(lambda x: x / 2) | Map(show)
    3 1.5
    5 2.5
    """

    def __init__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(fn, StampEach(_function(type(self), fn, args, kwargs)), _the_same)


class ToChangelog(ElementwiseTransform):
    """Turns elements and retractions into plain (diff, value) pairs (not in Beam).

    A pair is (1, value) for a value and (-1, value) for the retraction of an earlier one. The pairs
    themselves are never retracted, so anything may be done with them.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["a"]) | ToChangelog() | Map(print)
    (1, 'a')
    """

    def __init__(self) -> None:
        super().__init__(None, DiffEach(), lambda kind: pair_type(int, kind))

    def default_label(self) -> str:
        return "ToChangelog"

    def evolved(self, output: Any) -> Any:
        return attrs.evolve(output, changing=False, retraction_lateness=0)


def require_collection(pcoll: Any) -> None:
    """Refuse what is not a collection.

    Raises:
        PipelineError: a transform was applied to something else, such as the pipeline itself.
    """
    if not isinstance(pcoll, PCollection):
        raise PipelineError(
            f"the input is not a collection but {shorten(pcoll)}",
            remedy="apply a source to the pipeline first, such as p | hr.Create(values)",
        )


def _check_memory(dofn: DoFn) -> None:
    """Refuse a DoFn that remembers elements until the end of a bundle, but not whether they are retracted."""
    finishes = type(dofn).finish_bundle is not DoFn.finish_bundle
    if finishes and not asks_for(dofn.process, DoFn.DiffParam):
        raise PipelineError(
            f"the collection can hold retractions, and {dofn.default_label()} gives out at the end of a "
            "bundle what it has collected, without a look at the diffs",
            remedy="put hr.ToChangelog() in front of it, or let process ask for DoFn.DiffParam",
        )


def _stamped_surely(kind: Any) -> Any:
    """Let a function that returns times fail itself where it returns something else."""
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
                f"{argument!r} is given as an argument, but side inputs are not supported",
                remedy="bring the two together by key, with CoGroupByKey or a join",
            )
