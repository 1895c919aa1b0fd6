"""Sinks in Beam's form: workers open writers, and the process of the pipeline finalizes the write.

``Write`` accepts them beside Headrace's own, which :mod:`headrace.sdk.sources.sink` has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

import attrs

from headrace.errors import PipelineError, UnsupportedError
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.groups.group_by_key import GroupByKey
from headrace.sdk.groups.window_into import WindowInto
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.flatten import Flatten
from headrace.sdk.pardo.pardo_node import each
from headrace.sdk.pardo.side_inputs import AsSingleton
from headrace.sdk.pardo.transforms import FlatMap, Map, ParDo
from headrace.sdk.pipelines.graph import Write as WriteNode
from headrace.sdk.pipelines.pvalue import PBegin, PCollection, PDone
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create
from headrace.sdk.sources.sink import Sink as OwnSink, SinkBatch
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.windowing.window import GLOBAL_WINDOW
from headrace.windowing.windows import GlobalWindows


class Writer:
    """Writes elements of a sink of Beam; subclass it."""

    @abstractmethod
    def write(self, value: Any) -> None:
        """Write an element."""

    @abstractmethod
    def close(self) -> Any:
        """Finish, and return what the sink needs to know of what was written, as plain data."""

    def at_capacity(self) -> bool:
        """Return whether the next element needs another writer."""
        return False


class Sink(HasDisplayData):
    """A sink of Beam; subclass it. It writes bounded collections in batch mode.

    ``finalize_write`` is called once, in the process that runs the pipeline, after all writers have closed.
    It gets the results of the writers that count; a worker that fails can leave behind what its writer has
    written. New sinks are shorter as :class:`headrace.io.Sink`, which streams can use, too.

    >>> from headrace.io.iobase import Sink, Writer
    >>> class Lines(Writer):
    ...     def __init__(self):
    ...         self.lines = []
    ...
    ...     def write(self, value):
    ...         self.lines.append(value)
    ...
    ...     def close(self):
    ...         return self.lines
    >>> class Printer(Sink):
    ...     def initialize_write(self):
    ...         return "lines"
    ...
    ...     def open_writer(self, init_result, uid):
    ...         return Lines()
    ...
    ...     def finalize_write(self, init_result, writer_results, pre_finalize_result):
    ...         print(init_result, list(writer_results))
    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b"]) | hr.io.Write(Printer())
    lines [['a', 'b']]
    """

    @abstractmethod
    def initialize_write(self) -> Any:
        """Prepare, before any writer is opened; return plain data for the writers."""

    @abstractmethod
    def open_writer(self, init_result: Any, uid: str) -> Writer:
        """Return a writer, on a worker.

        Args:
            init_result: the result of :meth:`initialize_write`.
            uid: a name that no other writer has.
        """

    def pre_finalize(self, init_result: Any, writer_results: list[Any]) -> Any:
        """Prepare the end; return something for :meth:`finalize_write`."""
        return None

    @abstractmethod
    def finalize_write(
        self, init_result: Any, writer_results: list[Any], pre_finalize_result: Any
    ) -> Any:
        """Make visible what was written.

        Args:
            init_result: the result of :meth:`initialize_write`.
            writer_results: the results of ``Writer.close``.
            pre_finalize_result: the result of :meth:`pre_finalize`.
        """

    def as_transform(self) -> PTransform[PCollection[Any], PDone]:
        """Return the transform that writes a collection to this sink; ``Write`` applies it."""
        return _WriteWith(self)


class _WriteWith(PTransform[PCollection[Any], PDone]):
    """Writes a collection with a sink of Beam."""

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink

    def expand(self, pcoll: PCollection[object]) -> PDone:
        return write_with(self._sink, pcoll)


def write_with(sink: Sink, pcoll: PCollection[object]) -> PDone:
    """Write a collection with a sink of Beam.

    Args:
        sink: the sink.
        pcoll: a bounded collection.

    Raises:
        UnsupportedError: the collection is not bounded.
        PipelineError: the collection can contain retractions.
    """
    name = type(sink).__name__
    if not pcoll.collection.bounded:
        raise UnsupportedError(
            f"{name} is a sink of Beam, and writes bounded collections only: it is finalized once",
            remedy="write an hr.io.Sink, which gets one batch after the other; or use hr.io.WriteToText and "
            "the like",
        )
    if pcoll.collection.changing:
        raise PipelineError(
            f"the collection can contain retractions, but {name} does not accept them",
            remedy=OwnSink.retraction_remedy,
        )
    begin = PBegin(pcoll.pipeline)
    started = begin | "Start" >> Create([None]) | "Initialize" >> Map(_Initialize(sink))
    elements = pcoll | "Window" >> WindowInto(GlobalWindows())
    written = elements | "Write" >> _writing(sink, started)
    marks = started | "Mark" >> each(_mark)
    outcomes = (marks, written) | "Outcomes" >> Flatten()
    done: PDone = outcomes | "Finalize" >> _Finalize(_Finalizer(sink))
    return done


def _writing(sink: Sink, started: PCollection[object]) -> PTransform[Any, Any]:
    shards = getattr(sink, "num_shards", 0)
    if shards:
        return _WriteShards(sink, shards, started)
    return ParDo(_WriteBundle(sink), AsSingleton(started))


@attrs.frozen
class _Initialize:
    """Calls ``initialize_write`` on a worker."""

    sink: Sink

    def __call__(self, element: None) -> Any:
        return self.sink.initialize_write()


class _WriteBundle(DoFn):
    """Writes a bundle, and emits a pair of the initial result and the writer's result for each writer."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._writer: Writer | None = None
        self._started: Any = None

    def default_label(self) -> str:
        return "WriteBundle"

    def start_bundle(self) -> None:
        self._writer = None

    def process(self, element: object, started: object) -> Iterator[Any]:
        if self._writer is None:
            self._started = started
            self._writer = self._sink.open_writer(started, uuid4().hex)
        self._writer.write(element)
        if self._writer.at_capacity():
            yield self._closed()

    def finish_bundle(self) -> Iterable[WindowedValue]:
        if self._writer is None:
            return []
        time = GLOBAL_WINDOW.max_timestamp()
        return [WindowedValue(self._closed(), time, (GLOBAL_WINDOW,))]

    def _closed(self) -> tuple[object, tuple[object]]:
        assert self._writer is not None
        result = self._started, (self._writer.close(),)
        self._writer = None
        return result


class _WriteShards(PTransform[PCollection[Any], PCollection[Any]]):
    """Writes a number of shards, each with one writer."""

    def __init__(self, sink: Sink, shards: int, started: PCollection[Any]) -> None:
        super().__init__()
        self._sink, self._shards, self._started = sink, shards, started

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        numbered = pcoll | "Shard" >> ParDo(_Shard(self._shards))
        write = FlatMap(_write_shard, self._sink, AsSingleton(self._started))
        written: PCollection[object] = numbered | "Group" >> GroupByKey() | "Write" >> write
        return written


class _Shard(DoFn):
    """Gives elements the numbers of shards in turn."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._next = 0

    def process(self, element: object) -> Iterator[Any]:
        yield self._next, element
        self._next = (self._next + 1) % self._shards


def _write_shard(shard: Any, sink: Sink, started: object) -> Iterator[Any]:
    writer = sink.open_writer(started, uuid4().hex)
    for element in shard[1]:
        writer.write(element)
    yield started, (writer.close(),)


def _mark(started: object) -> tuple[Any, tuple[()]]:
    """Return a pair without a writer's result, so that a write without elements is finalized, too."""
    return started, ()


class _Finalize(PTransform[PCollection[Any], PDone]):
    """Adds the node that finalizes the write."""

    def __init__(self, sink: _Finalizer) -> None:
        super().__init__()
        self._sink = sink

    def expand(self, pcoll: PCollection[object]) -> PDone:
        pipeline = pcoll.pipeline
        pipeline.add(
            WriteNode(pipeline.scope, (pcoll.collection,), (), self._sink, self._sink.delivery)
        )
        return PDone(pipeline)


@attrs.frozen(eq=False)
class _Finalizer(OwnSink):
    """Finalizes a write, given pairs of the initial result and the results of writers.

    Args:
        sink: the sink of Beam.
    """

    sink: Sink

    def write(self, batch: SinkBatch) -> None:
        """Finalize; a batch has the results of all writers.

        Raises:
            UnsupportedError: there can be more batches.
        """
        name = type(self.sink).__name__
        if batch.streaming:
            raise UnsupportedError(
                f"{name} is a sink of Beam, which is finalized once, but the pipeline runs in streaming mode",
                remedy="run it without --streaming and without unbounded sources, or write an hr.io.Sink",
            )
        pairs = batch.bundle.values
        started = pairs[-1][0]
        results = [result for _, closed in pairs for result in closed]
        prepared = self.sink.pre_finalize(started, results)
        for _ in self.sink.finalize_write(started, results, prepared) or ():
            pass  # a generator, as in Beam's file sinks
