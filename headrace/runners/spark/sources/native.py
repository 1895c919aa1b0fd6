"""Sources that Spark reads itself: a table from the class of a source to a DataFrame.

The driver creates the DataFrame, and the stages read its rows as Arrow columns on the workers. Values,
types and errors are the same on every runner, because Python parses the files: Spark lists them and reads
their bytes. Only lines of text, and Parquet columns in batch mode, come from Spark's readers, which split
large files.

==================  ===============================  =====================================================
source              batch mode                       streaming mode
==================  ===============================  =====================================================
BoundedFrame        the DataFrame; ``read``          refused
UnboundedFrame      (not used: implies streaming)    the DataFrame; ``readStream``
local files         not here: Python reads them      not here: Python reads them in rounds
                    on the workers                   (``data_source``)
files at URIs       ``text``, ``parquet``, else      ``text``, else ``binaryFile`` and Python's readers;
                    ``binaryFile`` and Python's      only with ``watch``
==================  ===============================  =====================================================
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import UnsupportedError
from headrace.grouping.bundle import Bundle
from headrace.runners.error_context import label_errors
from headrace.runners.plan.planning import Plan
from headrace.runners.spark.cluster.error_transport import unwrapping
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.files.file_systems import is_remote
from headrace.sdk.io.files.file_tables import bundles_from
from headrace.sdk.io.files.opening import LoadedFile
from headrace.sdk.io.formats.lines.text_files import TextFiles
from headrace.sdk.io.formats.parquet.parquet_files import ParquetFiles
from headrace.sdk.io.formats.parquet.parquet_tables import ParquetTables
from headrace.sdk.io.frames.frame_source import (
    ALL,
    BoundedFrame,
    FrameTables,
    GivenFrame,
    SourcePartition,
    UnboundedFrame,
)
from headrace.sdk.io.matching.watched_files import WatchedFiles
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.sources.scripted_stream import TestStream

_FILES: Final = ("avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml")

_BINARY_FILES: Final = "path string, modificationTime timestamp, length bigint, content binary"
"""The schema of Spark's format ``binaryFile``, which it requires in streaming mode."""

LIMITS: Final = {"kafka": "maxOffsetsPerTrigger", **dict.fromkeys(_FILES, "maxFilesPerTrigger")}
"""The option that limits the size of a source's batches, by format."""


@attrs.frozen
class NativeRead:
    """A source that Spark reads.

    Attributes:
        index: index of the Read in the graph.
        read: the Read.
        frame: its rows.
    """

    index: int
    read: Read
    frame: DataFrame


def is_native(source: object) -> bool:
    """Return whether Spark reads a source itself."""
    if isinstance(source, WatchedFiles):
        source = source.files
    if isinstance(source, FileSource):
        return any(map(is_remote, source.patterns))
    return isinstance(source, FrameTables)


def native_labels(plan: Plan) -> tuple[str, ...]:
    """Return the labels of the sources that Spark reads itself, sorted as in Spark's offset log."""
    reads = (node for node in plan.graph if isinstance(node, Read))
    return tuple(sorted(read.label for read in reads if is_native(read.source)))


def native_reads(
    plan: Plan, session: SparkSession, limit: int | None = None, without: Container[str] = ()
) -> tuple[NativeRead, ...]:
    """Return the sources of a plan that Spark reads itself, in order of their labels.

    Args:
        plan: the plan.
        session: the session that creates their DataFrames.
        limit: maximum number of records, or files, of each source per micro-batch; None in batch mode.
        without: labels of sources to leave out.

    Raises:
        UnsupportedError: a source cannot be combined with the others, or not with streaming mode.
    """
    indexes = {node.label: index for index, node in enumerate(plan.graph)}
    found = []
    for label in native_labels(plan):
        if label in without:
            continue
        read = plan.graph.nodes[indexes[label]]
        assert isinstance(read, Read)
        with label_errors(label), unwrapping():
            frame = _frame(read.source, session, limit)
        found.append(NativeRead(indexes[label], read, frame))
    if found and any(
        isinstance(node.source, TestStream) for node in plan.graph if isinstance(node, Read)
    ):
        raise UnsupportedError(
            "sources that Spark reads cannot be combined with a test stream, which has its own clock",
            where=found[0].read.label,
            remedy="use only test streams in the test",
        )
    return tuple(found)


def _frame(source: object, session: SparkSession, limit: int | None) -> DataFrame:
    if limit is None:
        return BATCH[kind_of(source)](source, session)
    if isinstance(source, (BoundedFrame, FileSource)):
        raise UnsupportedError(
            "a bounded source that Spark reads is not supported in streaming mode",
            remedy="make it unbounded (streaming=True, or watch=True for files), or run in batch mode",
        )
    return STREAM[kind_of(source)](source, session, limit)


def kind_of(source: object) -> type:
    """Return the class of sources whose DataFrames a source is read with."""
    files = source.files if isinstance(source, WatchedFiles) else source
    kinds = (BoundedFrame, UnboundedFrame, ParquetFiles, FileSource)
    if isinstance(files, TextFiles):
        return TextFiles if _by_lines(files) else FileSource
    if isinstance(files, ParquetTables):
        return FileSource
    return next(kind for kind in kinds if isinstance(files, kind))


def _by_lines(files: TextFiles) -> bool:
    """Return whether Spark reads the same lines: no header or coder, and compression that Hadoop supports."""
    return (
        files.strip_trailing_newlines
        and files.coder is None
        and not files.with_filename
        and not files.skip_header_lines
        and files.compression == "auto"
        and not any(
            end in pattern for pattern in files.patterns for end in (".xz", ".lzma", ".zst")
        )
    )


def _read(source: BoundedFrame, session: SparkSession) -> DataFrame:
    origin = source.origin
    if isinstance(origin, GivenFrame):
        return _selected(source, origin)
    reader = session.read.format(origin.format).options(**origin.options)
    return (reader if origin.schema is None else reader.schema(origin.schema)).load()


def _read_stream(source: UnboundedFrame, session: SparkSession, limit: int) -> DataFrame:
    origin = source.origin
    if isinstance(origin, GivenFrame):
        return _selected(source, origin)
    reader = session.readStream.format(origin.format).options(**origin.options)
    option = LIMITS.get(origin.format.lower(), "")
    if option and option.lower() not in {name.lower() for name in origin.options}:
        reader = reader.option(option, limit)
    return (reader if origin.schema is None else reader.schema(origin.schema)).load()


def _selected(source: FrameTables, origin: GivenFrame) -> DataFrame:
    frame: DataFrame = source.selected(origin.frame)
    return frame


def _bytes(source: FileSource, session: SparkSession) -> DataFrame:
    return session.read.format("binaryFile").load(list(source.patterns)).select("path", "content")


def _bytes_stream(source: WatchedFiles, session: SparkSession, limit: int) -> DataFrame:
    reader = session.readStream.format("binaryFile").schema(_BINARY_FILES)
    limited = reader.option("maxFilesPerTrigger", limit)
    return limited.load(_one(source)).select("path", "content")


def _lines(source: TextFiles, session: SparkSession) -> DataFrame:
    return session.read.text(list(source.patterns), lineSep="\n").select("value")


def _lines_stream(source: WatchedFiles, session: SparkSession, limit: int) -> DataFrame:
    reader = session.readStream.option("maxFilesPerTrigger", limit)
    return reader.text(_one(source), lineSep="\n").select("value")


def _one(source: WatchedFiles) -> str:
    if len(source.files.patterns) == 1:
        return source.files.patterns[0]
    raise UnsupportedError(
        "Spark can watch only one pattern per source",
        remedy="read each URI separately, and merge them with hr.Flatten()",
    )


def _columns(source: ParquetFiles, session: SparkSession) -> DataFrame:
    frame = session.read.parquet(*source.patterns)
    names, fields = source.column_names(), source.fields_read
    if fields and set(fields) <= set(frame.columns):
        names = tuple(fields)
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


def bundles_in(
    source: Any, batch: pa.RecordBatch, tables: bool = False
) -> Iterator[tuple[SourcePartition, Bundle]]:
    """Return the elements of some rows of a source's DataFrame, by source partition.

    Args:
        source: the source.
        batch: the rows.
        tables: whether the next steps work on columns.
    """
    if isinstance(source, FrameTables):
        yield from source.rows.divided(batch, tables)
        return
    files = source.files if isinstance(source, WatchedFiles) else source
    if batch.schema.names == ["path", "content"]:
        for path, content in zip(*batch.to_pydict().values(), strict=True):
            file = LoadedFile(path, content)
            yield from ((ALL, bundle) for bundle in bundles_from(files, file, tables=tables))
    elif tables:
        assert isinstance(files, ParquetFiles)
        yield ALL, files.table_bundle(pa.Table.from_batches([batch]))
    elif isinstance(files, TextFiles):
        yield ALL, files.bundle({"value": _stripped(batch.column(0).to_pylist())})
    else:
        yield ALL, files.bundle(batch.to_pydict())


def _stripped(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\r") for line in lines]
