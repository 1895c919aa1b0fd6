"""Read, and sources of values in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, overload

import attrs

from headrace.errors import PipelineError, TimeError, shorten
from headrace.sdk import iobase
from headrace.sdk.element_types import type_of
from headrace.sdk.graph import MAIN, Collection, Read as ReadNode
from headrace.sdk.pvalue import PBegin, PCollection
from headrace.sdk.source import BoundedSource, UnboundedSource
from headrace.sdk.transform import PTransform
from headrace.sdk.type_variables import KeyT, OutT, ValueT
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.timestamped_value import TimestampedValue


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
        source: BoundedSource[OutT] | UnboundedSource[OutT] | iobase.BoundedSource,
        watermark: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(source, iobase.BoundedSource):
            source = iobase.DividedSource(source)
        if not isinstance(source, (BoundedSource, UnboundedSource)):
            raise TypeError(f"Read needs a BoundedSource or UnboundedSource, not {shorten(source)}")
        self._source = source
        self._watermark = watermark

    def default_label(self) -> str:
        source = self._source
        origin = source.origin if isinstance(source, iobase.DividedSource) else source
        return f"Read({type(origin).__name__})"

    def expand(self, pcoll: PBegin) -> PCollection[OutT]:
        bounded = isinstance(self._source, BoundedSource)
        return read_node(
            pcoll, self._source, bounded, watermark=self._watermark, element_type=self.output_type
        )


@attrs.frozen(eq=False)
class Values(BoundedSource[Any]):
    """A source of values in memory."""

    values: tuple[Any, ...]

    def read(self, partition: Any) -> Iterable[Any]:
        return self.values


class Create(PTransform[PBegin, PCollection[OutT]], Generic[OutT]):
    """Creates a collection from values in memory.

    Args:
        values: the elements, optionally with timestamps (TimestampedValue); for a dict, its items.
        reshuffle: ignored; accepted for compatibility with Beam. Elements are always distributed over
            workers.

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
        if isinstance(values, (str, bytes)):
            raise TypeError(f"Create needs an iterable of elements, not the string {values!r}")
        self._values = tuple(values.items() if isinstance(values, dict) else values)

    def expand(self, pcoll: PBegin) -> PCollection[OutT]:
        kind = self.infer_output_type(None)
        output = read_node(pcoll, Values(self._values), bounded=True, element_type=kind)
        if self._has_times:
            _check_times(self._values, output.producer)
        return output

    @property
    def _has_times(self) -> bool:
        return any(issubclass(kind, TimestampedValue) for kind in set(map(type, self._values)))

    def infer_output_type(self, input_type: Any) -> Any:
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
        return read_node(pcoll, Values((b"",)), bounded=True, element_type=bytes)


def read_node(
    begin: object,
    source: Any,
    bounded: bool,
    watermark: Any = None,
    element_type: Any = None,
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
        element_type=Any if element_type is None else element_type,
    )
    pipeline.add(ReadNode(pipeline.scope, (), (output,), source, watermark))
    return PCollection(pipeline, output)


def _check_times(values: tuple[Any, ...], label: str) -> None:
    for value in values:
        if isinstance(value, TimestampedValue):
            try:
                value.micros  # noqa: B018  # converts the given time
            except TimeError as error:
                error.where = f"{label}, element {shorten(value.value)}"
                raise


def _plain(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return values without their timestamps."""
    return tuple(v.value if isinstance(v, TimestampedValue) else v for v in values)
