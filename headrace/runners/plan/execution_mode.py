"""Batch or streaming mode, from the sources and options of a pipeline; the size of a streaming round."""

from __future__ import annotations

from headrace.errors import PipelineError
from headrace.runners.sources.batch_size import RoundSize
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.graph import Graph, Read, SplittableParDo
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.sources.source import UnboundedSource


def is_unbounded(graph: Graph) -> bool:
    """Return whether a pipeline has an unbounded source, or a splittable DoFn with unbounded outputs."""
    splits = any(isinstance(node, SplittableParDo) and node.unbounded for node in graph)
    return splits or _reads_from(graph, UnboundedSource)


def has_restrictions(graph: Graph) -> bool:
    """Return whether a pipeline has a splittable DoFn, whose work can outlast all sources."""
    return any(isinstance(node, SplittableParDo) for node in graph)


def has_test_stream(graph: Graph) -> bool:
    """Return whether a source is a test stream, whose script gives the processing time of the pipeline."""
    return _reads_from(graph, TestStream)


def is_streaming(graph: Graph, options: PipelineOptions) -> bool:
    """Return whether a pipeline runs in streaming mode, by option or since one of its sources needs it."""
    requested = bool(options.view_as(StandardOptions).streaming)
    return requested or is_unbounded(graph) or has_test_stream(graph)


def round_size(options: PipelineOptions, seconds: float) -> RoundSize:
    """Return the maximum number of records of a partition in a streaming round, and the target time.

    Args:
        options: the options of a pipeline.
        seconds: the target time of the runner, if the options have none.

    Raises:
        PipelineError: a limit is less than 1, or a time is negative.

    >>> round_size(PipelineOptions([]), 0.0)
    RoundSize(given=None, seconds=0.0)
    >>> round_size(PipelineOptions(["--max-records-per-batch=7"]), 2.0)
    RoundSize(given=7, seconds=2.0)
    """
    standard = options.view_as(StandardOptions)
    target = seconds if standard.batch_seconds is None else standard.batch_seconds
    _require(0 <= target < float("inf"), f"--batch-seconds must be at least 0, not {target}", "0")
    given = standard.max_records_per_batch
    _require(
        given is None or given >= 1, f"--max_records_per_batch must be at least 1, not {given}", "1"
    )
    return RoundSize(given, target)


def _require(condition: bool, problem: str, least: str) -> None:
    if not condition:
        raise PipelineError(problem, remedy=f"set it to {least} or more, or remove it")


def _reads_from(graph: Graph, kind: type) -> bool:
    return any(isinstance(node, Read) and isinstance(node.source, kind) for node in graph)
