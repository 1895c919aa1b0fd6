"""How a pipeline runs: in one go or as a stream, as its sources and options say, and how much at once."""

from __future__ import annotations

from headrace.errors import PipelineError
from headrace.sdk.graph import Graph, Read
from headrace.sdk.io.source import UnboundedSource
from headrace.sdk.io.test_stream import TestStream
from headrace.sdk.options import PipelineOptions, StandardOptions


def is_unbounded(graph: Graph) -> bool:
    """Tell whether a source need not end."""
    return _reads_from(graph, UnboundedSource)


def has_test_stream(graph: Graph) -> bool:
    """Tell whether a source is a test stream, by whose clock the whole pipeline goes."""
    return _reads_from(graph, TestStream)


def is_streaming(graph: Graph, options: PipelineOptions) -> bool:
    """Tell whether a pipeline is to stream: told so, or since a source cannot be read in one go."""
    told = bool(options.view_as(StandardOptions).streaming)
    return told or is_unbounded(graph) or has_test_stream(graph)


def records_at_once(options: PipelineOptions) -> int:
    """Return how many records of a partition a streaming round takes at most.

    Raises:
        PipelineError: it takes none.
    """
    limit: int = options.view_as(StandardOptions).max_records_per_batch
    if limit < 1:
        raise PipelineError(
            f"--max_records_per_batch is {limit}, so that nothing could ever be read",
            remedy="set it to 1 or more, or leave it out",
        )
    return limit


def _reads_from(graph: Graph, kind: type) -> bool:
    return any(isinstance(node, Read) and isinstance(node.source, kind) for node in graph)
