"""The base class of transforms that write to a sink."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.errors import PipelineError
from headrace.sdk.io.files.file_sink import FileSink
from headrace.sdk.pipelines.graph import Node, Write as WriteNode
from headrace.sdk.pipelines.pvalue import PCollection, PDone, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.sink import Sink
from headrace.sdk.sources.writing import Write, warn_of_repeats


class WriteTo(PTransform[PCollection[Any], PDone]):
    """Writes a collection to a sink.

    Args:
        sink: the sink.
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink

    def display_data(self) -> dict[str, Any]:
        """Return the display data of the sink."""
        return self._sink.display_data() if isinstance(self._sink, FileSink) else {}

    def expand(self, pcoll: PCollection[object]) -> PDone:
        require_collection(pcoll)
        if isinstance(self._sink, FileSink):
            _refuse_same_names(self._sink, pcoll.pipeline.graph)
            warn_of_repeats(pcoll, "files")
        return Write(self._sink).expand(pcoll)


def _refuse_same_names(sink: FileSink, graph: Iterable[Node]) -> None:
    for node in graph:
        other = node.sink if isinstance(node, WriteNode) else None
        if isinstance(other, FileSink) and other.hidden == sink.hidden:
            raise PipelineError(
                f"{node.label} also writes files with the prefix {sink.naming.prefix!r}",
                remedy="use different prefixes or suffixes, or Flatten the collections first",
            )
