"""Sources that Spark reads itself: a table from the class of a source to a DataFrame.

The driver makes the DataFrame, and a stage takes in its rows as Arrow columns, in the workers. What files
hold is what Python's own readers make of it, so that values, types and errors are those of every runner:
Spark lists the files and brings their bytes; but lines of text, and columns of Parquet in a batch, come
from Spark's readers, which cut large files into pieces.

==================  ===============================  =====================================================
source              in a batch                       in a query
==================  ===============================  =====================================================
BoundedFrame        the DataFrame; ``read``          refused
UnboundedFrame      (makes the run a query)          the DataFrame; ``readStream``
files of this       not here: Python reads them      not here: the feed reads them, so many records a
machine             in the workers                   round, in order of their times
files at URIs       ``text``, ``parquet``, else      ``text``, else ``binaryFile`` and Python's readers;
                    ``binaryFile`` and Python's      only while they are watched
==================  ===============================  =====================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import UnsupportedError
from headrace.runners.error_context import failing_in
from headrace.runners.planning import Plan
from headrace.runners.spark.cluster.error_transport import unwrapping
from headrace.sdk.graph import Read
from headrace.sdk.io.file_source import FileSource
from headrace.sdk.io.files import LoadedFile, is_remote
from headrace.sdk.io.frames import ALL, BoundedFrame, GivenFrame, SourcePartition, UnboundedFrame
from headrace.sdk.io.parquet_files import ParquetFiles
from headrace.sdk.io.test_stream import TestStream
from headrace.sdk.io.text_files import TextFiles
from headrace.sdk.io.watched_files import WatchedFiles
from headrace.triggers.bundle import Bundle

_FILES: Final = ("avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml")

LIMITS: Final = {"kafka": "maxOffsetsPerTrigger", **dict.fromkeys(_FILES, "maxFilesPerTrigger")}
"""The option by which a source takes in so much a batch, by format."""


@attrs.frozen
class NativeRead:
    """A source that Spark reads.

    Attributes:
        place: place of the Read in the graph.
        read: the Read.
        frame: its rows.
    """

    place: int
    read: Read
    frame: DataFrame


def is_native(source: object) -> bool:
    """Tell whether Spark reads a source itself."""
    if isinstance(source, WatchedFiles):
        source = source.files
    if isinstance(source, FileSource):
        return any(map(is_remote, source.patterns))
    return isinstance(source, (BoundedFrame, UnboundedFrame))


def native_labels(plan: Plan) -> tuple[str, ...]:
    """Return the labels of the sources that Spark reads itself, in the order in which it knows them."""
    reads = (node for node in plan.graph if isinstance(node, Read))
    return tuple(sorted(read.label for read in reads if is_native(read.source)))


def native_reads(
    plan: Plan, session: SparkSession, limit: int | None = None
) -> tuple[NativeRead, ...]:
    """Return the sources of a plan that Spark reads itself, in order of their labels.

    Args:
        plan: the plan.
        session: where their DataFrames are made.
        limit: at most so many records, or files, of each a batch of a query; None for a single batch.

    Raises:
        UnsupportedError: a source does not go with the others, or not with a query.
    """
    places = {node.label: place for place, node in enumerate(plan.graph)}
    found = []
    for label in native_labels(plan):
        read = plan.graph.nodes[places[label]]
        assert isinstance(read, Read)
        with failing_in(label), unwrapping():
            frame = _frame(read.source, session, limit)
        found.append(NativeRead(places[label], read, frame))
    if found and any(
        isinstance(node.source, TestStream) for node in plan.graph if isinstance(node, Read)
    ):
        raise UnsupportedError(
            "a test stream has a clock of its own, which sources that Spark reads do not go by",
            where=found[0].read.label,
            remedy="test the pipeline with test streams alone",
        )
    return tuple(found)


def _frame(source: Any, session: SparkSession, limit: int | None) -> DataFrame:
    if limit is None:
        return BATCH[_kind(source)](source, session)
    if isinstance(source, (BoundedFrame, FileSource)):
        raise UnsupportedError(
            "what ends and is read by Spark cannot be part of a streaming run",
            remedy="read it as a stream (streaming=True, or watch=True for files), or run in batch mode",
        )
    return STREAM[_kind(source)](source, session, limit)


def _kind(source: object) -> type:
    files = source.files if isinstance(source, WatchedFiles) else source
    kinds = (BoundedFrame, UnboundedFrame, ParquetFiles, FileSource)
    if isinstance(files, TextFiles):
        return TextFiles if _by_lines(files) else FileSource
    return next(kind for kind in kinds if isinstance(files, kind))


def _by_lines(files: TextFiles) -> bool:
    """Tell whether Spark's lines are ours: no file has a head, and Hadoop can decompress them all."""
    return (
        files.strip_trailing_newlines
        and not files.skip_header_lines
        and files.compression == "auto"
        and not any(".xz" in pattern for pattern in files.patterns)
    )


def _read(source: BoundedFrame, session: SparkSession) -> DataFrame:
    origin = source.origin
    if isinstance(origin, GivenFrame):
        return _given(origin)
    reader = session.read.format(origin.format).options(**origin.options)
    return (reader if origin.schema is None else reader.schema(origin.schema)).load()


def _read_stream(source: UnboundedFrame, session: SparkSession, limit: int) -> DataFrame:
    origin = source.origin
    if isinstance(origin, GivenFrame):
        return _given(origin)
    reader = session.readStream.format(origin.format).options(**origin.options)
    option = LIMITS.get(origin.format.lower(), "")
    if option and option.lower() not in {name.lower() for name in origin.options}:
        reader = reader.option(option, limit)
    return (reader if origin.schema is None else reader.schema(origin.schema)).load()


def _given(origin: GivenFrame) -> DataFrame:
    frame: DataFrame = origin.frame
    return frame


def _bytes(source: FileSource, session: SparkSession) -> DataFrame:
    return session.read.format("binaryFile").load(list(source.patterns)).select("path", "content")


def _bytes_stream(source: WatchedFiles, session: SparkSession, limit: int) -> DataFrame:
    reader = session.readStream.format("binaryFile").option("maxFilesPerTrigger", limit)
    return reader.load(_one(source)).select("path", "content")


def _lines(source: TextFiles, session: SparkSession) -> DataFrame:
    return session.read.text(list(source.patterns), lineSep="\n").select("value")


def _lines_stream(source: WatchedFiles, session: SparkSession, limit: int) -> DataFrame:
    reader = session.readStream.option("maxFilesPerTrigger", limit)
    return reader.text(_one(source), lineSep="\n").select("value")


def _one(source: WatchedFiles) -> str:
    if len(source.files.patterns) == 1:
        return source.files.patterns[0]
    raise UnsupportedError(
        "Spark watches one pattern at a time",
        remedy="read each URI on its own, and put hr.Flatten() behind them",
    )


def _columns(source: ParquetFiles, session: SparkSession) -> DataFrame:
    frame = session.read.parquet(*source.patterns)
    names = source.column_names()
    return frame if names is None else frame.select([f"`{name}`" for name in names])


BATCH: Final[Mapping[type, Callable[[Any, SparkSession], DataFrame]]] = {
    BoundedFrame: _read,
    TextFiles: _lines,
    ParquetFiles: _columns,
    FileSource: _bytes,
}

STREAM: Final[Mapping[type, Callable[[Any, SparkSession, int], DataFrame]]] = {
    UnboundedFrame: _read_stream,
    TextFiles: _lines_stream,
    ParquetFiles: _bytes_stream,
    FileSource: _bytes_stream,
}


def bundles_in(source: Any, batch: pa.RecordBatch) -> Iterator[tuple[SourcePartition, Bundle]]:
    """Return the elements in some rows of a source's DataFrame, by partition of the source."""
    if isinstance(source, (BoundedFrame, UnboundedFrame)):
        yield from source.rows.divided(batch)
        return
    files = source.files if isinstance(source, WatchedFiles) else source
    if batch.schema.names == ["path", "content"]:
        for path, content in zip(*batch.to_pydict().values(), strict=True):
            yield from ((ALL, bundle) for bundle in files.read_file(LoadedFile(path, content)))
    elif isinstance(files, TextFiles):
        yield ALL, files.bundle({"value": _stripped(batch.column(0).to_pylist())})
    else:
        yield ALL, files.bundle(batch.to_pydict())


def _stripped(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\r") for line in lines]
