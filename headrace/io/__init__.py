"""Sources and sinks."""

from headrace.sdk.io.sink import Commit, PartSink, Sink, SinkBatch, SinkPart
from headrace.sdk.io.source import Batch, BoundedSource, UnboundedSource
from headrace.sdk.io.table.sink import WriteToTable
from headrace.sdk.reading import Read
from headrace.sdk.writing import Write

__all__ = [
    "Batch",
    "BoundedSource",
    "Commit",
    "PartSink",
    "Read",
    "Sink",
    "SinkBatch",
    "SinkPart",
    "UnboundedSource",
    "Write",
    "WriteToTable",
]
