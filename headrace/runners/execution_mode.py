"""Batch or streaming mode, from the sources and options of a pipeline; the size of a streaming round."""

from __future__ import annotations

from headrace.errors import PipelineError
from headrace.sdk.graph import Graph, Read
from headrace.sdk.io.test_stream import TestStream
from headrace.sdk.options import PipelineOptions, StandardOptions
from headrace.sdk.source import UnboundedSource


def is_unbounded(graph: Graph) -> bool:
    """Return whether a pipeline has an unbounded source."""
    return _reads_from(graph, UnboundedSource)


def has_test_stream(graph: Graph) -> bool:
    """Return whether a source is a test stream, whose script gives the processing time of the pipeline."""
    return _reads_from(graph, TestStream)


def is_streaming(graph: Graph, options: PipelineOptions) -> bool:
    """Return whether a pipeline runs in streaming mode, by option or since one of its sources needs it."""
    requested = bool(options.view_as(StandardOptions).streaming)
    return requested or is_unbounded(graph) or has_test_stream(graph)


def max_records(options: PipelineOptions) -> int:
    """Return the maximum number of records that a streaming round reads from a partition.

    Raises:
        PipelineError: it is less than 1.
    """
    limit: int = options.view_as(StandardOptions).max_records_per_batch
    if limit < 1:
        raise PipelineError(
            f"--max_records_per_batch must be at least 1, not {limit}",
            remedy="set it to 1 or more, or remove it",
        )
    return limit


def _reads_from(graph: Graph, kind: type) -> bool:
    return any(isinstance(node, Read) and isinstance(node.source, kind) for node in graph)
