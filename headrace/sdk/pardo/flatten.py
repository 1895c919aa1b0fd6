"""Flatten, Partition and Reshuffle: merge, divide and redistribute collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Concatenate, Generic, overload

import attrs

from headrace.errors import ElementError, PipelineError, shorten, warn
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.type_variables import InT, Rest, T
from headrace.sdk.pardo.arity import check_arity
from headrace.sdk.pardo.pardo_node import Each
from headrace.sdk.pipelines.elementwise import FlatMapEach, Function
from headrace.sdk.pipelines.graph import MAIN, Flatten as FlattenNode, Reshuffle as ReshuffleNode
from headrace.sdk.pipelines.pvalue import (
    DoOutputsTuple,
    PBegin,
    PCollection,
    PipelineBuilder,
    require_collection,
)
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create
from headrace.sdk.typehints.element_types import item_type
from headrace.sdk.typehints.labels import callable_label


class Flatten(PTransform[Any, Any]):
    """Merges several collections into one: ``(one, other) | Flatten()``.

    Args:
        pipeline: the pipeline, required only if there are no collections.

    >>> with Pipeline() as p:
    ...     one = p | "One" >> Create(["a"])
    ...     other = p | "Other" >> Create(["b"])
    ...     _ = (one, other) | Flatten() | Map(print)
    a
    b
    """

    takes_several = True

    def __init__(self, pipeline: PipelineBuilder | None = None) -> None:
        super().__init__()
        self.pipeline = pipeline

    if TYPE_CHECKING:

        def __ror__(  # type: ignore[override]  # the same, where `expand` is generic
            self, left: Iterable[PCollection[T]]
        ) -> PCollection[T]: ...

    def expand(self, pcoll: PCollection[T] | Iterable[PCollection[T]]) -> PCollection[T]:
        pcolls = [pcoll] if isinstance(pcoll, PCollection) else list(pcoll)
        if not pcolls and self.pipeline is not None:
            return PBegin(self.pipeline) | Create[T]([])
        for each in pcolls:
            require_collection(each)
        _check_windowing(pcolls)
        return flatten_node(pcolls)


class FlattenWith(PTransform[PCollection[InT], PCollection[InT]], Generic[InT]):
    """Merges its input with other collections, within a chain of transforms.

    Args:
        others: collections, or transforms that read a source.

    >>> with Pipeline() as p:
    ...     one = p | "One" >> Create(["a"])
    ...     other = p | "Other" >> Create(["b"])
    ...     _ = one | FlattenWith(other) | Map(str.upper) | "Show" >> Map(print)
    A
    B
    """

    def __init__(self, *others: PCollection[InT] | PTransform[Any, PCollection[InT]]) -> None:
        super().__init__()
        for other in others:
            if not isinstance(other, (PCollection, PTransform)):
                raise TypeError(
                    f"FlattenWith needs collections or transforms, not {shorten(other)}"
                )
        self._others = others

    def expand(self, pcoll: PCollection[InT]) -> PCollection[InT]:
        require_collection(pcoll)
        begin = PBegin(pcoll.pipeline)
        read = [begin | other if isinstance(other, PTransform) else other for other in self._others]
        merged: PCollection[InT] = (pcoll, *read) | Flatten()
        return merged


def flatten_node(pcolls: Sequence[PCollection[object]]) -> PCollection[Any]:
    """Add a node that merges collections, with the windowing of the first one."""
    pipeline = pcolls[0].pipeline
    sources = [pcoll.collection for pcoll in pcolls]
    types = {pcoll.element_type for pcoll in pcolls}
    output = attrs.evolve(
        sources[0],
        node=pipeline.scope,
        tag=MAIN,
        bounded=all(source.bounded for source in sources),
        changing=any(source.changing for source in sources),
        accumulated=any(source.accumulated for source in sources),
        retraction_lateness=max(source.retraction_lateness for source in sources),
        element_type=types.pop() if len(types) == 1 else Any,
    )
    pipeline.add(FlattenNode(pipeline.scope, tuple(sources), (output,)))
    return PCollection(pipeline, output)


def _check_windowing(pcolls: Sequence[PCollection[object]]) -> None:
    first = pcolls[0]
    for other in pcolls[1:]:
        if other.windowing.window_fn != first.windowing.window_fn:
            raise PipelineError(
                f"{first!r} has the windows of {first.windowing.window_fn!r}, but {other!r} the windows of "
                f"{other.windowing.window_fn!r}",
                remedy="apply the same hr.WindowInto to both collections before Flatten",
            )
        if other.windowing != first.windowing:
            warn(
                f"{first!r} and {other!r} are flattened, but they differ in trigger, accumulation mode, "
                "lateness or timestamp combiner; the strategy of the first applies"
            )


class Partition(PTransform[PCollection[InT], DoOutputsTuple[InT]], Generic[InT]):
    """Divides a collection into N collections, by the number that a function returns for each element.

    Args:
        fn: a function of the element, the number of parts, and ``args`` and ``kwargs``; or a
            :class:`PartitionFn`.
        n: the number of parts.
        args: additional arguments.
        kwargs: additional arguments by name.

    >>> with Pipeline() as p:
    ...     even, odd = p | Create([1, 2, 3]) | Partition(lambda x, n: x % n, 2)
    ...     _ = odd | Map(print)
    1
    3
    """

    @overload
    def __init__(self, fn: PartitionFn, n: int, *args: Any, **kwargs: Any) -> None: ...
    @overload
    def __init__(self, fn: Callable[[InT, int], int], n: int) -> None: ...
    @overload
    def __init__(
        self,
        fn: Callable[Concatenate[InT, int, Rest], int],
        n: int,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> None: ...
    def __init__(self, fn: Any, n: int, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._fn = fn.partition_for if isinstance(fn, PartitionFn) else fn
        self._label_of_fn = callable_label(fn)
        self._parts = n
        self._args = args
        self._kwargs = kwargs
        check_arity("Partition", self._fn, None, (n, *args), kwargs)

    def default_label(self) -> str:
        return f"Partition({self._label_of_fn})"

    def expand(self, pcoll: PCollection[InT]) -> DoOutputsTuple[InT]:
        tags = tuple(map(str, range(self._parts)))
        choose = _Choose(self._fn, self._parts, self._args, self._kwargs)
        chosen = pcoll | "Choose" >> Each(FlatMapEach(Function(choose)), item_type(choose), tags)
        return DoOutputsTuple(pcoll.pipeline, chosen.collection.node, tags, None, dynamic=False)


class PartitionFn:
    """Chooses the part of a :class:`Partition` for an element; subclass it.

    >>> class ByParity(PartitionFn):
    ...     def partition_for(self, element, num_partitions):
    ...         return element % num_partitions
    >>> ByParity().partition_for(3, 2)
    1
    """

    def partition_for(self, element: Any, num_partitions: int, *args: Any, **kwargs: Any) -> int:
        """Return the number of the part, from 0."""
        raise NotImplementedError(f"{type(self).__name__} does not define partition_for")

    def default_label(self) -> str:
        """Return the name of this function in labels of transforms."""
        return type(self).__name__


@attrs.frozen
class _Choose:
    """Tags an element with the number of its part."""

    fn: Callable[..., Any]
    parts: int
    args: tuple[Any, ...]
    kwargs: Mapping[str, object]

    def __call__(self, element: Any) -> tuple[TaggedOutput]:
        part = self.fn(element, self.parts, *self.args, **self.kwargs)
        numbered = isinstance(part, Integral) and not isinstance(part, bool)
        if not (numbered and 0 <= part < self.parts):
            raise ElementError(
                f"the partition function returned {part!r} for the element {shorten(element)}, which is "
                f"not one of {self.parts} parts",
                remedy=f"return an int from 0 to {self.parts - 1}",
            )
        return (TaggedOutput(str(part), element),)


class Reshuffle(PTransform[Any, Any]):
    """Redistributes the elements over the workers, without changing them.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2]) | Reshuffle() | Map(print)
    1
    2
    """

    def __init__(self, num_buckets: int | None = None) -> None:
        super().__init__()
        self.num_buckets = num_buckets

    def expand(self, pcoll: PCollection[T]) -> PCollection[T]:
        require_collection(pcoll)
        return reshuffle_node(pcoll)


def reshuffle_node(pcoll: PCollection[object]) -> PCollection[Any]:
    """Add a node that redistributes the elements of a collection."""
    pipeline = pcoll.pipeline
    output = attrs.evolve(
        pcoll.collection, node=pipeline.scope, tag=MAIN, element_type=pcoll.element_type
    )
    pipeline.add(ReshuffleNode(pipeline.scope, (pcoll.collection,), (output,)))
    return PCollection(pipeline, output)
