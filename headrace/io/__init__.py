"""Sources and sinks."""

from headrace.sdk.io.csv_files import CsvFiles
from headrace.sdk.io.file_source import FileSource
from headrace.sdk.io.json_files import JsonFiles
from headrace.sdk.io.parquet_files import ParquetFiles
from headrace.sdk.io.read_from_files import (
    ReadFromCsv,
    ReadFromJson,
    ReadFromParquet,
    ReadFromText,
)
from headrace.sdk.io.sink import Commit, PartSink, Sink, SinkBatch, SinkPart
from headrace.sdk.io.source import Batch, BoundedSource, ReadsBundles, UnboundedSource
from headrace.sdk.io.text_files import TextFiles
from headrace.sdk.io.watched_files import WatchedFiles
from headrace.sdk.reading import Read
from headrace.sdk.writing import Write

__all__ = [
    "Batch",
    "BoundedSource",
    "Commit",
    "CsvFiles",
    "FileSource",
    "JsonFiles",
    "ParquetFiles",
    "PartSink",
    "Read",
    "ReadFromCsv",
    "ReadFromJson",
    "ReadFromParquet",
    "ReadFromText",
    "ReadsBundles",
    "Sink",
    "SinkBatch",
    "SinkPart",
    "TextFiles",
    "UnboundedSource",
    "WatchedFiles",
    "Write",
]
