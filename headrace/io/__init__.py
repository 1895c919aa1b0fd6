"""Sources and sinks."""

from headrace.sdk.io.sink import Sink, SinkBatch
from headrace.sdk.io.source import Batch, BoundedSource, UnboundedSource
from headrace.sdk.reading import Read
from headrace.sdk.writing import Write

__all__ = ["Batch", "BoundedSource", "Read", "Sink", "SinkBatch", "UnboundedSource", "Write"]
