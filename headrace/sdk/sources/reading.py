"""Read, and sources of values in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Protocol, overload, runtime_checkable

import attrs

from headrace.errors import PipelineError, TimeError, shorten
from headrace.sdk.elements.type_variables import UNKNOWN_TYPE, KeyT, OutT, TypeHint, ValueT
from headrace.sdk.pipelines.graph import MAIN, Collection, Read as ReadNode, Source
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.source import BoundedSource, UnboundedSource
from headrace.sdk.typehints.element_types import type_of
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.watermarks.policies import WatermarkPolicy


@runtime_checkable
class OffersSource(Protocol):
    """What ``Read`` also accepts: a source in another form, such as Beam's."""

    def as_source(self) -> BoundedSource[Any]:
        """Return a source of Headrace that reads this one."""


class Read(PTransform[PBegin, PCollection[OutT]], Generic[OutT]):
    """Reads a source.

    Args:
        source: a :class:`~headrace.io.BoundedSource` or :class:`~headrace.io.UnboundedSource`; or a bounded
            source of Beam (:mod:`headrace.io.iobase`).
        watermark: the watermark policy in streaming mode, such as ``BoundedOutOfOrderness(60)``; by
            default the watermark that the source reports.

    >>> class Numbers(BoundedSource):
    ...     def read(self, partition):
    ...         return range(3)
    >>> with Pipeline() as p:
    ...     _ = p | Read(Numbers()) | Map(print)
    0
    1
    2
    """

    def __init__(
        self,
        source: BoundedSource[OutT] | UnboundedSource[OutT] | OffersSource,
        watermark: WatermarkPolicy | None = None,
    ) -> None:
        super().__init__()
        self._name = type(source).__name__
        if isinstance(source, OffersSource):
            source = source.as_source()
        if not isinstance(source, (BoundedSource, UnboundedSource)):
            raise TypeError(f"Read needs a BoundedSource or UnboundedSource, not {shorten(source)}")
        self._source = source
        self._watermark = watermark

    def default_label(self) -> str:
        return f"Read({self._name})"

    def expand(self, pcoll: PBegin) -> PCollection[OutT]:
        bounded = isinstance(self._source, BoundedSource)
        return read_node(
            pcoll, self._source, bounded, watermark=self._watermark, element_type=self.output_type
        )


@attrs.frozen(eq=False)
class ValuesSource(BoundedSource[object]):
    """A source of values in memory."""

    values: tuple[object, ...]

    def read(self, partition: object) -> Iterable[object]:
        return self.values


class Create(PTransform[PBegin, PCollection[OutT]], Generic[OutT]):
    """Creates a collection from values in memory.

    Args:
        values: the elements, optionally with timestamps (TimestampedValue); for a dict, its items.
        reshuffle: has no effect: elements are always distributed over workers.

    The type of the elements is known if all have the same type. All elements are looked at, with the items of
    tuples and the fields of rows; of more than 1,000 lists, sets or dicts, the items of a sample of 1,000.

    >>> with Pipeline() as p:
    ...     _ = p | Create({"a": 1, "b": 2}) | Map(print)
    ('a', 1)
    ('b', 2)
    """

    @overload
    def __init__(
        self: Create[tuple[KeyT, ValueT]], values: dict[KeyT, ValueT], reshuffle: bool = True
    ) -> None: ...
    @overload
    def __init__(
        self, values: Iterable[TimestampedValue[OutT]], reshuffle: bool = True
    ) -> None: ...
    @overload
    def __init__(self, values: Iterable[OutT], reshuffle: bool = True) -> None: ...
    def __init__(self, values: Iterable[Any], reshuffle: bool = True) -> None:
        super().__init__()
        warn_of_ignored("Create", reshuffle=reshuffle)
        if isinstance(values, (str, bytes)):
            raise TypeError(f"Create needs an iterable of elements, not the string {values!r}")
        self._values = tuple(values.items() if isinstance(values, dict) else values)
        kinds = set(map(type, self._values))
        self._has_times = any(issubclass(kind, TimestampedValue) for kind in kinds)

    def expand(self, pcoll: PBegin) -> PCollection[OutT]:
        kind = self.infer_output_type(None)
        output = read_node(pcoll, ValuesSource(self._values), bounded=True, element_type=kind)
        if self._has_times:
            _check_times(self._values, output.producer)
        return output

    def infer_output_type(self, input_type: object) -> TypeHint:
        """Return the declared type of the elements, or their common type."""
        values = _plain(self._values) if self._has_times else self._values
        return self.output_type or type_of(values)


class Impulse(PTransform[PBegin, PCollection[bytes]]):
    """Creates a collection of one element, ``b""``, at the beginning of time.

    >>> with Pipeline() as p:
    ...     _ = p | Impulse() | Map(print)
    b''
    """

    def expand(self, pcoll: PBegin) -> PCollection[bytes]:
        return read_node(pcoll, ValuesSource((b"",)), bounded=True, element_type=bytes)


def read_node(
    begin: object,
    source: Source,
    bounded: bool,
    watermark: WatermarkPolicy | None = None,
    element_type: TypeHint | None = None,
    windowing: WindowingStrategy | None = None,
) -> PCollection[Any]:
    """Add a node that reads a source, and return its output.

    Args:
        begin: the beginning of a pipeline.
        source: the source.
        bounded: whether it is bounded.
        watermark: the watermark policy, if any.
        element_type: the known type of its elements.
        windowing: windowing strategy of the output, with the global window.
    """
    if not isinstance(begin, PBegin):
        raise PipelineError(
            f"a source is applied to {shorten(begin)}", remedy="apply it to the pipeline"
        )
    pipeline = begin.pipeline
    output = Collection(
        node=pipeline.scope,
        tag=MAIN,
        windowing=windowing or WindowingStrategy(),
        bounded=bounded,
        element_type=UNKNOWN_TYPE if element_type is None else element_type,
    )
    pipeline.add(ReadNode(pipeline.scope, (), (output,), source, watermark))
    return PCollection(pipeline, output)


def _check_times(values: tuple[object, ...], label: str) -> None:
    for value in values:
        if isinstance(value, TimestampedValue):
            try:
                value.micros  # noqa: B018  # converts the given time
            except TimeError as error:
                error.where = f"{label}, element {shorten(value.value)}"
                raise


def _plain(values: tuple[object, ...]) -> tuple[object, ...]:
    """Return values without their timestamps."""
    return tuple(v.value if isinstance(v, TimestampedValue) else v for v in values)


def created_values(pcoll: PCollection[Any]) -> tuple[object, ...] | None:
    """Return the elements of the Create that a collection comes from; None if it comes from another step."""
    node = pcoll.pipeline.graph.node(pcoll.collection.node)
    if isinstance(node, ReadNode) and isinstance(node.source, ValuesSource):
        return node.source.values
    return None
