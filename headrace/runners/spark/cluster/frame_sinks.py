"""Sinks that create DataFrames: the session that they use, and what a checkpoint requires of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from headrace.errors import PipelineError
from headrace.sdk.io.frames.frame_loader import LoadsFrames
from headrace.sdk.io.frames.to_dataframe import DataFrameSink
from headrace.sdk.pipelines.graph import Graph, Write


def set_loaders(graph: Graph, session: SparkSession) -> None:
    """Let the sinks of a graph create DataFrames in a session."""
    for node in _writes(graph):
        if isinstance(node.sink, LoadsFrames):
            node.sink.loader.load = partial(_loaded, session)


def require_directories(graph: Graph) -> None:
    """Refuse tables in temporary directories, for a run that can be resumed.

    Raises:
        PipelineError: a table would be lost when the run is resumed.
    """
    for node in _writes(graph):
        if isinstance(node.sink, DataFrameSink) and node.sink.temporary:
            raise PipelineError(
                "the table is in a temporary directory, which a run that resumes from the checkpoint "
                "would not have",
                where=node.label,
                remedy="give a directory: hr.io.ToDataFrame(directory=…)",
            )


def _writes(graph: Graph) -> Iterator[Write]:
    return (node for node in graph if isinstance(node, Write))


def _loaded(session: SparkSession, files: Sequence[str]) -> DataFrame:
    return session.read.parquet(*files)
