"""Several collections as one, one as several, and one spread anew over the workers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.graph import MAIN
from headrace.sdk.graph import Flatten as FlattenNode
from headrace.sdk.graph import Reshuffle as ReshuffleNode
from headrace.sdk.pardo import FlatMap, require_collection
from headrace.sdk.pvalue import DoOutputsTuple, PBegin, PCollection, TaggedOutput
from headrace.sdk.reading import Create
from headrace.sdk.transform import PTransform, callable_label


class Flatten(PTransform[Any, Any]):
    """Puts several collections together: ``(one, other) | Flatten()``.

    Args:
        pipeline: the pipeline, which is needed only if there are no collections at all.

    >>> with Pipeline() as p:
    ...     one = p | "One" >> Create(["a"])
    ...     other = p | "Other" >> Create(["b"])
    ...     _ = (one, other) | Flatten() | Map(print)
    a
    b
    """

    def __init__(self, pipeline: Any = None) -> None:
        super().__init__()
        self.pipeline = pipeline

    def expand(self, pcoll: Any) -> PCollection[Any]:
        if isinstance(pcoll, PCollection):
            pcoll = (pcoll,)
        pcolls = list(pcoll)
        if not pcolls and self.pipeline is not None:
            empty: PCollection[Any] = PBegin(self.pipeline) | Create([])
            return empty
        for each in pcolls:
            require_collection(each)
        _check_windowing(pcolls)
        return flatten_node(pcolls)


def flatten_node(pcolls: Sequence[PCollection[Any]]) -> PCollection[Any]:
    """Add a node that puts collections together, with the windowing of the first."""
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


def _check_windowing(pcolls: Sequence[PCollection[Any]]) -> None:
    first = pcolls[0]
    for other in pcolls[1:]:
        if other.windowing.window_fn != first.windowing.window_fn:
            raise PipelineError(
                f"{first!r} has the windows of {first.windowing.window_fn!r}, and {other!r} those of "
                f"{other.windowing.window_fn!r}",
                remedy="window both alike with hr.WindowInto before they are put together",
            )
        if other.windowing != first.windowing:
            warnings.warn(
                f"{first!r} and {other!r} are put together, but they differ in trigger, accumulation "
                "mode, lateness or timestamps; those of the first are taken",
                stacklevel=2,
            )


class Partition(PTransform[Any, Any]):
    """Divides a collection into so many, by the number that a function returns for each element.

    Args:
        fn: a function of the element, the number of parts, and ``args`` and ``kwargs``; or a
            :class:`PartitionFn`.
        n: the number of parts.
        args: further arguments.
        kwargs: further arguments by name.

    >>> with Pipeline() as p:
    ...     even, odd = p | Create([1, 2, 3]) | Partition(lambda x, n: x % n, 2)
    ...     _ = odd | Map(print)
    1
    3
    """

    def __init__(
        self, fn: PartitionFn | Callable[..., int], n: int, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__()
        self._fn = fn.partition_for if isinstance(fn, PartitionFn) else fn
        self._label_of_fn = callable_label(fn)
        self._parts = n
        self._args = args
        self._kwargs = kwargs

    def default_label(self) -> str:
        return f"Partition({self._label_of_fn})"

    def expand(self, pcoll: Any) -> DoOutputsTuple:
        tags = map(str, range(self._parts))
        choose = _Choose(self._fn, self._parts, self._args, self._kwargs)
        parts: DoOutputsTuple = pcoll | "Choose" >> FlatMap(choose).with_outputs(*tags)
        return parts


class PartitionFn:
    """Chooses the part of a :class:`Partition` that an element goes into; subclass it.

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
        """Return the name of a Partition by this."""
        return type(self).__name__


@attrs.frozen
class _Choose:
    """Tags an element with the number of its part."""

    fn: Callable[..., Any]
    parts: int
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, element: Any) -> tuple[TaggedOutput]:
        part = self.fn(element, self.parts, *self.args, **self.kwargs)
        numbered = isinstance(part, Integral) and not isinstance(part, bool)
        if not (numbered and 0 <= part < self.parts):
            raise ElementError(
                f"the element {shorten(element)} is put into part {part!r} of {self.parts}",
                remedy=f"return an int from 0 to {self.parts - 1}",
            )
        return (TaggedOutput(str(part), element),)


class Reshuffle(PTransform[Any, Any]):
    """Spreads the elements anew over the workers, and changes nothing else.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2]) | Reshuffle() | Map(print)
    1
    2
    """

    def __init__(self, num_buckets: int | None = None) -> None:
        super().__init__()
        self.num_buckets = num_buckets

    def expand(self, pcoll: Any) -> PCollection[Any]:
        require_collection(pcoll)
        pipeline = pcoll.pipeline
        output = attrs.evolve(
            pcoll.collection, node=pipeline.scope, tag=MAIN, element_type=pcoll.element_type
        )
        pipeline.add(ReshuffleNode(pipeline.scope, (pcoll.collection,), (output,)))
        return PCollection(pipeline, output)
