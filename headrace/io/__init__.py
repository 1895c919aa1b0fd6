"""Sources and sinks."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.io import fileio, filesystem, filesystems
from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.io.console import Console
from headrace.sdk.io.csv_files import CsvFiles
from headrace.sdk.io.file_naming import FileNaming
from headrace.sdk.io.file_sink import FileSink
from headrace.sdk.io.file_source import FileSource
from headrace.sdk.io.foreach_batch import ForeachBatch
from headrace.sdk.io.json_files import JsonFiles
from headrace.sdk.io.line_sinks import CsvSink, JsonSink, TextSink
from headrace.sdk.io.matching_files import (
    EmptyMatchTreatment,
    MatchAll,
    MatchFiles,
    ReadableFile,
    ReadMatches,
)
from headrace.sdk.io.parquet_files import ParquetFiles
from headrace.sdk.io.parquet_sink import ParquetSink
from headrace.sdk.io.read_from_files import (
    ReadFromCsv,
    ReadFromJson,
    ReadFromParquet,
    ReadFromText,
)
from headrace.sdk.io.read_from_spark import FromDataFrame, ReadFromSpark
from headrace.sdk.io.table.sink import WriteToTable
from headrace.sdk.io.text_files import TextFiles
from headrace.sdk.io.to_dataframe import ToDataFrame
from headrace.sdk.io.watched_files import WatchedFiles
from headrace.sdk.io.write_to_files import (
    WriteToConsole,
    WriteToCsv,
    WriteToJson,
    WriteToParquet,
    WriteToText,
)
from headrace.sdk.reading import Read
from headrace.sdk.sink import Commit, PartSink, Sink, SinkBatch, SinkPart
from headrace.sdk.source import (
    Batch,
    BoundedSource,
    LatestOffset,
    ReadsBundles,
    ReadsClock,
    UnboundedSource,
)
from headrace.sdk.writing import Write

__all__ = [
    "Batch",
    "BoundedSource",
    "Commit",
    "Console",
    "CsvFiles",
    "CsvSink",
    "EmptyMatchTreatment",
    "FileNaming",
    "FileSink",
    "FileSource",
    "ForeachBatch",
    "FromDataFrame",
    "JsonFiles",
    "JsonSink",
    "LatestOffset",
    "MatchAll",
    "MatchFiles",
    "ParquetFiles",
    "ParquetSink",
    "PartSink",
    "Read",
    "ReadFromCsv",
    "ReadFromJson",
    "ReadFromParquet",
    "ReadFromSpark",
    "ReadFromText",
    "ReadMatches",
    "ReadableFile",
    "ReadsBundles",
    "ReadsClock",
    "Sink",
    "SinkBatch",
    "SinkPart",
    "TextFiles",
    "TextSink",
    "ToDataFrame",
    "UnboundedSource",
    "WatchedFiles",
    "Write",
    "WriteToConsole",
    "WriteToCsv",
    "WriteToJson",
    "WriteToParquet",
    "WriteToTable",
    "WriteToText",
    "fileio",
    "filesystem",
    "filesystems",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
